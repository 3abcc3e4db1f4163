"""Verbs of the options quotes are asked with."""

from __future__ import annotations

from swapdesk.tui.widgets.key_bar import KeyHint

HINTS = (
    KeyHint("enter", "use them"),
    KeyHint("↑↓", "move"),
    KeyHint("ctrl+n", "next choice"),
    KeyHint("ctrl+s", "keep as preset"),
    KeyHint("ctrl+l", "next preset"),
)
