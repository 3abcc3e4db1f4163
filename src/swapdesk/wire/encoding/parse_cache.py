"""A cache of JSON parts that repeat, so that each is parsed once.

Four fifths of an order are its two tokens, whose text is the same in update after update. Before a
text is parsed, every known part is replaced by a number, and the parser inserts the part's earlier
value for that number. The result is the same as without the cache: only a complete object after
``,"name":`` is replaced, and in valid JSON such an object is always a value.
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
"""The most parts that are remembered; the oldest are forgotten."""
LONGEST = 8 * 1024
_HEAD = 64
"""Number of characters at the start of a part that are its key in the cache; they contain the
part's id."""
_DIGITS = 100
"""A replacing number has more digits than this, which no number in a valid document has."""

Part = tuple[str, str, Any]
"""A repeated JSON object: its text, the number that replaces it, and its parsed value."""


class Newest(OrderedDict[K, V]):
    """A dictionary of at most ``most`` entries. One more entry removes the entry that was set
    longest ago."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class KnownParts:
    """A cache of repeated JSON objects ("parts"). Each part has a number that replaces it in
    shortened texts."""

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
        """Declares a member, by its ``name``, whose objects often repeat and should be remembered
        as parts."""
        self._marks = tuple({*self._marks, f',"{name}":{{'})

    def value(self, number: str) -> Any:
        """Returns the parsed value of the part that ``number`` replaces. Raises KeyError if it
        replaces no part."""
        return self._numbered[number][2]

    def text(self, number: str) -> str | None:
        """Returns the text of the part that ``number`` replaces; None if it replaces no part."""
        part = self._numbered.get(number)
        return None if part is None else part[0]

    def shorten(self, text: str, read: Callable[[str, int], tuple[Any, int]]) -> str:
        """Returns the text with each repeated part replaced by a number. ``read`` parses the JSON
        value at a position, and returns the value and the position of its end. Raises ValueError
        for invalid JSON."""
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
"""The repeated parts that this process knows. Each model declares which of its members repeat
(``WireModel.SHARED``)."""
