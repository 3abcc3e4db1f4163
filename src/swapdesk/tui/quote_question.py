"""One question for quotes, and the message that its answer becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from swapdesk.client.errors import ClientError
from swapdesk.tui.messages import QuotesArrived, QuotesFailed

if TYPE_CHECKING:
    from swapdesk.client.retry import OnRepeat
    from swapdesk.flows.quotes.quote_request import QuoteRequest
    from swapdesk.flows.quotes.quoting import QuoteDesk, QuoteResult


@dataclass(frozen=True)
class QuoteQuestion:
    """A wish, and the way to its answer."""

    wish: QuoteRequest

    @classmethod
    def of(cls, board: QuoteResult) -> QuoteQuestion:
        """The question that this board answers."""
        return cls(board.wish)

    async def ask(self, quotes: QuoteDesk, on_repeat: OnRepeat) -> QuotesArrived | QuotesFailed:
        """One call for each kind of rate."""
        try:
            board = await quotes.ask(self.wish, on_repeat)
        except ClientError as error:
            return QuotesFailed(error)
        return QuotesArrived(board)

    async def rate(
        self, quotes: QuoteDesk, board: QuoteResult, on_repeat: OnRepeat, *, fixed: bool
    ) -> QuotesArrived | QuotesFailed:
        """``board`` with its fixed or its floating rates asked for now: one call."""
        try:
            return QuotesArrived(await quotes.ask_rate(board, fixed=fixed, on_repeat=on_repeat))
        except ClientError as error:
            return QuotesFailed(error, beside=True)
