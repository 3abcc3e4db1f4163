"""Verbs of the notice about unfinished business."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class OpenFound(Command):
    """Open the order under the cursor."""

    KEY = "enter"
    VERB = "open"


class GoOn(Command):
    """Go on to the orders."""

    KEY = "o"
    VERB = "orders"


class Back(Command):
    """Back to the first screen."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "first screen"
