"""One question for quotes, and the message that its answer becomes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from swapdesk.client.errors import ClientError
from swapdesk.tui.messages import QuotesArrived, QuotesFailed

if TYPE_CHECKING:
    from swapdesk.flows.quoting import QuoteBoard, QuoteDesk
    from swapdesk.wire.tokens import Token


@dataclass(frozen=True)
class QuoteQuestion:
    """``amount`` in ``token_in``; a private send pays out the token it takes."""

    token_in: Token
    token_out: Token
    amount: Decimal
    private_send: bool = False

    @classmethod
    def of(cls, board: QuoteBoard) -> QuoteQuestion:
        """The question that this board answers."""
        return cls(board.token_in, board.token_out, board.amount, board.private_send)

    async def ask(self, quotes: QuoteDesk) -> QuotesArrived | QuotesFailed:
        """One call for all routes."""
        try:
            if self.private_send:
                board = await quotes.ask_private_send(self.token_in, self.amount)
            else:
                board = await quotes.ask(self.token_in, self.token_out, self.amount)
        except ClientError as error:
            return QuotesFailed(error)
        return QuotesArrived(board)
