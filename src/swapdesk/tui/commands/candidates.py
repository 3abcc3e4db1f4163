"""Verbs of settling a create of unknown outcome."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class TakeOrder(Command):
    """This is the order: take it for the payment that was asked for."""

    WRITES = True
    KEY = "c"
    VERB = "take this order"
    MONEY = True


class LookAgain(Command):
    """Ask the service again which orders it may have become."""

    KEY = "r"
    VERB = "look again"


class GiveUp(Command):
    """None of them is it: stop looking, so that the same payment may be asked for again."""

    WRITES = True
    KEY = "x"
    VERB = "none of these"
    MONEY = True
