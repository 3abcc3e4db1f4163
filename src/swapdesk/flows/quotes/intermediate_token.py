"""The token between the two legs of a private swap, as far as the desk knows it beforehand."""

from __future__ import annotations

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

XMR = "xmr"


def find_intermediate_token(catalog: Catalog, board: QuoteResult, row: RankedQuote) -> Token | None:
    """XMR where the hop of a private route was pinned to it; None where the service chooses.

    Only then is it known on which chain an intermediate refund address has to be
    (contract 7.12).
    """
    if row.quote.type != RouteType.PRIVATE or board.wish.use_xmr is not True:
        return None
    rows = catalog.rows_of_symbol("XMR")
    found = (catalog.token(one.id) for one in rows)
    return next((t for t in found if t is not None and t.chain_data.kind == XMR), None)
