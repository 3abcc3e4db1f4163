"""Verbs of the account."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class ShowAccount(EverywhereCommand):
    """Limits and what is used of them, commissions and volume of this account."""

    KEY = "a"
    VERB = "account"
    PLACE = 75
    OPENS = "swapdesk.tui.screens.account.AccountScreen"


class EarlierMonth(Command):
    """The month before; three reads, unless it was read within a minute."""

    KEY = "left_square_bracket"
    SHOWN_KEY = "[ ]"
    VERB = "month"


class LaterMonth(Command):
    """The month after it."""

    KEY = "right_square_bracket"
    SHOWN_KEY = "]"
    VERB = "later"
    FOOTER = False


class ExportAccount(Command):
    """Write the days that are shown as a CSV file."""

    KEY = "x"
    VERB = "export CSV"


class ReadAccount(Command):
    """Read everything again."""

    KEY = "r"
    VERB = "refresh, 3 reads"


class Back(Command):
    """Back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
