"""Verbs of the page that compares quotes."""

from swapdesk.tui.commands.command import Verb

REVIEW = Verb(
    "review",
    "enter",
    "review",
    "Take this route and say whom to pay; nothing is created yet.",
    writes=True,
)
EXPLAIN = Verb("explain", "e", "explain", "Why this route pays what it pays, line by line.")
DEX_ONLY = Verb(
    "dex-only",
    "d,3",
    "dex only",
    "Only on-chain routes, then all again.",
    act="narrow",
    given=("dex",),
)
SORT_ROWS = Verb("sort-rows", "s", "sort", "Order by net, by all-in, by the expected time.")
FIXED_TOO = Verb("fixed-too", "f", "fixed too", "Fixed rates beside the floating ones.")
REFRESH = Verb("refresh", "r", "refresh", "Ask again for all routes.")
ALL_IN = Verb(
    "all-in", "u", "all-in ranking", "Rank by net less gas, then by net again.", footer=False
)
STANDARD_ONLY = Verb(
    "standard-only",
    "1",
    "standard only",
    "Only standard routes, then all again.",
    footer=False,
    act="narrow",
    given=("standard",),
)
PRIVATE_ONLY = Verb(
    "private-only",
    "2",
    "private only",
    "Only private routes, then all again.",
    footer=False,
    act="narrow",
    given=("private",),
)
ALL_ROUTES = Verb(
    "all-routes",
    "0",
    "all routes",
    "Routes of every type.",
    footer=False,
    act="narrow",
    given=("",),
)
MORE_ROUTES = Verb(
    "more-routes",
    "m",
    "more routes",
    "All routes that are alike, then the best of them again.",
    footer=False,
)
NEXT_QUOTE = Verb(
    "next-quote",
    "right_square_bracket",
    "other quote",
    "The quote below.",
    footer=False,
    act="step",
    given=(1,),
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
OPTIONS = Verb(
    "options", "f2", "options", "Rates, markup, providers and legs that quotes are asked with."
)
BACK = Verb("back", "escape", "back", "Back to the line; it is kept as it was.")
