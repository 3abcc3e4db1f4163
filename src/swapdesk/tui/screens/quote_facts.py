"""What stands above and below the table of routes; pure."""

from __future__ import annotations

from datetime import datetime

from swapdesk.client.errors import ClientError, RateLimited
from swapdesk.flows.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    rate_limited,
    refused_fields,
)
from swapdesk.flows.notation import clock_time, exact_amount, percent, usd
from swapdesk.flows.quoting import QuoteBoard
from swapdesk.flows.ranking import RankedQuote
from swapdesk.tui.glyphs import REFUSED, STALE
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.quote_table import badge_notes

_LEVELS = {
    "note": "foreground",
    "amber": "status-waiting",
    "typed": "amount-down",
    "refused": "amount-down",
}


def heading(question: QuoteQuestion, recipient: str) -> Line:
    """What is sold for what, or sent to whom."""
    wish = question.wish
    token_in, token_out = wish.token_in, wish.token_out
    verb = "Send" if wish.private_send else "Sell"
    line: Line = [
        Span(f"{verb} ", "muted"),
        Span(f"{exact_amount(wish.amount)} {token_in.symbol}", bold=True),
        Span(f" on {token_in.chain_data.name}", "muted"),
    ]
    if wish.private_send:
        return [*line, Span(" privately", "muted"), Span(f"   {recipient}", bold=True)]
    return [
        *line,
        Span("   Buy ", "muted"),
        Span(token_out.symbol, bold=True),
        Span(f" on {token_out.chain_data.name}", "muted"),
    ]


def ranked_by(board: QuoteBoard, *, by_time: bool, failed: bool, short: bool) -> Line:
    """What the order of the rows means; ``failed``: a later answer did not come."""
    said = "expected time" if by_time else "net received"
    line: Line = [Span(f"{STALE} ", "status-waiting")] if failed else []
    if short:
        return [*line, Span("by ", "muted"), Span(said)]
    at = clock_time(board.received_at, zone=True)
    return [*line, Span(f"{at} · ranked by ", "muted"), Span(said)]


def value_rows(
    board: QuoteBoard, row: RankedQuote | None, now: datetime, *, notes: bool
) -> list[LineLike]:
    """What ``row``, or else the best route, returns of the value, and what its marks mean."""
    ranking = board.ranking
    if not ranking.rows:
        return [Span(no_usable_route(board), "status-waiting")] if ranking.unusable else []
    value = board.value_difference(row or ranking.best_at(now) or ranking.rows[0])
    amount = f"{exact_amount(board.amount)} {board.token_in.symbol}"
    if value.percent is None:
        sentence: Line = [Span(f"No price for {amount} or its result: compare by hand.")]
    else:
        text = f"{amount} is {usd(value.value_in_usd)}; this route returns "
        sentence = [
            Span(f"{text}{usd(value.value_out_usd)}: "),
            Span(percent(value.percent), _LEVELS.get(value.level, "foreground"), bold=True),
            Span(" with fees."),
        ]
    rows: list[LineLike] = [[Span("Value  ", "muted"), *sentence]]
    if notes:
        rows += [[Span("Notes  ", "muted"), *note] for note in badge_notes(ranking.rows)]
    return rows


def error_rows(error: ClientError, wait: float | None) -> list[LineLike]:
    """The cause in words, every named field, then code and request id to be copied."""
    if isinstance(error, RateLimited):
        said = rate_limited(error, wait)
    else:
        said = failure_of_error(error).cause
    rows: list[LineLike] = [[Span(f"{REFUSED} ", "status-trouble"), Span(said, "status-trouble")]]
    rows += [Span(f"  {text}") for text in refused_fields(error)]
    rows.append(Span(f"  {code_and_request(error)}", "muted"))
    return rows
