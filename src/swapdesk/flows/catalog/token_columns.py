"""Texts of many tokens, one column a field, searched as bytes without making any object.

Twenty thousand rows as objects take 25 MB and a walk over them 10 ms at every key. A column is
one block of UTF-8 lines; what is looked for is found by ``bytes.find``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

_FLAT = str.maketrans("\n\r", "\x1e\x1f")
_WHOLE = str.maketrans("\x1e\x1f", "\n\r")
"""A line break inside a text, which nothing from a service has, as another control."""


class Column:
    """Lines of UTF-8, with a line feed before the first and after each one."""

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        """``blocks`` one after the other, each as :func:`block_of` makes it."""
        kept, starts, end = [b"\n"], array("I", [1]), 1
        for block in blocks:
            kept.append(block)
            starts.extend(accumulate(map(len, block.splitlines(True)), initial=end))
            # The start of a block is the end of the one before, which is there already.
            del starts[-block.count(b"\n") - 1]
            end += len(block)
        self._data = b"".join(kept)
        self._starts = starts

    @classmethod
    def of(cls, lines: Iterable[str]) -> Column:
        return cls([block_of(lines)])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def line(self, at: int) -> bytes:
        return self._data[self._starts[at] : self._starts[at + 1] - 1]

    def whole_line(self, at: int) -> bytes:
        """The line with its line feed."""
        return self._data[self._starts[at] : self._starts[at + 1]]

    def text(self, at: int) -> str:
        text = self.line(at).decode("utf-8", "surrogatepass")
        return text.translate(_WHOLE) if "\x1e" in text or "\x1f" in text else text

    def block(self, start: int, end: int) -> bytes:
        """The lines from ``start`` up to ``end``, each with its line feed."""
        return self._data[self._starts[start] : self._starts[end]]

    def lines(self) -> list[bytes]:
        return self._data[1:-1].split(b"\n") if len(self) else []

    def holding(self, text: str) -> Iterator[int]:
        """Numbers of the lines that contain ``text``, upwards."""
        return self._found(needle(text), 0)

    def beginning(self, text: str) -> Iterator[int]:
        """Numbers of the lines that begin with ``text``, upwards."""
        return self._found(b"\n" + needle(text), 1)

    def ending(self, text: str) -> Iterator[int]:
        """Numbers of the lines that end with ``text``, upwards."""
        return self._found(needle(text) + b"\n", 0)

    def equal(self, text: str) -> Iterator[int]:
        """Numbers of the lines that are ``text``, upwards."""
        return self._found(b"\n" + needle(text) + b"\n", 1)

    def _found(self, wanted: bytes, before: int) -> Iterator[int]:
        """``before``: how many bytes of ``wanted`` stand before the line."""
        find, starts = self._data.find, self._starts
        count = len(starts) - 1
        place = find(wanted)
        while place >= 0:
            at = bisect_right(starts, place + before) - 1
            if at >= count:
                return
            yield at
            # The line feed before the next line may be the first byte that is wanted.
            place = find(wanted, starts[at + 1] - 1)


def block_of(lines: Iterable[str]) -> bytes:
    """The lines as they stand in a column, each with its line feed."""
    return "".join(f"{line.translate(_FLAT)}\n" for line in lines).encode("utf-8", "surrogatepass")


def needle(text: str) -> bytes:
    """The bytes that stand in a column for ``text``."""
    return text.translate(_FLAT).encode("utf-8", "surrogatepass")
