"""Verbs of the page where the user chooses which order an unanswered create request led to."""

from swapdesk.tui.commands.command import Verb

TAKE_ORDER = Verb(
    "take-order",
    "c",
    "take this order",
    "This is the order: take it for the payment that was asked for.",
    current=True,
    writes=True,
    money=True,
)
LOOK_AGAIN = Verb(
    "look-again", "r", "look again", "Ask the service again which orders it may have become."
)
GIVE_UP = Verb(
    "give-up",
    "x",
    "none of these",
    "None of them is it: stop looking, so that the same payment may be asked for again.",
    writes=True,
    money=True,
)
