"""Copying: what is written to the terminal, and what the notice says about it.

OSC 52 is never answered, so what is known comes from the terminal's name alone. Inside tmux and
screen the sequence is also wrapped so that they hand it on: tmux takes the bare one only with
``set-clipboard on``, the wrapped one only with ``allow-passthrough on``.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from enum import Enum

from swapdesk.flows.notation import address_groups

# These terminals ignore the clipboard sequence (OSC 52) and would leave an old value in place.
_WITHOUT = {"TERM": ("linux", "dumb"), "TERM_PROGRAM": ("Apple_Terminal",)}
_SCREEN_PIECE = 76
"""Bytes that screen hands on in one piece."""


class Way(Enum):
    """How a copy reaches the clipboard, as far as the name of the terminal tells."""

    DIRECT = "direct"
    TMUX = "tmux"
    SCREEN = "screen"
    NONE = "none"


def way_of(environ: Mapping[str, str] | None = None) -> Way:
    """The way out of this terminal; inside a multiplexer the outer terminal is not known."""
    known = os.environ if environ is None else environ
    if known.get("TMUX"):
        return Way.TMUX
    if known.get("STY") or known.get("TERM", "").startswith("screen"):
        return Way.SCREEN
    if any(known.get(name) in values for name, values in _WITHOUT.items()):
        return Way.NONE
    return Way.DIRECT


def can_copy(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal is thought to take OSC 52 in some way."""
    return way_of(environ) is not Way.NONE


def wrapped_copy(value: str, way: Way) -> str:
    """What is written beside the bare sequence so that a multiplexer hands it on; empty where
    there is none."""
    encoded = base64.b64encode(value.encode()).decode()
    bare = f"\x1b]52;c;{encoded}\x07"
    if way is Way.TMUX:
        # Inside a passthrough every escape is written twice.
        return f"\x1bPtmux;{bare.replace(chr(27), chr(27) * 2)}\x1b\\"
    if way is Way.SCREEN:
        pieces = [bare[at : at + _SCREEN_PIECE] for at in range(0, len(bare), _SCREEN_PIECE)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return ""


def copied_notice(label: str, value: str, way: Way = Way.DIRECT) -> str:
    """``Copied address rEb8 … uaLh``: the label and the first and last characters.

    A multiplexer may keep it for itself, and the sentence claims no more than is known.
    """
    groups = address_groups(value)
    said = f"Copied {label} {value}"
    if len(value) > 20 and len(groups) >= 4:
        first = " ".join(groups[:2]) if groups[0] == "0x" else groups[0]
        said = f"Copied {label} {first} … {value[-4:]}"
    if way in (Way.TMUX, Way.SCREEN):
        return f"{said}, if {way.value} hands it on. Compare what you paste."
    return said


def no_clipboard_notice(label: str) -> str:
    return f"This terminal has no clipboard. Select the {label} with the mouse."
