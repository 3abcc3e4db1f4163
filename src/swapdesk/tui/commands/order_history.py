"""Verbs of the history of one order."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class EarlierUpdate(Command):
    """To the update before: the page shows the order as it stood then."""

    KEY = "left_square_bracket"
    SHOWN_KEY = "["
    VERB = "earlier"


class LaterUpdate(Command):
    """To the update after it."""

    KEY = "right_square_bracket"
    SHOWN_KEY = "]"
    VERB = "later"


class CopyUpdate(Command):
    """Copy the update under the cursor as a line."""

    KEY = "y"
    VERB = "copy"


class Back(Command):
    """Back to the order."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
