"""Which quote a create command uses, and whether its loss of value is allowed."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from swapdesk.cli.command_error import CommandError, Exit, bad_input, own_refusal
from swapdesk.cli.quote_cache import QuoteCache
from swapdesk.cli.quote_options import CreateRequest, require_middle, require_refund
from swapdesk.cli.quote_report import no_route, preset_options
from swapdesk.cli.session import CommandSession
from swapdesk.cli.token_argument import read_amount
from swapdesk.flows.notation import percent
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuoteRequest, with_slippage
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote, Ranking, UnusableQuote
from swapdesk.flows.tracking.announcements import without_route_next
from swapdesk.wire.tokens import Token

ASK_AGAIN = "you: ask for new quotes"


async def choose_quote(
    session: CommandSession,
    request: CreateRequest,
    token_in: Token,
    token_out: Token,
    amount: Decimal,
) -> tuple[QuoteResult, RankedQuote]:
    """The quote named, else the best of a fresh answer.

    Exit 9 for one that ended, 5 for one never shown, 4 when no route is usable, 3 when the
    loss of value is above the limit or not known.
    """
    if request.quote_id is not None:
        board, row = _named(session, request, request.quote_id, token_in, token_out, amount)
    else:
        board, row = await _best(session, request, token_in, token_out, amount)
    require_value(board, row, request.max_loss)
    if request.min_out is not None:
        require_output(board, row, read_amount(request.min_out, token_out, "min-out"))
    return board, row


def require_output(board: QuoteResult, row: RankedQuote, least: Decimal) -> None:
    """Exit 3 for a route that gives less than asked for."""
    arrives = board.amount if board.wish.receive else row.key
    if arrives >= least:
        return
    symbol = board.token_out.symbol
    raise CommandError(
        Exit.THRESHOLD,
        "MIN_OUT",
        f"The best route gives {arrives:f} {symbol}, less than {least:f}. Nothing was created.",
    )


def _options(session: CommandSession, request: CreateRequest) -> QuoteOptions:
    """The options as typed, or those of a preset; what they need is checked before a quote is
    spent on them."""
    if request.preset is None:
        return request.wish.read(request.types)
    options = preset_options(session, request.preset)
    require_refund(request.refund, options.fixed)
    require_middle(request.middle_refund, options.use_xmr)
    return options


async def _best(
    session: CommandSession,
    request: CreateRequest,
    token_in: Token,
    token_out: Token,
    amount: Decimal,
) -> tuple[QuoteResult, RankedQuote]:
    wish = QuoteRequest.of(
        with_slippage(_options(session, request), request.slippage),
        token_in,
        token_out,
        amount,
        receive=request.wish.receive,
        private_send=request.buy is None,
        sender=request.sender,
        receiver=request.receiver,
    )
    board = await session.link.quotes.ask(wish)
    now = session.desk.clock.now()
    wanted = (request.provider or "").lower()
    on_chain = request.on_chain
    row = next(
        (
            row
            for row in board.ranking.rows
            if row.pays
            and (on_chain or not row.on_chain)
            and not row.expired(now)
            and (request.slippage is None or row.quote.slippage_supported is not False)
            and (not wanted or wanted in _names(row))
        ),
        None,
    )
    if row is not None:
        return board, row
    unusable = tuple(one for one in board.ranking.unusable if wanted and wanted in _names(one))
    if unusable:
        reason = unusable[0].reason.rstrip(".")
        raise CommandError(
            Exit.REFUSED,
            "NO_USABLE_ROUTE",
            f'No usable route of "{request.provider}": {reason}.',
            next=without_route_next(replace(board, ranking=Ranking((), unusable))),
        )
    if wanted and board.ranking.rows:
        known = sorted({r.quote.swap for r in board.ranking.rows if r.quote.swap})
        message = (
            f'No usable route of "{request.provider}". There are routes of {", ".join(known)}.'
        )
        raise bad_input("NO_SUCH_PROVIDER", message, field="provider", candidates=known)
    raise no_route(board)


def _names(row: RankedQuote | UnusableQuote) -> tuple[str, ...]:
    return tuple(name.lower() for name in (row.quote.swap, row.quote.swap_name) if name)


def _named(
    session: CommandSession,
    request: CreateRequest,
    quote_id: str,
    token_in: Token,
    token_out: Token,
    amount: Decimal,
) -> tuple[QuoteResult, RankedQuote]:
    desk = session.desk
    shelf = QuoteCache.of(session.settings.places)
    board = shelf.find(quote_id.lower(), desk.catalog, desk.clock.now())
    if board is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "QUOTE_NOT_FOUND",
            f"No quote {quote_id} was shown here within the last hour.",
            fields={"quote": {"message": "never shown"}},
        )
    row = board.ranking.find(quote_id.lower())
    if row is None:
        entry = next(e for e in board.ranking.unusable if e.quote.quote_id == quote_id.lower())
        code = "QUOTE_EXPIRED" if entry.reason.startswith("expired") else "QUOTE_UNUSABLE"
        raise own_refusal(code, f"This quote cannot be used: {entry.reason}.")
    same = (board.token_in.id, board.token_out.id) == (token_in.id, token_out.id)
    same = same and board.wish.receive is request.wish.receive
    if not same or board.amount != amount or board.private_send != (request.buy is None):
        message = (
            f"Quote {quote_id} is for {board.amount:f} {board.token_in.symbol} to"
            f" {board.token_out.symbol}, not for what this command says."
        )
        raise bad_input("QUOTE_DIFFERS", message, field="quote")
    return board, row


def require_value(board: QuoteResult, row: RankedQuote, limit: Decimal | None) -> None:
    """Exit 3 when more value is lost than allowed, in percent, None for any loss; one that nobody
    knows is never allowed silently."""
    if limit is None:
        return
    found = board.value_difference(row).percent
    if found is not None and -found <= limit:
        return
    if found is None:
        message = "The value difference is not known: a price is missing."
        next_ = "you: choose another token, or add --max-loss any"
    else:
        message = f"The value difference is {percent(found)}, more than {limit:f}%."
        next_ = "you: wait, send less, or raise --max-loss"
    raise CommandError(Exit.THRESHOLD, "MAX_LOSS", f"{message} Nothing was created.", next=next_)
