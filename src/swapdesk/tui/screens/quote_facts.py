"""Texts of the comparison. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.client.errors import ClientError, RateLimited
from swapdesk.flows.notation import clock_time, exact_amount, percent, usd
from swapdesk.flows.quotes.quote_order import Arrangement, QuoteOrder
from swapdesk.flows.quotes.quote_request import (
    Named,
    QuoteRequest,
    cost_in_words,
    options_in_words,
)
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote, UnusableQuote
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    quote_ended,
    rate_limited,
    refused_fields,
)
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.tui.glyphs import REFUSED, STALE
from swapdesk.tui.spans import Line, LineLike, Span, joined
from swapdesk.tui.widgets.quote_table import reason_text, route_word, unusable_at
from swapdesk.wire.quotes import RouteType

SAY_ASKING_AFTER = 0.3
"""Seconds before a table says that it asks."""

_LEVELS = {
    "note": "foreground",
    "amber": "status-waiting",
    "typed": "amount-down",
    "refused": "amount-down",
}


def heading(wish: QuoteRequest, recipient: str) -> Line:
    """What is sold for what, what is to arrive, or what is sent to whom."""
    token_in, token_out = wish.token_in, wish.token_out
    amount = exact_amount(wish.amount)
    sold = token_in.symbol if wish.receive else f"{amount} {token_in.symbol}"
    verb = "Send" if wish.private_send else "Sell"
    line: Line = [
        Span(f"{verb} ", "muted"),
        Span(sold, bold=True),
        Span(f" on {token_in.chain_data.name}", "muted"),
    ]
    if wish.private_send:
        return [*line, Span(" privately", "muted"), Span(f"   {recipient}", bold=True)]
    bought = f"{amount} {token_out.symbol}" if wish.receive else token_out.symbol
    return [
        *line,
        Span("   Receive " if wish.receive else "   Buy ", "muted"),
        Span(bought, bold=True),
        Span(f" on {token_out.chain_data.name}", "muted"),
    ]


def ranked_by(board: QuoteResult, arrangement: Arrangement, *, failed: bool) -> list[Line]:
    """What the order of the rows means, with the time of the answer and without; ``failed``: a
    later answer did not come."""
    net = "what you send" if board.wish.receive else "net received"
    said = {QuoteOrder.NET: net, QuoteOrder.ALL_IN: "all-in", QuoteOrder.TIME: "expected time"}
    line: Line = [Span(f"{STALE} ", "status-waiting")] if failed else []
    if arrangement.only is not None:
        line += [route_word(arrangement.only), Span(" only · ", "muted")]
    at = clock_time(board.received_at, zone=True)
    return [
        [*line, Span(f"{at} · ranked by ", "muted"), Span(said[arrangement.order])],
        [*line, Span("by ", "muted"), Span(said[arrangement.order])],
    ]


def nothing_yet(
    asking: float | None, error: ClientError | None, *, answered: bool, turn: str = ""
) -> LineLike:
    """What stands in an empty table; ``asking`` is how many seconds an ask has lasted, ``turn``
    which of several it is."""
    if asking is not None:
        said = f"asking for quotes, {asking:.1f} s{f', {turn}' if turn else ''}"
        return said if asking >= SAY_ASKING_AFTER else ""
    if error is not None:
        return "No quotes. The reason stands below."
    return "The service has no route between these tokens." if answered else ""


def rows_below(
    board: QuoteResult | None,
    row: RankedQuote | None,
    entry: UnusableQuote | None,
    now: datetime,
    *,
    error: ClientError | None,
    wait: float | None,
    again: str = "",
    notes: Sequence[Line] = (),
    named: Named = lambda code: code,
) -> list[LineLike]:
    """The sentences under the table: a failure, a reason, what the route returns, and what
    ``notes`` the rows bear."""
    rows: list[LineLike] = []
    if error is not None:
        rows += error_rows(error, wait, again)
    if board is None:
        return rows
    if entry is not None:
        rows.append([Span("Reason  ", "muted"), Span(reason_text(entry))])
    rows += value_rows(board, row, now, notes)
    asked = options_in_words(board.wish, named)
    if asked and not (board.wish.receive and asked == "fixed rates"):
        rows.append([Span("Asked  ", "muted"), Span(asked)])
    return rows


def value_rows(
    board: QuoteResult, row: RankedQuote | None, now: datetime, notes: Sequence[Line]
) -> list[LineLike]:
    """What ``row``, or else the best route, returns of the value, and what the ``notes`` mean."""
    ranking = board.ranking
    if not ranking.rows:
        return [Span(no_usable_route(board), "status-waiting")] if ranking.unusable else []
    shown = row or ranking.best_at(now) or ranking.rows[0]
    value = board.value_difference(shown)
    amount = f"{exact_amount(board.amount_in(shown))} {board.token_in.symbol}"
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
    gross = [one.quote for one in ranking.rows if "gross" in one.badges]
    if gross:
        said = "The fees of gross routes are not in the ranking."
        if all(quote.amount_out_usd is None for quote in gross):
            said = f"No USD price for {board.token_out.symbol}: its fees are not in the ranking."
        rows.append(Span(said, "status-waiting"))
    return [*rows, [Span("Notes  ", "muted"), *joined(notes)]] if notes else rows


def unusable_row(board: QuoteResult, only: RouteType | None) -> list[LineLike]:
    """How many routes cannot be used, and why the first of them cannot; none where all can."""
    found = [one for one in board.ranking.unusable if only is None or one.quote.type == only]
    if not found or not board.ranking.rows:
        return []
    first = found[0]
    name = first.quote.swap_name or first.quote.swap or first.quote.type
    said = f"{len(found)}, the first {name}: " if len(found) > 1 else f"{len(found)}, {name}: "
    return [[Span("Not usable  ", "muted"), Span(said), Span(reason_text(first), "muted")]]


def refusal_to_choose(board: QuoteResult, key: str, now: datetime) -> str | None:
    """Why the row of this key cannot be reviewed, None when it can."""
    entry = unusable_at(board, key)
    if entry is not None:
        return f"This route cannot be chosen: {reason_text(entry)}."
    row = board.ranking.find(key)
    if row is None:
        return None
    if row.expired(now):
        return f"{quote_ended(row.expires_at)} r asks again, {cost_in_words(board.wish)}."
    if row.on_chain and board.token_in.chain_data.kind not in KINDS:
        chain = board.token_in.chain_data.name
        return f"The wallet of this desk signs nothing on {chain}. Choose another route."
    if not row.pays:
        return "This route pays nothing: its fees take all of it."
    return None


def error_rows(error: ClientError, wait: float | None, again: str) -> list[LineLike]:
    """The cause in words, every named field, then code and request id to be copied."""
    if isinstance(error, RateLimited):
        said = rate_limited(error, wait, again)
    else:
        said = failure_of_error(error).cause
    rows: list[LineLike] = [[Span(f"{REFUSED} ", "status-trouble"), Span(said, "status-trouble")]]
    rows += [Span(f"  {text}") for text in refused_fields(error)]
    rows.append(Span(f"  {code_and_request(error)}", "muted"))
    return rows
