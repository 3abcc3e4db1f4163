"""Balances, nonces, code and storage of one block, read straight from its tries.

No machine is built for it, so that a balance costs a handful of look-ups.
"""

from __future__ import annotations

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth.rlp.accounts import Account
from eth_hash.auto import keccak as hashed

from swapdesk.sandbox.node.evm.problem import Problem
from swapdesk.sandbox.node.evm.storage import StateKeys
from swapdesk.sandbox.node.evm.trie_nodes import decoded, value_under

_ABSENT = Account()


def read_account(state: StateKeys, root: bytes, address: bytes) -> Account:
    """The account under a state root; an empty one when there is none. Raises Problem when the
    state is no longer kept."""
    encoded = _read(state, root, hashed(address))
    return rlp.decode(encoded, Account) if encoded else _ABSENT


def read_code(state: StateKeys, root: bytes, address: bytes) -> bytes:
    code_hash = read_account(state, root, address).code_hash
    if code_hash == EMPTY_SHA3:
        return b""
    try:
        return bytes(state[code_hash])
    except KeyError:
        raise _pruned(code_hash) from None


def read_storage(state: StateKeys, root: bytes, address: bytes, slot: int) -> int:
    account = read_account(state, root, address)
    encoded = _read(state, account.storage_root, hashed(slot.to_bytes(32, "big")))
    return int.from_bytes(decoded(encoded), "big") if encoded else 0


def _read(state: StateKeys, root: bytes, key: bytes) -> bytes:
    if root == BLANK_ROOT_HASH:
        return b""
    try:
        return value_under(state.kv_store, root, key)
    except KeyError as missing:
        raise _pruned(missing.args[0]) from None


def _pruned(key: bytes) -> Problem:
    """In geth's words."""
    return Problem(f"missing trie node {key.hex()} (path ) state is not available")
