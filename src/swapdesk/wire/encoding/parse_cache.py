"""Parts of JSON texts that repeat, parsed once.

Four fifths of an order are its two tokens, the same text in update after update. A text is parsed
with every known part cut out, and the parser inserts the earlier value in its place. The result is
that of parsing the whole: only a complete object that follows ``,"name":`` is cut out, which in
valid JSON is nothing but a value.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

KEPT = 1_024
"""Parts that are remembered; the oldest are forgotten."""
LONGEST = 8 * 1024
_HEAD = 64
"""Characters by which a part is looked up: enough for the id it begins with."""
_DIGITS = 100
"""More than a number of the wire may have, so that none is mistaken for a part."""

Part = tuple[str, str, Any]
"""The text, the number that stands for it, its value."""


class Newest(OrderedDict[K, V]):
    """The ``most`` entries that were set last; older ones are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class KnownParts:
    """``read`` parses one JSON value at a position: its value and where it ends."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._marks: tuple[str, ...] = ()
        self._known: OrderedDict[str, Part] = OrderedDict()
        # Nobody outside this process can write a number that stands for a part.
        self._secret = str(10**_DIGITS + secrets.randbelow(9 * 10**_DIGITS))
        self._count = 0
        self._numbered: dict[str, Part] = {}
        self._adding = Lock()

    def expect(self, name: str) -> None:
        """Objects under this name repeat."""
        self._marks = tuple({*self._marks, f',"{name}":{{'})

    def value(self, number: str) -> Any:
        """What a number of :meth:`shorten` stands for; KeyError for any other number."""
        return self._numbered[number][2]

    def text(self, number: str) -> str | None:
        """The text that a number of :meth:`shorten` stands for; None for any other number."""
        part = self._numbered.get(number)
        return None if part is None else part[0]

    def shorten(self, text: str, read: Callable[[str, int], tuple[Any, int]]) -> str:
        """The text with numbers in place of its parts. Raises ValueError if it is no JSON."""
        pieces: list[str] = []
        done = 0
        for at in self._places(text):
            if at < done:
                continue
            part = self._known.get(text[at : at + _HEAD])
            if part is None or not text.startswith(part[0], at):
                value, end = read(text, at)
                if not _HEAD <= end - at <= LONGEST:
                    continue
                part = self._learn(text[at:end], value)
            pieces += (text[done:at], part[1])
            done = at + len(part[0])
        if not pieces:
            return text
        pieces.append(text[done:])
        return "".join(pieces)

    def _places(self, text: str) -> list[int]:
        places: list[int] = []
        for mark in self._marks:
            at = text.find(mark)
            while at >= 0:
                places.append(at + len(mark) - 1)
                at = text.find(mark, at + len(mark))
        return sorted(places)

    def _learn(self, text: str, value: Any) -> Part:
        with self._adding:
            self._count += 1
            part = (text, f"{self._secret}{self._count}", value)
            self._numbered[part[1]] = part
            before = self._known.pop(text[:_HEAD], None)
            self._known[text[:_HEAD]] = part
            if before is None and len(self._known) > self._kept:
                _, before = self._known.popitem(last=False)
            if before is not None:
                del self._numbered[before[1]]
        return part


PARTS = KnownParts()
"""The parts of this process; models name theirs (``WireModel.SHARED``)."""
