"""Fewer bytes for the same picture: style changes are written as differences.

Textual closes every piece of text with a reset and opens the next with its whole style, about
40 bytes each time. Over ssh a cursor move in a coloured table would cost more than the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from textual.driver import Driver

_NEXT_SET = re.compile(r"\x1b\[([0-9;]*)m")
_JOINT = re.compile(r"(?:\n?(\x1b\[\d+;\d+H)|(\x1b\[\d+G))?\x1b\[([0-9;]*)m")
"""A style that follows a reset, perhaps elsewhere: a row and column make the line feed needless."""
_HOME, _SHORT_HOME = "\x1b[1;1H", "\x1b[H"


def thrifty(data: str) -> str:
    """The same picture; only resets that are followed by a new style disappear, there or at
    another place, and line feeds before a place."""
    data = data.replace(_HOME, _SHORT_HOME)
    if "\x1b[0m" not in data:
        return data
    pieces: list[str] = []
    at = 0
    current = ""
    for found in _NEXT_SET.finditer(data):
        if found.start() < at:
            continue
        pieces.append(data[at : found.start()])
        codes = found[1]
        at = found.end()
        if codes in ("", "0"):
            following = _JOINT.match(data, at)
            if current and following and following[3] not in ("", "0"):
                pieces.append(following[1] or following[2] or "")
                pieces.append(_change(current, following[3]))
                current = following[3]
                at = following.end()
                continue
            current = ""
            pieces.append(found[0])
            continue
        # A style on top of another one is not what Textual writes; then nothing is assumed.
        current = codes if not current else ""
        pieces.append(found[0])
    pieces.append(data[at:])
    return "".join(pieces)


@lru_cache(4096)
def _change(old: str, new: str) -> str:
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        return f"\x1b[0m\x1b[{new}m"
    codes: list[str] = []
    if before[0] != after[0]:
        codes.append("1" if after[0] else "22")
    if before[1] != after[1]:
        codes.append(after[1] or "39")
    if before[2] != after[2]:
        codes.append(after[2] or "49")
    if not codes:
        return ""
    return min(f"\x1b[{';'.join(codes)}m", f"\x1b[0m\x1b[{new}m", key=len)


def _parts(codes: str) -> tuple[bool, str, str] | None:
    """Bold, foreground, background; None when another attribute takes part."""
    bold, fore, back = False, "", ""
    rest = codes.split(";")
    while rest:
        code = rest.pop(0)
        if code == "1":
            bold = True
        elif code in ("38", "48"):
            size = {"2": 4, "5": 2}.get(rest[0] if rest else "", 0)
            if not size or len(rest) < size:
                return None
            value = ";".join([code, *rest[:size]])
            del rest[:size]
            fore, back = (value, back) if code == "38" else (fore, value)
        elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97 or code == "39"):
            fore = "" if code == "39" else code
        elif code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107 or code == "49"):
            back = "" if code == "49" else code
        else:
            return None
    return bold, fore, back


@lru_cache(8)
def thrifty_driver(base: type[Driver]) -> type[Driver]:
    """A driver class that writes through :func:`thrifty`."""

    class ThriftyDriver(base):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(thrifty(data))

    return ThriftyDriver
