"""Verbs of the waterfall where it takes the body."""

from __future__ import annotations

from typing import ClassVar

from swapdesk.tui.commands import quotes
from swapdesk.tui.commands.command import Command


class Review(quotes.Review):
    """Take this route and say whom to pay; nothing is created yet."""


class Close(Command):
    """Back to the table of routes."""

    KEY = "e,escape"
    VERB = "close"


class NextQuote(quotes.NextQuote):
    """The quote below."""

    FOOTER: ClassVar[bool] = True


class PreviousQuote(quotes.PreviousQuote):
    """The quote above."""


class AllIn(quotes.AllIn):
    """Rank by net less gas, then by net again."""

    FOOTER: ClassVar[bool] = True
