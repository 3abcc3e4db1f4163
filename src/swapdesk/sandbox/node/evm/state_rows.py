"""How state lies on disk: what each block added is one row, so that saving it is one append.

A row for each key would touch a page of the file for each of them, as hashes lie anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_KEY, _LENGTH = 32, 4


def packed(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Keys with their values, one after the other."""
    parts = []
    for key, value in entries:
        if len(key) != _KEY:
            raise ValueError(f"a key of {len(key)} bytes is no hash")
        parts += [key, len(value).to_bytes(_LENGTH, "big"), value]
    return b"".join(parts)


def unpacked(row: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a row. Raises ValueError when it is cut short."""
    at = 0
    while at < len(row):
        begin = at + _KEY + _LENGTH
        end = begin + int.from_bytes(row[at + _KEY : begin], "big")
        if end > len(row):
            raise ValueError("a row of the state is cut short")
        yield row[at : at + _KEY], row[begin:end]
        at = end
