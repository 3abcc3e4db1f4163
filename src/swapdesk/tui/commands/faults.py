"""Verbs of the page that lets things go wrong in the sandbox."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Faults(EverywhereCommand):
    """Let something go wrong in the sandbox."""

    KEY = "F"
    VERB = "faults"
    PLACE = 85
    SANDBOX_ONLY = True
    OPENS = "swapdesk.tui.screens.faults.FaultsScreen"


class ChooseFault(Command):
    """Choose the fault under the cursor, then what it meets; the second press sets it."""

    KEY = "enter"
    VERB = "choose"


class VaryFault(Command):
    """Go through what the fault may be given: a leg, seconds, a depth, a part."""

    KEY = "v"
    VERB = "vary"


class AdvanceClock(Command):
    """Move the clock of the sandbox on by one step. It never goes back."""

    KEY = "plus"
    SHOWN_KEY = "+"
    VERB = "clock on"


class NextStep(Command):
    """Another step of the clock."""

    KEY = "s"
    VERB = "step"


class ClearFaults(Command):
    """End every fault and every hold."""

    KEY = "x"
    VERB = "clear"


class Back(Command):
    """Back to the faults, then to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
