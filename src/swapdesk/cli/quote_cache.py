"""The quotes a command has shown, kept for the command that uses one (``--quote ID``).

A quote lives for about a minute; what is older is dropped when the next one is put here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, end_of, ranked_for
from swapdesk.paths import ProfilePlaces, UnsafePlace, read_private, write_private
from swapdesk.wire.encoding.codec import CodecError, Timestamp, decode, encode_json
from swapdesk.wire.encoding.ids import ObjectId
from swapdesk.wire.encoding.numbers import Amount
from swapdesk.wire.model import WireModel
from swapdesk.wire.quotes import Quote

KEPT = timedelta(hours=1)
MOST = 8
_LIMIT = 4 << 20


class CachedResult(WireModel):
    """One answer as it was shown."""

    asked_at: Timestamp
    received_at: Timestamp
    token_in: ObjectId
    token_out: ObjectId
    amount: Amount
    private_send: bool = False
    receive: bool = False
    markup: Amount | None = None
    slippage: Amount | None = None
    quotes: list[Quote]


class CachedResults(WireModel):
    boards: Annotated[list[CachedResult], Field(default_factory=list)]


class QuoteCache(Struct, frozen=True):
    """The file of one profile, readable by its owner alone."""

    path: Path

    @classmethod
    def of(cls, places: ProfilePlaces) -> QuoteCache:
        return cls(places.root / "quotes.json")

    def put(self, board: QuoteResult) -> None:
        """Keep an answer, newest first."""
        ranking = board.ranking
        fresh = CachedResult(
            asked_at=board.asked_at,
            received_at=board.received_at,
            token_in=board.token_in.id,
            token_out=board.token_out.id,
            amount=board.amount,
            private_send=board.private_send,
            receive=board.wish.receive,
            markup=board.wish.markup,
            slippage=board.wish.slippage,
            quotes=[
                *(row.quote for row in ranking.rows),
                *(entry.quote for entry in ranking.unusable),
            ],
        )
        earlier = [b for b in self._read() if board.asked_at - b.asked_at < KEPT]
        shelf = CachedResults(boards=[fresh, *earlier][:MOST])
        write_private(self.path, encode_json(shelf), replace=True)

    def shown(self, quote_id: str) -> tuple[CachedResult, Quote] | None:
        """A quote that is kept with the answer it was in; None for one that was never shown."""
        every = ((board, quote) for board in self._read() for quote in board.quotes)
        return next((one for one in every if one[1].quote_id == quote_id), None)

    def find(self, quote_id: str, catalog: Catalog, now: datetime) -> QuoteResult | None:
        """The answer a quote was in, ranked as of ``now``; None when it was never shown."""
        shown = self.shown(quote_id)
        if shown is None:
            return None
        board, _ = shown
        token_in, token_out = catalog.token(board.token_in), catalog.token(board.token_out)
        if token_in is None or token_out is None:
            return None
        wish = QuoteRequest(
            token_in,
            token_out,
            Decimal(board.amount),
            board.receive,
            board.private_send,
            markup=board.markup,
            slippage=board.slippage,
        )
        ends = [(quote, end_of(quote, board.asked_at)) for quote in board.quotes]
        return QuoteResult(board.asked_at, board.received_at, ranked_for(wish, ends, now), wish)

    def _read(self) -> Sequence[CachedResult]:
        """What is kept; a file that cannot be used is as good as an empty one."""
        try:
            content = read_private(self.path, limit=_LIMIT)
            return decode(CachedResults, content, side="client", max_bytes=_LIMIT).boards
        except (FileNotFoundError, UnsafePlace, CodecError):
            return ()
