"""Quotes asked more than once: the same route in a newer answer and what changed for the worse,
what the client repeats, and what the desk asks again by itself after a 429, once the window opens
and while the trader waits for it.
"""

from __future__ import annotations

from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING

from swapdesk.client.errors import RateLimited
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.encoding.numbers import ROUGH

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.client.retry import Repeat


def follow_route(board: QuoteResult, before: RankedQuote) -> RankedQuote | None:
    """The row of the same provider and route, None when it is gone or pays nothing.

    Private routes name no provider: the best one of the same kind of rate stands for the one
    chosen before.
    """
    row = board.ranking.follow(before)
    if row is None and before.quote.swap is None:
        kind = (before.quote.type, before.quote.fixed)
        rows = board.ranking.rows
        row = next((one for one in rows if (one.quote.type, one.quote.fixed) == kind), None)
    return row if row is not None and row.pays else None


def lost_percent(before: RankedQuote, after: RankedQuote) -> Decimal | None:
    """How much less the newer quote pays, in reverse how much more it takes; in percent above
    zero, None when it is not worse."""
    worse = ROUGH.subtract(before.figure, after.figure)
    worse = -worse if before.reverse else worse
    if before.figure <= 0 or worse <= 0:
        return None
    return ROUGH.multiply(ROUGH.divide(worse, before.figure), Decimal(100))


ASKS = 3
"""So often one key press asks at most."""
LONGEST_WAIT = 90.0
"""Seconds that somebody waits for: of a later window only the time is told."""
LATE = 5.0
"""Seconds after which nobody waits any more: the page was not in view when the window opened."""


class AskingAgain:
    """One question. Times are those of the desk's monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._asked = 0
        self._repeat: Repeat | None = None
        self._due: float | None = None
        self.most = 1
        """How many calls each call of the next question may become, and be charged as."""

    def begin(self, *, by_itself: bool = False) -> None:
        """The question leaves: by a key, or ``by_itself`` once more."""
        self._asked = self._asked + 1 if by_itself else 1
        self._repeat = self._due = None

    def may_repeat(self, repeat: Repeat) -> bool:
        """Whether the client repeats a call. After a 429 it does not: the wait is told instead."""
        if isinstance(repeat.error, RateLimited):
            return False
        self._repeat, self.most = repeat, repeat.of
        return True

    def answered(self) -> None:
        """An answer came; only calls that had to be repeated make the next question dearer."""
        if self._repeat is None:
            self.most = 1

    def refused(self, error: ClientError, budget_wait: float | None, now: float) -> None:
        """No answer came. ``budget_wait``: seconds until the desk's own count allows a call."""
        if not isinstance(error, RateLimited) or self._asked >= ASKS:
            return
        wait = error.retry_after if error.retry_after is not None else budget_wait
        if wait and wait <= LONGEST_WAIT:
            self._due = now + wait

    def left(self, now: float) -> float | None:
        """Seconds until it is asked again by itself, None when it is not."""
        return None if self._due is None else max(0.0, self._due - now)

    def is_due(self, now: float) -> bool:
        """Whether it is to be asked now; asked about once a second while the page is in view."""
        if self._due is None or now < self._due:
            return False
        waited_for, self._due = now - self._due <= LATE, None
        return waited_for

    def words(self, now: float) -> str:
        """``again in 21 s``; empty when it is not asked again by itself."""
        left = self.left(now)
        return "" if left is None else f"again in {ceil(left)} s"

    @property
    def turn(self) -> str:
        """``2 of 3`` of a question that is asked again, or whose call is; else empty."""
        if self._repeat is not None:
            return f"{self._repeat.attempt} of {self._repeat.of}"
        return f"{self._asked} of {ASKS}" if self._asked > 1 else ""
