"""Verbs of one order."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class CopyFact(Command):
    """Copy the value under the cursor, without spaces."""

    KEY = "y"
    VERB = "copy"


class DepositCard(Command):
    """Show what to send, where and until when."""

    KEY = "d"
    VERB = "deposit card"


class Fund(Command):
    """Pay this deposit exactly once: from your wallet, or from the sandbox's faucet."""

    WRITES = True
    KEY = "f"
    VERB = "fund"
    MONEY = True


class OpenLink(Command):
    """Show the explorer's link of the transaction under the cursor and copy it."""

    KEY = "enter"
    VERB = "link"


class Inspect(Command):
    """Why the order is where it is: cause, money, who acts, by when."""

    KEY = "i"
    VERB = "diagnose"


class History(Command):
    """Every update received, with its time."""

    KEY = "h"
    VERB = "history"


class RawJson(Command):
    """The order as the service wrote it, numbers in their own digits."""

    KEY = "J"
    VERB = "raw JSON"


class Refresh(Command):
    """Read this order again."""

    KEY = "r"
    VERB = "refresh"
    FOOTER = False


class Back(Command):
    """Back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
