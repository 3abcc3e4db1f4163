"""What a quote is shown by: the columns of the quotes screen and of ``quote``; its JSON is
``QuoteDocument`` of ``cli.quotes``.

A column is added here alone. The screen colours some cells; it takes heads, widths, sequence and
the text of all others from this table, and so does the command.

The same amount by each kind of route: what arrives, how long, who holds it, who knows.

A kind that is missing says why. Nothing here is a promise: what is said of custody and
knowledge follows from how the kind of route works (contract 1.25).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from msgspec import Struct

from swapdesk.flows.notation import (
    NOTHING,
    clock_time,
    difference,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote, fees_kind, note_of
from swapdesk.wire.quotes import RouteType

NOTE_WIDTH = 6
"""Cells of the notes at least."""


class ScreenColumn(Struct, frozen=True):
    """``head`` may name the ``{token}`` that routes are compared in. ``width`` is in cells; a
    ``point`` column is aligned at the decimal point. The lowest ``priority`` above 0 leaves a
    narrow screen first; 0 stays."""

    head: str
    width: int
    align: Literal["left", "right", "point"] = "left"
    priority: int = 0
    role: str = ""
    gap: int | None = None
    grow: int = 0


class QuoteColumn(Struct, frozen=True):
    """``text`` is its cell. ``screen`` and ``head`` are its place on the quotes screen and in the
    table of ``quote``; None leaves it out there."""

    name: str
    text: Callable[[QuoteResult, RankedQuote], str]
    screen: ScreenColumn | None = None
    head: str | Callable[[QuoteRequest], str] | None = None

    def head_of(self, wish: QuoteRequest) -> str:
        """Its head in the table of ``quote``."""
        head = self.head or ""
        return head if isinstance(head, str) else head(wish)


def value_text(board: QuoteResult, row: RankedQuote) -> str:
    """``−0.4 %`` of the value sent, fees included."""
    difference = board.value_difference(row)
    return "not known" if difference.percent is None else percent(difference.percent)


def provider_name(row: RankedQuote) -> str:
    """The provider, or that there are two that are not named."""
    quote = row.quote
    return quote.swap_name or quote.swap or ("two legs" if quote.type == "private" else NOTHING)


def _net_head(wish: QuoteRequest) -> str:
    return f"send {wish.token_in.symbol}" if wish.receive else f"net {wish.token_out.symbol}"


def _fees(row: RankedQuote) -> str:
    if fees_kind(row.quote) == "in price":
        return "in price"
    return usd(row.quote.fee_usd)


QUOTE_COLUMNS = (
    QuoteColumn(
        "place",
        lambda _, row: str(row.place),
        ScreenColumn("#", 2),
        "",
    ),
    QuoteColumn("route", lambda _, row: row.quote.type, ScreenColumn("Route", 8), "route"),
    QuoteColumn(
        "provider",
        lambda _, row: row.quote.swap_name or NOTHING,
        ScreenColumn("Provider", 10),
        "provider",
    ),
    QuoteColumn(
        "net",
        lambda _, row: table_amount(row.figure, "pay" if row.reverse else "receive"),
        ScreenColumn("Net {token}", 11, "point"),
        _net_head,
    ),
    QuoteColumn(
        "best",
        lambda _, row: "best" if row.place == 1 else percent(row.vs_best_percent),
        ScreenColumn("vs best", 8, "right", role="muted", gap=1),
        "to best",
    ),
    QuoteColumn(
        "difference",
        lambda _, row: difference(row.vs_best_amount) if row.vs_best_amount else "",
        ScreenColumn("in {token}", 9, "point", priority=1, role="muted"),
    ),
    QuoteColumn(
        "value",
        value_text,
        head="value",
    ),
    QuoteColumn(
        "fees",
        lambda _, row: _fees(row),
        ScreenColumn("Fees", 8, "right", priority=3, role="muted"),
    ),
    QuoteColumn(
        "gas",
        lambda _, row: usd(row.quote.gas_usd),
        ScreenColumn("Gas", 6, "right", priority=2, role="muted", gap=1),
    ),
    QuoteColumn(
        "eta",
        lambda _, row: expected_minutes(row.quote.duration),
        ScreenColumn("ETA", 5, "right", gap=1),
        "eta",
    ),
    QuoteColumn(
        "valid",
        lambda _, row: clock_time(row.expires_at),
        ScreenColumn("Valid", 7, "right", gap=1),
        "ends",
    ),
    QuoteColumn(
        "note",
        lambda _, row: note_of(row.badges) or NOTHING,
        ScreenColumn("Note", NOTE_WIDTH, priority=4, role="muted", grow=1),
        "note",
    ),
    QuoteColumn("quote", lambda _, row: row.quote_id, head="quote"),
)
"""From left to right."""


ROUTE_TYPES = (RouteType.STANDARD, RouteType.PRIVATE, RouteType.DEX)


class RouteTypeBest(Struct, frozen=True):
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
