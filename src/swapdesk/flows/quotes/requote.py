"""The same route in a newer answer, and what changed for the worse."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.flows.quotes.quoting import QuoteBoard
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.encoding.numbers import ROUGH


def follow_route(board: QuoteBoard, before: RankedQuote) -> RankedQuote | None:
    """The row of the same provider and route, None when it is gone or pays nothing.

    Private routes name no provider: the best one of the same kind of rate stands for the one
    chosen before.
    """
    row = board.ranking.follow(before)
    if row is None and before.quote.swap is None:
        kind = (before.quote.type, before.quote.fixed)
        rows = board.ranking.rows
        row = next((one for one in rows if (one.quote.type, one.quote.fixed) == kind), None)
    return row if row is not None and row.choosable else None


def lost_percent(before: RankedQuote, after: RankedQuote) -> Decimal | None:
    """How much less the newer quote pays, in reverse how much more it takes; in percent above
    zero, None when it is not worse."""
    worse = ROUGH.subtract(before.figure, after.figure)
    worse = -worse if before.reverse else worse
    if before.figure <= 0 or worse <= 0:
        return None
    return ROUGH.multiply(ROUGH.divide(worse, before.figure), Decimal(100))
