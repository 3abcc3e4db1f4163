"""Verbs of the raw view of an order."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class CopyAll(Command):
    """Copy the document as it is shown."""

    KEY = "y"
    VERB = "copy all"


class Back(Command):
    """Back to the order."""

    KEY = "escape,J"
    SHOWN_KEY = "esc"
    VERB = "back"
