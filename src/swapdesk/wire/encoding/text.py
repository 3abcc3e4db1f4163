"""Text from the wire: display text, which people read, and identity text, which names something.

Display text is rewritten until a terminal can show it safely. Identity text (ids, symbols,
addresses, tags) is never rewritten: it is accepted unchanged or refused.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from unicodedata import category

from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.readers import ReadBy, refusal

if TYPE_CHECKING:
    from pydantic_core import core_schema

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LINE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Printable by category, yet invisible or empty on a terminal: fillers, the blank Braille
# cell, the grapheme joiner, the Khmer inherent vowels and the Mongolian selectors.
_INVISIBLE = frozenset(
    "\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u17b5\u00ad\u180b\u180c\u180d\u180f"
)

_MARKS_PER_BASE = 2
# A hostile text of dropped marks must not be walked to its end.
_SCAN_PER_CHARACTER = 8


class UnsafeText(ValueError):
    """Raised for identity text with an unsafe character, a blank at either end, or too many
    characters."""


def _is_selector(ch: str) -> bool:
    return "\ufe00" <= ch <= "\ufe0f" or "\U000e0100" <= ch <= "\U000e01ef"


def is_unsafe(ch: str) -> bool:
    """Returns True if a character can control the terminal, or hide or reorder the text around
    it."""
    return category(ch) in _UNSAFE_CATEGORIES or ch in _INVISIBLE or _is_selector(ch)


def safe_text(s: str, limit: int) -> str:
    """Returns text that a terminal can show, with at most ``limit`` characters. Unsafe characters
    become ``<U+XXXX>``; a shortened text ends with an ellipsis."""
    if s.isascii() and s.isprintable():
        return s if len(s) <= limit else s[: limit - 1] + "…"
    pieces: list[str] = []
    length = 0
    marks = _MARKS_PER_BASE + 1  # a leading mark has no base of its own
    cut = len(s) > limit * _SCAN_PER_CHARACTER
    for ch in s[: limit * _SCAN_PER_CHARACTER]:
        kind = category(ch)
        if kind[0] == "M" and not (ch in _INVISIBLE or _is_selector(ch)):
            marks += 1
            if marks > _MARKS_PER_BASE:
                if pieces:
                    continue
                piece = f"<U+{ord(ch):04X}>"
            else:
                piece = ch
        elif kind in _UNSAFE_CATEGORIES or ch in _INVISIBLE or _is_selector(ch):
            piece = f"<U+{ord(ch):04X}>"
            marks = _MARKS_PER_BASE
        else:
            piece = " " if kind == "Zs" else ch
            marks = 0
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            cut = True
            break
    if not cut:
        return "".join(pieces)
    while pieces and length > limit - 1:
        length -= len(pieces.pop())
    return "".join(pieces) + "…"


def identity_text(s: str, limit: int) -> str:
    """Returns ``s`` unchanged. Raises UnsafeText for an unsafe character, a blank at either end, or
    excess length."""
    if len(s) > limit:
        raise UnsafeText(f"at most {limit} characters, not {len(s)}")
    if s != s.strip():
        raise UnsafeText("no blank at the beginning or the end")
    if s.isascii() and s.isprintable():
        return s
    marks = _MARKS_PER_BASE
    for position, ch in enumerate(s):
        kind = category(ch)
        if is_unsafe(ch) or (kind == "Zs" and ch != " "):
            raise UnsafeText(f"character U+{ord(ch):04X} at {position + 1} is not allowed")
        marks = marks + 1 if kind[0] == "M" else 0
        if marks > _MARKS_PER_BASE:
            raise UnsafeText(f"too many combining marks at {position + 1}")
    return s


def filter_line(text: str) -> str:
    """Replaces control, format and line-separator characters by U+FFFD. This is the last filter
    before the terminal."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if category(ch) in _LINE_CATEGORIES else ch for ch in text)


def _require_text(value: object) -> str:
    if not isinstance(value, str) or isinstance(value, WireNumber):
        raise refusal("text", "must be a text")
    return value


class Display(ReadBy):
    """Metadata for text that people read. A client rewrites the text by :func:`safe_text`; a
    service leaves it unchanged, but refuses an unpaired surrogate."""

    def __init__(self, limit: int) -> None:
        super().__init__(self._validate, {"type": "string"}, with_context=True)
        self.limit = limit

    def _validate(self, value: object, info: core_schema.ValidationInfo) -> str:
        text = _require_text(value)
        if info.context is not None and info.context.get("side") == "client":
            return safe_text(text, self.limit)
        if not text.isascii() and any("\ud800" <= ch <= "\udfff" for ch in text):
            raise refusal("text", "holds half of a surrogate pair")
        return text


class Identity(ReadBy):
    """Metadata for text that names something, such as an id. It is checked and never rewritten.
    ``pattern`` must match all of it."""

    def __init__(self, limit: int, *, pattern: str | None = None) -> None:
        json_schema: dict[str, Any] = {"type": "string", "maxLength": limit}
        if pattern is not None:
            json_schema["pattern"] = pattern
        super().__init__(self.check, json_schema)
        self.limit = limit
        self.pattern = pattern
        self._compiled = re.compile(pattern, re.ASCII) if pattern is not None else None

    def check(self, value: object) -> str:
        """Returns ``value`` unchanged, or raises a validation error that does not quote it."""
        text = _require_text(value)
        try:
            identity_text(text, self.limit)
        except UnsafeText as error:
            raise refusal("identity", "{reason}", reason=str(error)) from None
        if self._compiled is not None and self._compiled.fullmatch(text) is None:
            raise refusal("pattern", "must match {pattern}", pattern=self.pattern)
        return text


class OpenEnum(ReadBy):
    """Metadata for a set of values that may grow. Unknown values are kept as text."""

    LIMIT = 64

    def __init__(self, values: type[StrEnum]) -> None:
        self.values = tuple(member.value for member in values)
        super().__init__(self._validate, {"type": "string", "enum": list(self.values)})
        self._known = {value: value for value in self.values}
        self._identity = Identity(self.LIMIT)

    def _validate(self, value: object) -> str:
        if isinstance(value, str) and not isinstance(value, WireNumber):
            member = self._known.get(value)
            if member is not None:
                return member
        return self._identity.check(value)
