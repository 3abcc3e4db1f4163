"""Verbs of the quote comparison."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class Review(Command):
    """Take this route and say whom to pay; nothing is created yet."""

    KEY = "enter"
    VERB = "review"


class Refresh(Command):
    """Ask again for all routes; it costs one quote."""

    KEY = "r"
    VERB = "refresh"


class SortRows(Command):
    """Order by what you get, or by the expected time."""

    KEY = "s"
    VERB = "sort"


class Back(Command):
    """Back to the line; it is kept as it was."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
