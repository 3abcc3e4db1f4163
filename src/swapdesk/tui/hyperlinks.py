"""Links in the text of a terminal (OSC 8): where they are drawn at all.

A terminal that does not know the sequence may print it, so only those that are known to take it
get one. What a link may be is decided in ``chain.addresses.explorers``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PROGRAMS = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "mintty", "rio"}
)
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_OWN = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID")
_VTE_FROM = 5001
"""The first VTE that draws links without a crash (its 0.50.0 had one)."""
_TMUX_FROM = (3, 4)


def draws_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal of this environment takes links. ``FORCE_HYPERLINK`` (``0``, ``1``),
    which other programs know too, decides where it is set. A multiplexer answers for itself:
    what runs outside of it does not tell what it passes on."""
    said = environ.get("FORCE_HYPERLINK", "")
    if said in ("0", "1"):
        return said == "1"
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    if term in ("", "dumb", "linux") or environ.get("STY"):
        return False
    if environ.get("TMUX") or program == "tmux":
        return program == "tmux" and _version(environ.get("TERM_PROGRAM_VERSION")) >= _TMUX_FROM
    if program in _PROGRAMS or term.startswith(_TERMS):
        return True
    if any(environ.get(name) for name in _OWN):
        return True
    vte = environ.get("VTE_VERSION", "")
    return vte.isascii() and vte.isdigit() and int(vte[:9]) >= _VTE_FROM


def _version(text: str | None) -> tuple[int, ...]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)
