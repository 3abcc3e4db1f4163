"""Tries built from all their entries at once: the state of block 0, what a block holds.

py-evm writes one entry after the other and rebuilds the path to the root each time, which takes
seconds for a chain with thousands of words, and a third of the time of a block; the nodes are the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3

from swapdesk.chain.addresses.evm import keccak
from swapdesk.sandbox.node.evm.genesis import Allocation
from swapdesk.sandbox.node.evm.trie_nodes import encoded, number

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
