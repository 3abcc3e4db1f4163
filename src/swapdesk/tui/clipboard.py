"""Copying: what is put on the clipboard and what the notice says about it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swapdesk.flows.notation import address_groups

# These terminals ignore the clipboard sequence (OSC 52) and would leave an old value in place.
_WITHOUT = {"TERM": ("linux", "dumb"), "TERM_PROGRAM": ("Apple_Terminal",)}


def can_copy(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal is thought to take OSC 52. It never answers, so this is by its name."""
    known = os.environ if environ is None else environ
    return not any(known.get(name) in values for name, values in _WITHOUT.items())


def copied_notice(label: str, value: str) -> str:
    """``Copied address rEb8 … uaLh``: the label and the first and last characters."""
    groups = address_groups(value)
    if len(value) <= 20 or len(groups) < 4:
        return f"Copied {label} {value}"
    first = " ".join(groups[:2]) if groups[0] == "0x" else groups[0]
    return f"Copied {label} {first} … {value[-4:]}"


def no_clipboard_notice(label: str) -> str:
    return f"This terminal has no clipboard. Select the {label} with the mouse."
