"""Tries built at once are those that py-evm builds entry by entry."""

from __future__ import annotations

from typing import Any

import rlp
from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague.state import PragueState
from eth_hash.auto import keccak
from hypothesis import given
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from swapdesk.sandbox.evm_world.genesis import world_contracts
from swapdesk.sandbox.node.evm.genesis import Allocation
from swapdesk.sandbox.node.evm.state_trie import (
    decoded,
    encoded,
    number,
    root_in_order,
    state_root,
    trie_root,
    value_under,
)


@given(st.dictionaries(st.binary(max_size=3), st.binary(min_size=1, max_size=40), max_size=300))
def test_a_trie_is_the_same_as_entry_by_entry(entries: dict[bytes, bytes]) -> None:
    nodes: dict[bytes, bytes] = {}
    root = trie_root(entries.items(), nodes)
    trie = HexaryTrie({})
    for key, value in entries.items():
        trie[keccak(key)] = value
    assert root == trie.root_hash
    if not entries:
        assert root == BLANK_ROOT_HASH
        return
    read = HexaryTrie(nodes, root)
    assert all(read[keccak(key)] == value for key, value in entries.items())
    assert all(value_under(nodes, root, keccak(key)) == value for key, value in entries.items())
    assert value_under(nodes, root, keccak(b"none")) == b""


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=300))
def test_what_a_block_holds_has_the_root_of_entry_by_entry(items: list[bytes]) -> None:
    """From 128 items on some keys are longer than others."""
    trie = HexaryTrie({})
    for place, item in enumerate(items):
        trie[rlp.encode(place)] = item
    assert root_in_order(items) == trie.root_hash


def test_keys_of_one_two_and_three_bytes_lie_in_one_trie() -> None:
    items = [b"item %d" % place for place in range(400)]
    trie = HexaryTrie({})
    for place, item in enumerate(items):
        trie[rlp.encode(place)] = item
    assert root_in_order(items) == trie.root_hash


_ITEMS = st.recursive(st.binary(max_size=70), lambda items: st.lists(items, max_size=20))


@given(_ITEMS)
def test_rlp_is_that_of_the_library(item: Any) -> None:
    encoding = encoded(item)
    assert encoding == rlp.encode(item)
    assert decoded(encoding) == item


@given(st.integers(0, 2**300))
def test_a_number_is_written_as_the_library_does(value: int) -> None:
    assert encoded(number(value)) == rlp.encode(value)


def test_a_node_that_is_missing_is_named() -> None:
    nodes: dict[bytes, bytes] = {}
    keys = [bytes([each]) for each in range(200)]
    root = trie_root(((key, b"v" * 40) for key in keys), nodes)
    gone = next(each for each in nodes if each != root)
    del nodes[gone]
    missed = set()
    for key in keys:
        try:
            assert value_under(nodes, root, keccak(key)) == b"v" * 40
        except KeyError as missing:
            missed.add(missing.args[0])
    assert missed == {gone}


def test_block_0_of_a_chain_is_what_py_evm_makes_of_it() -> None:
    accounts = {
        **dict(list(world_contracts("polygon", bytes(32)).items())[:25]),
        b"\x01" * 20: Allocation(balance=5),
        b"\x02" * 20: Allocation(code=b"\x00", storage={1: 0, 2: 7}),
    }
    nodes: dict[bytes, bytes] = {}
    root = state_root(accounts, nodes)
    kept: dict[bytes, bytes] = {}
    state: Any = PragueState(AtomicDB(MemoryDB(kept)), _context(), BLANK_ROOT_HASH)
    for address, account in accounts.items():
        state.set_balance(address, account.balance)
        if account.code:
            state.set_nonce(address, 1)
            state.set_code(address, account.code)
        for slot, word in account.storage.items():
            state.set_storage(address, slot, word)
    state.persist()
    assert root == state.state_root
    again: Any = PragueState(AtomicDB(MemoryDB(nodes)), _context(), root)
    for address, account in accounts.items():
        assert again.get_balance(address) == account.balance
        assert again.get_code(address) == account.code
        for slot, word in account.storage.items():
            assert again.get_storage(address, slot) == word


def _context() -> Any:
    return ExecutionContext(bytes(20), 0, 0, 0, bytes(32), 30_000_000, [], 1, 0)
