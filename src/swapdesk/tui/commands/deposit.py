"""Verbs of the deposit card."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class Fund(Command):
    """Pay this deposit exactly once: from your wallet, or from the sandbox's faucet."""

    WRITES = True
    KEY = "f"
    VERB = "fund"
    MONEY = True


class AcceptLower(Command):
    """Accept less output than confirmed, so that the deposit address is shown."""

    WRITES = True
    KEY = "c"
    VERB = "accept less"
    MONEY = True


class CopyMemo(Command):
    """Copy the memo or destination tag."""

    KEY = "m"
    VERB = "copy memo"


class CopyAmount(Command):
    """Copy the exact amount to send."""

    KEY = "Y"
    VERB = "copy amount"


class CopyAddress(Command):
    """Copy the deposit address, without spaces."""

    KEY = "y"
    VERB = "copy address"


class ReadOn(Command):
    """Scroll down to what has no room on this screen."""

    KEY = "down,j,pagedown,ctrl+d"
    SHOWN_KEY = "↓"
    VERB = "more"


class ReadBack(Command):
    """Scroll up again."""

    KEY = "up,k,pageup,ctrl+u"
    SHOWN_KEY = "↑"
    VERB = "back up"


class ShowCode(Command):
    """Show the code to scan, with what it holds."""

    KEY = "v"
    VERB = "code"


class NextCode(Command):
    """Go from the payment link to the plain address, and back."""

    KEY = "v"
    VERB = "next code"


class Follow(Command):
    """Open the order and what happened to it so far."""

    KEY = "enter"
    VERB = "follow the order"
