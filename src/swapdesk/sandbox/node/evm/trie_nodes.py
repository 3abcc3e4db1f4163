"""Nodes of a trie, to RLP and back, and the value under a key.

``rlp`` and ``trie`` read and write any structure and ask of each piece what it is; a chain begins
with twenty thousand nodes and looks up hundreds of words at a time, for which they take five times
as long. What is written here is held against them in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

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
