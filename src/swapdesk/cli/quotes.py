"""Quotes of the command line: the tokens and amounts that they are for, asked, ranked and printed,
kept for the command that uses one (``--quote ID``), and chosen by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace
from pydantic import Field

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, Exit, bad_input, own_refusal
from swapdesk.cli.output import Output
from swapdesk.cli.quote_options import (
    CreateRequest,
    bad_amount,
    preset_options,
    read_route,
)
from swapdesk.cli.session import load_catalog
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_safety import check_token
from swapdesk.flows.check_line import CheckLine, refusal, texts
from swapdesk.flows.desk import Desk
from swapdesk.flows.notation import (
    Moment,
    clock_time,
    exact_amount,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_columns import (
    QUOTE_COLUMNS,
    Waterfall,
    WaterfallStep,
    remark,
    value_text,
    waterfall,
)
from swapdesk.flows.quotes.quote_request import (
    QuoteRequest,
    with_slippage,
)
from swapdesk.flows.quotes.quoting import QuoteResult, ValueDifference, end_of, share
from swapdesk.flows.quotes.ranking import (
    FeesKind,
    RankedQuote,
    Ranking,
    UnusableQuote,
    fees_kind,
    rank,
)
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    quotes_arrived,
    without_route_next,
)
from swapdesk.paths import ProfilePlaces, UnsafePlace, read_private, write_private
from swapdesk.wire.encoding.codec import CodecError, Timestamp, decode, encode_json
from swapdesk.wire.encoding.ids import ObjectId
from swapdesk.wire.encoding.numbers import Amount
from swapdesk.wire.model import WireModel
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token

_MOST_NAMED = 20


def find_token(spec: str, desk: Desk, *, field: str) -> Token:
    """The one token ``spec`` names.

    Exit 2 when several fit, listing them as they can be written; 5 when none does; 9 when it
    is disabled.
    """
    found = resolve(spec, desk.catalog)
    if found.token is None:
        raise CommandError(
            Exit.OWN_REFUSAL if found.disabled else Exit.NOT_FOUND,
            "TOKEN_DISABLED" if found.disabled else "TOKEN_NOT_FOUND",
            found.problem or "There is no such token.",
            fields={field: {"message": found.problem or ""}},
        )
    if found.ambiguous:
        named = list(found.specs)
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        raise bad_input(
            "AMBIGUOUS_TOKEN",
            f'"{spec}" is on several chains: {", ".join(named[:_MOST_NAMED])}{more}.',
            field=field,
            candidates=named,
        )
    return found.token


def require_usable(token: Token, desk: Desk, *, accepted: bool) -> tuple[CheckLine, ...]:
    """What the review says of a token. Exit 9 when it cannot be used, or when it is warned
    about and ``accepted`` is False and nobody can be asked."""
    check = usability(token, desk)
    if refusal(check):
        raise own_refusal("TOKEN_REFUSED", texts(check, "refuse")[0])
    warned = texts(check, "warn")
    if warned and not accepted:
        raise own_refusal("TOKEN_WARNING", " ".join(warned))
    return check


def usability(token: Token, desk: Desk) -> tuple[CheckLine, ...]:
    """The state of a token now, with whatever it is drawn like."""
    row = desk.catalog.row(token.id)
    imitates = imitated_by(row, desk.catalog.rows.drawn_like(row)) if row is not None else None
    return check_token(token, now=desk.clock.now(), imitates=imitates)


def read_amount(text: str, token: Token, field: str = "amount") -> Decimal:
    """The amount of a token. Exit 2 for 0 and for more decimals than the token has."""
    from swapdesk.flows.quotes.quoting import typed_amount
    from swapdesk.wire.encoding.numbers import AmountError

    try:
        return typed_amount(text, token)
    except AmountError as error:
        raise bad_amount(error.message, error.position, field) from None


class QuoteDocument(Struct, frozen=True):
    """What the desk derived of a quote, and beside it the quote as the service told it. ``net`` is
    what arrives and ``sends`` what is paid, in whole tokens. ``waterfall`` with ``--explain``."""

    PRINTED: ClassVar = {
        "provider": "provider", "place": "row.place", "net": "row.key", "sends": "sends",
        "vsBestPercent": "vs_best_percent", "vsBestAmount": "row.vs_best_amount",
        "valueDifference": "value_difference", "fees": "fees", "expiresAt": "row.expires_at",
        "badges": "row.badges", "quote": "row.quote", "waterfall": "waterfall",
    }  # fmt: skip
    MERGED: ClassVar = "row.quote"

    row: RankedQuote
    provider: str | None
    sends: Decimal
    vs_best_percent: Decimal | None
    value_difference: ValueDifference
    fees: FeesKind
    waterfall: Waterfall | UnsetType = UNSET


class TokenName(Struct, frozen=True):
    """What names a token."""

    PRINTED: ClassVar = {
        "id": "token.id", "symbol": "token.symbol", "name": "token.name",
        "chain": "token.chain_data.short_name", "chainName": "token.chain_data.name",
        "contract": "token.address", "decimals": "token.decimals",
    }  # fmt: skip

    token: Token


class QuotesDocument(Struct, frozen=True, rename="camel"):
    """Ranked rows, and unusable ones with their reason. ``receive``: ``amount`` is what is to
    arrive. ``cost`` is what the answer took from the budget of quotes."""

    asked_at: Moment
    sold: TokenName = field(name="from")
    bought: TokenName = field(name="to")
    amount: Decimal
    receive: bool
    cost: int
    quotes: tuple[QuoteDocument, ...]
    unusable: tuple[UnusableQuote, ...]


def say_waterfalls(output: Output, board: QuoteResult) -> None:
    """Every usable route, one sentence a step, and what does not add up."""
    for row in board.ranking.rows:
        found = waterfall(board, row)
        name = row.quote.swap_name or row.quote.swap or "two legs"
        get = board.token_out.symbol
        output.say(f"{row.place}. {row.quote.type} {name}, why {exact_amount(found.net)} {get}:")
        # ``Provider fee -0.018459 ETH: $61.12 ÷ $3,311.06 (derived).``
        output.say(
            *(
                f"   {step.label} {_value(step, board)}: {step.how} ({step.known})."
                for step in found.steps
            )
        )
        said = remark(found, table_amount(found.lines), table_amount(found.net))
        if said:
            output.say(f"   {said}")


def _value(step: WaterfallStep, board: QuoteResult) -> str:
    if step.amount is None:
        return step.word
    if step.unit == "usd":
        return usd(step.amount)
    if step.unit == "percent":
        return percent(step.amount)
    token = board.token_in if step.unit == "sold" else board.token_out
    return f"{table_amount(step.amount)} {token.symbol}"


async def report_quotes(
    call: CliContext,
    amount: str,
    sell: str,
    buy: str,
    types: tuple[str, ...],
    providers: tuple[str, ...],
    receive: bool,
    preset: str | None,
    explain: bool,
    slippage: Decimal | None,
    account: str | None,
    **typed: Any,
) -> None:
    """Ask, keep and print; ``account`` would sign an on-chain swap. Exit 4 when no route is
    usable."""
    route = read_route(typed, types, providers)
    if preset is not None:
        route = preset_options(call.desk.settings.places, preset)
    await load_catalog(call)
    desk = call.desk
    token_in = find_token(sell, desk, field="from")
    token_out = find_token(buy, desk, field="to")
    for token in {one.id: one for one in (token_in, token_out)}.values():
        call.output.talk(*texts(usability(token, desk), "refuse"))
    wish = QuoteRequest.of(
        with_slippage(route, slippage),
        token_in,
        token_out,
        read_amount(amount, token_out if receive else token_in),
        receive=receive,
        sender=await _sender(call, account),
    )
    board = await call.link.quotes.ask(wish)
    QuoteCache.of(call.desk.settings.places).put(board)
    output = call.output
    columns = [column for column in QUOTE_COLUMNS if column.head is not None]
    output.table(
        [column.head_of(board.wish) for column in columns],
        [[column.text(board, row) for column in columns] for row in board.ranking.rows],
        numbers=[place for place, column in enumerate(columns) if column.name == "net"],
        plain=_sentences(board),
        document=QuotesDocument(
            asked_at=board.asked_at,
            sold=TokenName(token_in),
            bought=TokenName(token_out),
            amount=board.amount,
            receive=receive,
            cost=board.cost,
            quotes=tuple(
                _quote(board, row, desk.catalog.provider_name(row.quote.swap), explain=explain)
                for row in board.ranking.rows
            ),
            unusable=board.ranking.unusable,
        ),
    )
    if output.form == "table":
        output.talk(*(f"{_route(one)}: {_reason(one)}" for one in board.ranking.unusable))
        output.talk(quotes_arrived(board))
    if explain and not output.json:
        say_waterfalls(output, board)
    if board.refused is not None:
        failure = failure_of_error(board.refused)
        output.talk(f"{failure.cause} {code_and_request(board.refused)}")
    if board.ranking.best is None:
        raise no_route(board)


async def _sender(call: CliContext, named: str | None) -> str | None:
    """The address of the account that would sign. Exit 5 for none of that name."""
    if named is None:
        return None
    from swapdesk.cli.wallet_session import account_named

    return account_named(await call.desk.wallet.accounts(), named).address


def no_route(board: QuoteResult) -> CommandError:
    """Exit 4: the service was asked and no route takes this."""
    return CommandError(
        Exit.REFUSED,
        "NO_USABLE_ROUTE",
        no_usable_route(board),
        next=without_route_next(board),
    )


def _quote(
    board: QuoteResult, row: RankedQuote, provider: str | None, *, explain: bool
) -> QuoteDocument:
    return QuoteDocument(
        row,
        provider,
        sends=board.amount_in(row),
        vs_best_percent=share(row.vs_best_percent),
        value_difference=board.value_difference(row),
        fees=fees_kind(row.quote),
        waterfall=waterfall(board, row) if explain else UNSET,
    )


def _sentences(board: QuoteResult) -> list[str]:
    pay, get = board.token_in, board.token_out
    sentences = [
        f"{row.place}. {_route(row)}: {exact_amount(board.amount_in(row))} {pay.symbol} on"
        f" {pay.chain_data.name} gives {exact_amount(row.key)} {get.symbol} on"
        f" {get.chain_data.name}, {expected_minutes(row.quote.duration)},"
        f" {'fixed, ' if row.quote.fixed else ''}value {value_text(board, row)},"
        f" until {clock_time(row.expires_at, zone=True)},"
        f" quote {row.quote_id}."
        for row in board.ranking.rows
    ]
    return sentences + [
        f"{_route(e)} cannot be used: {_reason(e)}." for e in board.ranking.unusable
    ]


def _route(row: RankedQuote | UnusableQuote) -> str:
    name = row.quote.swap_name or row.quote.swap
    return f"{row.quote.type} {name}" if name else row.quote.type


def _reason(entry: UnusableQuote) -> str:
    return f'the service says "{entry.reason}"' if entry.server_says else entry.reason


async def choose_quote(
    call: CliContext,
    request: CreateRequest,
    token_in: Token,
    token_out: Token,
    amount: Decimal,
) -> tuple[QuoteResult, RankedQuote]:
    """The quote named, else the best of a fresh answer.

    Exit 9 for one that ended, 5 for one never shown, 4 when no route is usable, 3 when the
    loss of value is above the limit or not known.
    """
    wish = QuoteRequest.of(
        with_slippage(request.route, request.slippage),
        token_in,
        token_out,
        amount,
        receive=request.receive,
        private_send=request.buy is None,
        sender=request.sender,
        receiver=request.receiver,
    )
    if request.quote_id is not None:
        board, row = _named(call, request.quote_id, wish)
    else:
        board, row = await _best(call, request, wish)
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


async def _best(
    call: CliContext, request: CreateRequest, wish: QuoteRequest
) -> tuple[QuoteResult, RankedQuote]:
    board = await call.link.quotes.ask(wish)
    now = call.desk.clock.now()
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
        raise bad_input(
            "NO_SUCH_PROVIDER",
            f'No usable route of "{request.provider}". There are routes of {", ".join(known)}.',
            field="provider",
            candidates=known,
        )
    raise no_route(board)


def _names(row: RankedQuote | UnusableQuote) -> tuple[str, ...]:
    return tuple(name.lower() for name in (row.quote.swap, row.quote.swap_name) if name)


def _named(call: CliContext, quote_id: str, wish: QuoteRequest) -> tuple[QuoteResult, RankedQuote]:
    desk = call.desk
    shelf = QuoteCache.of(call.desk.settings.places)
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
    if _subject(board.wish) != _subject(wish):
        raise bad_input(
            "QUOTE_DIFFERS",
            f"Quote {quote_id} is for {board.amount:f} {board.token_in.symbol} to"
            f" {board.token_out.symbol}, not for what this command says.",
            field="quote",
        )
    return board, row


def _subject(wish: QuoteRequest) -> tuple[object, ...]:
    """What a quote is for, however it was asked for."""
    tokens = wish.token_in.id, wish.token_out.id
    return *tokens, wish.amount, wish.receive, wish.private_send


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
        return QuoteResult(board.asked_at, board.received_at, rank(ends, wish, now), wish)

    def _read(self) -> Sequence[CachedResult]:
        """What is kept; a file that cannot be used is as good as an empty one."""
        try:
            content = read_private(self.path, limit=_LIMIT)
            return decode(CachedResults, content, side="client", max_bytes=_LIMIT).boards
        except (FileNotFoundError, UnsafePlace, CodecError):
            return ()
