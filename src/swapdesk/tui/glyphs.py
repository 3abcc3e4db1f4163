"""The glyphs that the desk draws, each one cell wide, and their ASCII forms. Widgets always write
the Unicode glyph. ``ascii_forms`` turns a finished row into ASCII of the same width."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Mapping
from enum import Enum

CURSOR = "▌"
WAITING = "○"
MOVING = "◐"
DONE = "●"
TROUBLE = "▲"
REFUSED = "✗"
REFUNDED = "←"
ENDED = "–"
STALE = "◌"
VALID = "✓"
UNKNOWN = "?"
HEAVY = "━"
RULE = "─"
SANDBOX_RULE = "╌"
LIVE_RULE = "━"
BECOMES = "→"
ABOUT = "≈"
CUT = "…"
NOTHING = "—"
DOT = "·"
BARS = "▁▂▃▄▅▆▇█"


class GlyphSet(Enum):
    """The two sets of glyphs. The value of each member is the word for it in the setting ``glyphs``
    of the configuration file."""

    UNICODE = "unicode"
    ASCII = "ascii"


_ONE_CELL = {
    CURSOR: ">",
    WAITING: "o",
    MOVING: "~",
    DONE: "*",
    TROUBLE: "!",
    REFUSED: "x",
    REFUNDED: "<",
    ENDED: "-",
    STALE: ".",
    VALID: "+",
    HEAVY: "=",
    RULE: "-",
    SANDBOX_RULE: "-",
    BECOMES: ">",
    ABOUT: "~",
    CUT: ".",
    NOTHING: "-",
    DOT: "|",
    "−": "-",
    "÷": "/",
    "Δ": "^",
    "↑": "^",
    "↓": "v",
    "•": "*",
    "«": "<",
    "»": ">",
    "�": "?",
    **dict.fromkeys(BARS, "#"),
}
_TWO_CELLS = {BECOMES: "->", CUT: ".."}


def ascii_forms(text: str) -> list[str]:
    """Returns the ASCII form of each character of ``text``, a row. A form may be empty or longer,
    but all forms together are as wide as the row."""
    forms = [_ONE_CELL.get(char, char) for char in text]
    taken = 0
    for at, char in enumerate(text):
        if char not in _TWO_CELLS:
            continue
        gap = text.find("  ", max(at, taken))
        if gap >= 0:
            forms[at] = _TWO_CELLS[char]
            forms[gap] = ""
            taken = gap + 1
            while taken < len(text) and text[taken] == " ":
                taken += 1
    return forms


_LONGER = {BECOMES: "->", REFUNDED: "<-", CUT: "...", "Δ": "diff"}


def ascii_sign(char: str) -> str:
    """Returns the ASCII form of one glyph, which may be several characters long. Other characters
    stay unchanged."""
    return _LONGER.get(char) or _ONE_CELL.get(char, char)


_PLAIN = ("C", "POSIX")


def automatic_set(
    encoding: str | None = None, environ: Mapping[str, str] | None = None
) -> GlyphSet:
    """Returns ASCII if the locale is C or the output is not UTF-8, otherwise Unicode."""
    if _is_plain(os.environ if environ is None else environ):
        return GlyphSet.ASCII
    written = encoding or getattr(sys.__stdout__, "encoding", None)
    name = (written or locale.getpreferredencoding(False)).lower().replace("-", "")
    return GlyphSet.UNICODE if name == "utf8" else GlyphSet.ASCII


def _is_plain(environ: Mapping[str, str]) -> bool:
    """Returns True if the environment selects the locale C. Ignores a value of ``LC_CTYPE`` that
    Python may have set itself (PEP 538)."""
    chosen = environ.get("LC_ALL") or environ.get("LC_CTYPE", "")
    if chosen in _PLAIN:
        return True
    return chosen in ("", "C.UTF-8", "C.utf8", "UTF-8") and environ.get("LANG") in _PLAIN


def wanted_set(configured: str) -> GlyphSet:
    """Returns the set named ``configured``. For any other value, returns the set that the
    terminal's locale can display."""
    return next((known for known in GlyphSet if known.value == configured), automatic_set())


class GlyphState(Enum):
    """The base of enumerations whose members are drawn as a glyph. A value is the pair (glyph,
    colour role)."""

    @property
    def glyph(self) -> str:
        return str(self.value[0])

    @property
    def role(self) -> str:
        return str(self.value[1])
