"""The same amount by each kind of route: what arrives, how long, who holds it, who knows.

A kind that is missing says why. Nothing here is a promise: what is said of custody and
knowledge follows from how the kind of route works (contract 1.25).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.quotes import RouteType

ROUTE_TYPES = (RouteType.STANDARD, RouteType.PRIVATE, RouteType.DEX)


@dataclass(frozen=True)
class RouteTypeBest:
    """``best`` is the best valid route of its kind; without one ``missing`` says why."""

    kind: RouteType
    best: RankedQuote | None = None
    holds: str = ""
    knows: str = ""
    missing: str = ""


def compare_route_types(board: QuoteResult, now: datetime) -> tuple[RouteTypeBest, ...]:
    """Standard, private and on-chain, each by its best route that is still valid."""
    return tuple(_way(board, kind, now) for kind in ROUTE_TYPES)


def _way(board: QuoteResult, kind: RouteType, now: datetime) -> RouteTypeBest:
    rows = [row for row in board.ranking.rows if row.quote.type == kind]
    best = next((row for row in rows if not row.expired(now)), None)
    if best is None:
        return RouteTypeBest(kind, missing="expired" if rows else _why(board, kind))
    holds, knows = _custody(board, best)
    return RouteTypeBest(kind, best, holds, knows)


def _custody(board: QuoteResult, row: RankedQuote) -> tuple[str, str]:
    quote = row.quote
    if quote.type == RouteType.STANDARD:
        name = quote.swap_name or quote.swap
        return f"one exchange{f', {name}' if name else ''}", "the exchange"
    if quote.type == RouteType.PRIVATE:
        return "two exchanges, one after the other", "each knows one side only"
    return f"nobody; a contract on {board.token_in.chain_data.name}", "everyone, on the chain"


def _why(board: QuoteResult, kind: RouteType) -> str:
    wish = board.wish
    if wish.same_token and kind is not RouteType.PRIVATE:
        return "the same token goes by private routes only"
    if wish.route_types and kind not in wish.route_types:
        return "not asked for"
    if kind is RouteType.PRIVATE and wish.providers:
        return "not asked for: chosen providers leave it out"
    if kind is RouteType.DEX and wish.markup is not None:
        return "not asked for: a markup leaves it out"
    if kind is RouteType.DEX and not wish.floating:
        return "has no fixed rate"
    entry = next((e for e in board.ranking.unusable if e.quote.type == kind), None)
    if entry is not None:
        return f'the service says: "{entry.reason}"' if entry.server_says else entry.reason
    return "the service offers none for these tokens"
