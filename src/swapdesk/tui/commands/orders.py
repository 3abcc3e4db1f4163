"""Verbs of the tracker."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Orders(EverywhereCommand):
    """Open orders and those that ended."""

    KEY = "o"
    VERB = "orders"
    PLACE = 50
    OPENS = "swapdesk.tui.screens.orders.OrdersScreen"


class OpenOrder(Command):
    """Open the order: its stages, what happened, every address."""

    KEY = "enter"
    VERB = "open"


class CopyAddress(Command):
    """Copy the deposit address, without spaces."""

    KEY = "y"
    VERB = "copy address"


class Fund(Command):
    """Pay this deposit exactly once: from your wallet, or from the sandbox's faucet."""

    WRITES = True
    KEY = "f"
    VERB = "fund"
    MONEY = True


class FilterRows(Command):
    """Keep orders that match: private hold >1h, or part of an address, hash or request id."""

    KEY = "slash"
    SHOWN_KEY = "/"
    VERB = "filter"


class SortRows(Command):
    """Another sequence: by deadline, newest, oldest, late, state, pair, amount."""

    KEY = "s"
    VERB = "sort"


class SayRow(Command):
    """Say the order under the cursor in one sentence, to be read aloud."""

    KEY = "e"
    VERB = "say"
    FOOTER = False


class Again(Command):
    """Ask for quotes with the same amount, tokens, recipient and memo; a new order comes of it."""

    WRITES = True
    KEY = "A"
    VERB = "again"


class PutAway(Command):
    """Put a failed order away that was dealt with; the same key takes it back."""

    KEY = "P"
    VERB = "put away"


class ExportRows(Command):
    """Write the orders shown to a file, as CSV or JSON."""

    KEY = "x"
    VERB = "export"


class Refresh(Command):
    """Read the list of the service again."""

    KEY = "r"
    VERB = "refresh"
    FOOTER = False


class Back(Command):
    """Clear the filter, then back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
