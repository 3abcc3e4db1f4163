"""Merkle tries: nodes to RLP and back, tries built from all their entries, and what they hold.

``rlp`` and ``trie`` read and write any structure and ask of each piece what it is; a chain begins
with twenty thousand nodes and looks up hundreds of words at a time, for which they take five times
as long. py-evm writes one entry after the other and rebuilds the path to the root each time. What
is written here is held against them in the tests: the nodes are the same.

Balances, nonces, code and storage are read straight from the tries of a block: a balance costs a
handful of look-ups and no machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth.rlp.accounts import Account
from eth_hash.auto import keccak as hashed

from swapdesk.chain.addresses.evm import keccak
from swapdesk.sandbox.node.evm.genesis import Allocation
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.storage import StateKeys

Item: TypeAlias = Any
"""Bytes, or a list of items."""

_SHORT = 56
_STRINGS = [bytes([0x80 + size]) for size in range(_SHORT)]
_LISTS = [bytes([0xC0 + size]) for size in range(_SHORT)]
_KEY_NIBBLES = 64
_BRANCH = 17


def encoded(item: Item) -> bytes:
    """The RLP of bytes, or of a list of what can be encoded."""
    if isinstance(item, bytes):
        size = len(item)
        if size == 1 and item[0] < 0x80:
            return item
        return (_STRINGS[size] if size < _SHORT else _long(size, 0xB7)) + item
    payload = b"".join([encoded(each) for each in item])
    size = len(payload)
    return (_LISTS[size] if size < _SHORT else _long(size, 0xF7)) + payload


def number(value: int) -> bytes:
    """A number from 0 as it stands in RLP, without leading zeros."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _long(size: int, base: int) -> bytes:
    digits = number(size)
    return bytes([base + len(digits)]) + digits


@lru_cache(maxsize=4_096)
def decoded(encoding: bytes) -> Item:
    """What RLP of our own making says; nobody changes it, as it is kept."""
    return _decoded(encoding, 0)[0]


def _decoded(encoding: bytes, at: int) -> tuple[Item, int]:
    """The item that begins at a byte, and where it ends."""
    first = encoding[at]
    if first < 0x80:
        return encoding[at : at + 1], at + 1
    listed = first >= 0xC0
    size, begin = first - (0xC0 if listed else 0x80), at + 1
    if size >= _SHORT:
        begin += size - _SHORT + 1
        size = int.from_bytes(encoding[at + 1 : begin], "big")
    end = begin + size
    if not listed:
        return encoding[begin:end], end
    items = []
    while begin < end:
        item, begin = _decoded(encoding, begin)
        items.append(item)
    return items, end


def value_under(nodes: Mapping[bytes, bytes], root: bytes, key: bytes) -> bytes:
    """What a trie of 32-byte keys has under one, empty for nothing. Raises KeyError with the hash
    of a node that is missing."""
    path, at = key.hex(), 0
    node = decoded(nodes[root])
    while True:
        if len(node) == _BRANCH:
            if at == _KEY_NIBBLES:
                return bytes(node[16])
            child = node[int(path[at], 16)]
            at += 1
        else:
            prefix, child = node[0].hex(), node[1]
            flag = int(prefix[0], 16)
            nibbles = prefix[1:] if flag & 1 else prefix[2:]
            if flag & 2:
                return bytes(child) if path[at:] == nibbles else b""
            if not path.startswith(nibbles, at):
                return b""
            at += len(nibbles)
        if isinstance(child, bytes):
            if not child:
                return b""
            child = decoded(nodes[child])
        node = child


Nodes = MutableMapping[bytes, bytes]
"""By hash; codes lie among them."""


def state_root(accounts: Mapping[bytes, Allocation], nodes: Nodes) -> bytes:
    """Write the state of these accounts into ``nodes``; returns its root."""
    return trie_root(
        ((address, _account(account, nodes)) for address, account in accounts.items()), nodes
    )


def trie_root(entries: Iterable[tuple[bytes, bytes]], nodes: Nodes) -> bytes:
    """Write a secure trie of (key, value) into ``nodes``; returns its root."""
    return _root(sorted((_path_of(key), value) for key, value in entries), nodes)


def root_in_order(items: Sequence[bytes]) -> bytes:
    """The root over items by their place, as over the transactions and receipts of a block."""
    return _root(
        sorted((encoded(number(place)).hex(), item) for place, item in enumerate(items)), {}
    )


def _root(entries: list[tuple[str, bytes]], nodes: Nodes) -> bytes:
    """Of entries in the order of their paths, none of which is the beginning of another."""
    if not entries:
        return BLANK_ROOT_HASH
    node = encoded(_node(entries, 0, len(entries), 0, nodes))
    root = keccak(node)
    nodes[root] = node
    return root


@lru_cache(maxsize=8_192)
def _path_of(key: bytes) -> str:
    """Nibbles of a key. Wallets hold many tokens, whose contracts keep them in the same slots."""
    return keccak(key).hex()


def _account(account: Allocation, nodes: Nodes) -> bytes:
    code_hash: bytes = EMPTY_SHA3
    if account.code:
        code_hash = keccak(account.code)
        nodes[code_hash] = account.code
    words = (
        (slot.to_bytes(32, "big"), encoded(number(word)))
        for slot, word in account.storage.items()
        if word
    )
    root = trie_root(words, nodes)
    return encoded([number(account.nonce), number(account.balance), root, code_hash])


def _node(entries: list[tuple[str, bytes]], first: int, end: int, depth: int, nodes: Nodes) -> Any:
    """The node over a range of sorted entries whose keys agree before ``depth`` nibbles."""
    key, value = entries[first]
    if end - first == 1:
        return [_path(key[depth:], leaf=True), value]
    last, fork = entries[end - 1][0], depth
    while key[fork] == last[fork]:
        fork += 1
    if fork > depth:
        child = _reference(_node(entries, first, end, fork, nodes), nodes)
        return [_path(key[depth:fork], leaf=False), child]
    branch: list[Any] = [b""] * 17
    begin = first
    while begin < end:
        nibble, after = entries[begin][0][depth], begin + 1
        while after < end and entries[after][0][depth] == nibble:
            after += 1
        child = _reference(_node(entries, begin, after, depth + 1, nodes), nodes)
        branch[int(nibble, 16)] = child
        begin = after
    return branch


def _reference(node: Any, nodes: Nodes) -> Any:
    """A short node stands in its parent; of a long one its hash."""
    encoding = encoded(node)
    if len(encoding) < 32:
        return node
    digest = keccak(encoding)
    nodes[digest] = encoding
    return digest


def _path(nibbles: str, *, leaf: bool) -> bytes:
    """Nibbles with their flag, in whole bytes (the yellow paper's hex-prefix)."""
    flag = 2 if leaf else 0
    return bytes.fromhex(f"{flag + 1:x}{nibbles}" if len(nibbles) % 2 else f"{flag:x}0{nibbles}")


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
