"""Verbs of the page that finds an order and answers for it."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Inspect(EverywhereCommand):
    """Find any order by whatever names it, and answer for it."""

    KEY = "i"
    VERB = "inspect"
    PLACE = 55
    OPENS = "swapdesk.tui.screens.inspect.InspectScreen"


class LookUp(Command):
    """Look for what was pasted; what costs something is asked at the second press."""

    KEY = "enter"
    VERB = "look up"


class CopyReply(Command):
    """Copy the reply to the customer."""

    KEY = "y"
    VERB = "copy reply"


class CopyEscalation(Command):
    """Copy what the service needs to find the order: ids, hashes and times."""

    KEY = "Y"
    VERB = "copy for the service"


class CaseHistory(Command):
    """Every update received, with its time."""

    KEY = "h"
    VERB = "history"


class Back(Command):
    """Back: to the list of what was found, to the field, then to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
