"""Verbs of the history of one order."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class CopyUpdate(Command):
    """Copy the update under the cursor as a line."""

    KEY = "y"
    VERB = "copy"


class Back(Command):
    """Back to the order."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
