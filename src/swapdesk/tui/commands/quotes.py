"""Verbs of the quote comparison and of the waterfall."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class Review(Command):
    """Take this route and say whom to pay; nothing is created yet."""

    WRITES = True
    KEY = "enter"
    VERB = "review"


class Explain(Command):
    """Why this route pays what it pays, line by line."""

    KEY = "e"
    VERB = "explain"


class DexOnly(Command):
    """Only on-chain routes, then all again."""

    KEY = "d,3"
    VERB = "dex only"


class SortRows(Command):
    """Order by net, by all-in, by the expected time."""

    KEY = "s"
    VERB = "sort"


class FixedToo(Command):
    """Fixed rates beside the floating ones."""

    KEY = "f"
    VERB = "fixed too"


class Refresh(Command):
    """Ask again for all routes."""

    KEY = "r"
    VERB = "refresh"


class AllIn(Command):
    """Rank by net less gas, then by net again."""

    KEY = "u"
    VERB = "all-in ranking"
    FOOTER = False


class StandardOnly(Command):
    """Only standard routes, then all again."""

    KEY = "1"
    VERB = "standard only"
    FOOTER = False


class PrivateOnly(Command):
    """Only private routes, then all again."""

    KEY = "2"
    VERB = "private only"
    FOOTER = False


class AllRoutes(Command):
    """Routes of every type."""

    KEY = "0"
    VERB = "all routes"
    FOOTER = False


class MoreRoutes(Command):
    """All routes that are alike, then the best of them again."""

    KEY = "m"
    VERB = "more routes"
    FOOTER = False


class NextQuote(Command):
    """The quote below."""

    KEY = "right_square_bracket"
    SHOWN_KEY = "]"
    VERB = "other quote"
    FOOTER = False


class PreviousQuote(Command):
    """The quote above."""

    KEY = "left_square_bracket"
    SHOWN_KEY = "["
    VERB = "quote above"
    FOOTER = False


class Options(Command):
    """Rates, markup, providers and legs that quotes are asked with."""

    KEY = "f2"
    VERB = "options"


class Back(Command):
    """Back to the line; it is kept as it was."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
