"""Verbs of the page with the waterfall, which explains what a route pays."""

from swapdesk.tui.commands.command import Verb

REVIEW = Verb(
    "review",
    "enter",
    "review",
    "Take this route and say whom to pay; nothing is created yet.",
    writes=True,
)
CLOSE = Verb("close", "e,escape", "close", "Back to the table of routes.")
NEXT_QUOTE = Verb(
    "next-quote", "right_square_bracket", "other quote", "The quote below.", act="step", given=(1,)
)
PREVIOUS_QUOTE = Verb(
    "previous-quote",
    "left_square_bracket",
    "quote above",
    "The quote above.",
    footer=False,
    act="step",
    given=(-1,),
)
ALL_IN = Verb("all-in", "u", "all-in ranking", "Rank by net less gas, then by net again.")
