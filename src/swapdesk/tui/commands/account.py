"""Verbs of the account."""

from swapdesk.tui.commands.command import Verb

SHOW_ACCOUNT = Verb(
    "show-account",
    "a",
    "account",
    "Limits and what is used of them, commissions and volume of this account.",
    place=75,
    opens="swapdesk.tui.screens.account.AccountScreen",
)
EARLIER_MONTH = Verb(
    "earlier-month",
    "left_square_bracket",
    "month",
    "The month before; three reads, unless it was read within a minute.",
    shown="[ ]",
    act="step",
    given=(-1,),
)
LATER_MONTH = Verb(
    "later-month",
    "right_square_bracket",
    "later",
    "The month after it.",
    footer=False,
    act="step",
    given=(1,),
)
EXPORT_ACCOUNT = Verb(
    "export-account", "x", "export CSV", "Write the days that are shown as a CSV file."
)
READ_ACCOUNT = Verb("read-account", "r", "refresh, 3 reads", "Read everything again.")
BACK = Verb("back", "escape", "back", "Back to the screen before.")
