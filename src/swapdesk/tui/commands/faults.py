"""Verbs of the page that sets faults in the sandbox."""

from swapdesk.tui.commands.command import Verb

FAULTS = Verb(
    "faults",
    "F",
    "faults",
    "Let something go wrong in the sandbox.",
    place=85,
    sandbox_only=True,
    opens="swapdesk.tui.screens.faults.FaultsScreen",
)
CHOOSE_FAULT = Verb(
    "choose-fault",
    "enter",
    "choose",
    "Choose the fault under the cursor, then what it meets; the second press sets it.",
)
VARY_FAULT = Verb(
    "vary-fault",
    "v",
    "vary",
    "Go through what the fault may be given: a leg, seconds, a depth, a part.",
    current=True,
)
ADVANCE_CLOCK = Verb(
    "advance-clock",
    "plus",
    "clock on",
    "Move the clock of the sandbox on by one step. It never goes back.",
)
NEXT_STEP = Verb("next-step", "s", "step", "Another step of the clock.")
CLEAR_FAULTS = Verb("clear-faults", "x", "clear", "End every fault and every hold.")
BACK = Verb("back", "escape", "back", "Back to the faults, then to the screen before.")
