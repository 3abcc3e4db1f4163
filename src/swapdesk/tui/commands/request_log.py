"""Verbs of the request log."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Requests(EverywhereCommand):
    """Every call to the service and its answer, and what the desk said."""

    KEY = "g"
    VERB = "requests"
    PLACE = 80
    OPENS = "swapdesk.tui.screens.request_log.RequestLogScreen"


class ShowAll(Command):
    """Read the whole request and answer under the cursor."""

    KEY = "enter"
    VERB = "show all"


class CopyRequestId(Command):
    """Copy the request id, which support asks for."""

    KEY = "y"
    VERB = "copy request id"


class CopyAsCommand(Command):
    """Copy a command line that makes the same call; a writing one still needs --yes."""

    KEY = "Y"
    VERB = "copy as command"


class FilterCalls(Command):
    """Keep calls that match, as: quotes 422, or: failed."""

    KEY = "slash"
    SHOWN_KEY = "/"
    VERB = "filter"


class Back(Command):
    """Close the whole call or the filter, then back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
