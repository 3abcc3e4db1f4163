"""Verbs of the page that finds an order and answers for it."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Inspect(EverywhereCommand):
    """Find any order by whatever names it, and answer for it."""

    KEY = "i"
    VERB = "inspect"
    PLACE = 55
    OPENS = "swapdesk.tui.screens.inspect.InspectScreen"
    BEFORE_OPENED = True


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


class WriteBundle(Command):
    """Write the case into one file that may be posted publicly; what is in it is shown first."""

    KEY = "B"
    VERB = "write bundle"


class TryAgain(Command):
    """Write what came back into the line of a new swap; nothing is asked or sent."""

    WRITES = True
    KEY = "A"
    VERB = "try again with what is left"
    FOOTER = False


class CaseHistory(Command):
    """Every update and request with its time, and the order as it stood after each."""

    KEY = "h"
    VERB = "history"


class Back(Command):
    """Back: to the list of what was found, to the field, then to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"


class MaskOrShow(Command):
    """Show what the line under the cursor names in the file, or mask it."""

    KEY = "space"
    VERB = "mask or show"


class WriteFile(Command):
    """Write the file. Nothing is sent."""

    KEY = "enter"
    VERB = "write"


class LeaveBundle(Command):
    """Back to the case; nothing is written."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
