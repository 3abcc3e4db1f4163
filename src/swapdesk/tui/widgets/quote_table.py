"""Routes of one answer, best first, then those that cannot be used and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from swapdesk.flows.notation import (
    NOTHING,
    countdown,
    difference,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.tui.glyphs import ENDED
from swapdesk.tui.spans import Line, LineLike, Span, cut, plain_text
from swapdesk.tui.widgets.table_layout import Blank, Cell, Column, Row, Section, TableRow

if TYPE_CHECKING:
    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.flows.ranking import RankedQuote, UnusableQuote

UNUSABLE = "unusable-"
"""What the keys of unusable rows begin with; a place in the ranking's list follows."""


def quote_columns(symbol: str) -> list[Column]:
    """Columns for the token received; the difference, gas, fees and notes go first."""
    short = plain_text(cut(symbol, 10))
    return [
        Column("place", "#", 2),
        Column("route", "Route", 8),
        Column("provider", "Provider", 10),
        Column("net", f"Net {short}", 11, "point"),
        Column("best", "vs best", 7, "right", role="muted"),
        Column("difference", f"in {short}", 9, "point", priority=1, role="muted"),
        Column("fees", "Fees", 8, "right", priority=3, role="muted"),
        Column("gas", "Gas", 5, "right", priority=2, role="muted"),
        Column("eta", "ETA", 5, "right", gap=1),
        Column("valid", "Valid", 7, "right", gap=1),
        Column("note", "Note", 6, priority=4, role="muted", grow=1),
    ]


def quote_rows(
    board: QuoteBoard,
    now: datetime,
    *,
    by_time: bool = False,
    former: Mapping[str, int] | None = None,
) -> list[TableRow]:
    """``former`` are places before the last refresh, by quote id, shown while they are new."""
    ranking = board.ranking
    best = ranking.best_at(now)
    usable = ranking.by_time() if by_time else ranking.rows
    rows: list[TableRow] = [_row(row, row is best, now, former or {}) for row in usable]
    if ranking.unusable:
        if rows:
            rows.append(Blank("gap"))
        rows.append(Section("not-usable", "Not usable", str(len(ranking.unusable))))
        rows += [_unusable(at, entry) for at, entry in enumerate(ranking.unusable)]
    return rows


def unusable_at(board: QuoteBoard, key: str | None) -> UnusableQuote | None:
    """The unusable route of a row key."""
    if key is None or not key.startswith(UNUSABLE):
        return None
    return board.ranking.unusable[int(key.removeprefix(UNUSABLE))]


def route_word(kind: str, *, muted: bool = False) -> Span:
    """The route in its colour."""
    known = kind in ("private", "standard", "dex")
    return Span(kind, f"route-{kind}" if known and not muted else "muted")


def provider_word(row: RankedQuote) -> str:
    """The provider, or that there are two that are not named."""
    quote = row.quote
    return quote.swap_name or quote.swap or ("two legs" if quote.type == "private" else NOTHING)


def _row(row: RankedQuote, best: bool, now: datetime, former: Mapping[str, int]) -> Row:
    quote = row.quote
    expired = row.expired(now)
    net = table_amount(row.key)
    shown: Cell = net
    if best:
        shown = Span(net, "best-quote", bold=True)
    elif row.key <= 0 and not expired:
        shown = Span(net, "amount-down")
    best_word: LineLike = Span("best", "best-quote", bold=True)
    was = former.get(row.quote_id)
    return Row(
        row.quote_id,
        {
            "place": str(row.place),
            "route": route_word(quote.type, muted=expired),
            "provider": provider_word(row),
            "net": shown,
            "best": best_word if best else _percent(row, expired),
            "difference": "" if row.vs_best_amount == 0 else difference(row.vs_best_amount),
            "fees": _fees(row),
            "gas": usd(quote.gas_usd),
            "eta": expected_minutes(quote.duration),
            "valid": countdown((row.expires_at - now).total_seconds()),
            "note": f"was {was}" if was is not None else ", ".join(row.badges),
        },
        role="muted" if expired else "",
    )


def _percent(row: RankedQuote, expired: bool) -> Cell:
    if row.vs_best_amount == 0:
        return ""
    text = percent(row.vs_best_percent)
    deep = row.vs_best_percent is not None and row.vs_best_percent <= -1
    return Span(text, "amount-down" if deep and not expired else "muted")


def _fees(row: RankedQuote) -> str:
    if row.fees_text_kind == "in price":
        return "in price"
    return usd(row.quote.fee_usd) if row.fees_text_kind == "usd" else NOTHING


def _unusable(at: int, entry: UnusableQuote) -> Row:
    quote = entry.quote
    name = quote.swap_name or quote.swap or ("two legs" if quote.type == "private" else NOTHING)
    return Row(
        f"{UNUSABLE}{at}",
        {"place": ENDED, "route": route_word(quote.type, muted=True), "provider": name},
        role="muted",
        tail=Span(reason_text(entry)),
        tail_from="net",
    )


def reason_text(entry: UnusableQuote) -> str:
    """The reason; a text of the service stands in quotation marks."""
    return f'the service says: "{entry.reason}"' if entry.server_says else entry.reason


def badge_notes(rows: Sequence[RankedQuote]) -> list[Line]:
    """What the notes in the last column mean, one line per note that occurs."""
    said = {
        "gross": "fees are not in the ranking: the service knows no price",
        "differs": "net does not follow from amount and fees",
        "pays nothing": "fees take all of it",
        "refund address": "this route needs a refund address",
        "fixed": "the rate cannot move",
    }
    found = {badge for row in rows for badge in row.badges}
    return [
        [Span(name), Span(f"  {text}", "muted")] for name, text in said.items() if name in found
    ]
