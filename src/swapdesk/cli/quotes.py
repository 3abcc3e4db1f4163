"""Quotes on the command line: finds tokens and amounts, asks for quotes, prints them, and keeps the
answers in a file, so that a later command can use one of these quotes (``--quote ID``)."""

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
    """Returns the only token that ``spec`` names. Raises CommandError: exit 2 for several, 5 for
    none, 9 for a disabled token."""
    resolved = resolve(spec, desk.catalog)
    if resolved.token is None:
        raise CommandError(
            Exit.OWN_REFUSAL if resolved.disabled else Exit.NOT_FOUND,
            "TOKEN_DISABLED" if resolved.disabled else "TOKEN_NOT_FOUND",
            resolved.problem or "There is no such token.",
            fields={field: {"message": resolved.problem or ""}},
        )
    if resolved.ambiguous:
        named = list(resolved.specs)
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        raise bad_input(
            "AMBIGUOUS_TOKEN",
            f'"{spec}" is on several chains: {", ".join(named[:_MOST_NAMED])}{more}.',
            field=field,
            candidates=named,
        )
    return resolved.token


def require_usable(token: Token, desk: Desk, *, accepted: bool) -> tuple[CheckLine, ...]:
    """Returns the token's lines for the review. Raises CommandError (exit 9) if the token is
    unusable, or has a warning and ``accepted`` is False."""
    check = usability(token, desk)
    if refusal(check):
        raise own_refusal("TOKEN_REFUSED", texts(check, "refuse")[0])
    warned = texts(check, "warn")
    if warned and not accepted:
        raise own_refusal("TOKEN_WARNING", " ".join(warned))
    return check


def usability(token: Token, desk: Desk) -> tuple[CheckLine, ...]:
    row = desk.catalog.row(token.id)
    imitates = imitated_by(row, desk.catalog.rows.drawn_like(row)) if row is not None else None
    return check_token(token, now=desk.clock.now(), imitates=imitates)


def read_amount(text: str, token: Token, field: str = "amount") -> Decimal:
    """Returns the typed amount. Raises CommandError (exit 2) for 0, too many decimals, and anything
    else."""
    from swapdesk.flows.quotes.quoting import typed_amount
    from swapdesk.wire.encoding.numbers import AmountError

    try:
        return typed_amount(text, token)
    except AmountError as error:
        raise bad_amount(error.message, error.position, field) from None


class QuoteDocument(Struct, frozen=True):
    """A quote with values that the desk computed. ``net`` is what arrives and ``sends`` what the
    user pays, in whole tokens. ``--explain`` adds ``waterfall``."""

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
    """The facts that identify a token."""

    PRINTED: ClassVar = {
        "id": "token.id", "symbol": "token.symbol", "name": "token.name",
        "chain": "token.chain_data.short_name", "chainName": "token.chain_data.name",
        "contract": "token.address", "decimals": "token.decimals",
    }  # fmt: skip

    token: Token


class QuotesDocument(Struct, frozen=True, rename="camel"):
    """Usable quotes, ranked, and unusable quotes with the reason. With ``receive``, ``amount`` is
    what arrives. ``cost`` is the number of calls charged to the quote limit."""

    asked_at: Moment
    sold: TokenName = field(name="from")
    bought: TokenName = field(name="to")
    amount: Decimal
    receive: bool
    cost: int
    quotes: tuple[QuoteDocument, ...]
    unusable: tuple[UnusableQuote, ...]


def say_waterfalls(output: Output, result: QuoteResult) -> None:
    """Prints how each usable route's output is computed, and a remark if the steps do not add
    up."""
    for row in result.ranking.rows:
        steps = waterfall(result, row)
        name = row.quote.swap_name or row.quote.swap or "two legs"
        get = result.token_out.symbol
        output.say(f"{row.place}. {row.quote.type} {name}, why {exact_amount(steps.net)} {get}:")
        # ``Provider fee -0.018459 ETH: $61.12 ÷ $3,311.06 (derived).``
        output.say(
            *(
                f"   {step.label} {_value(step, result)}: {step.how} ({step.known})."
                for step in steps.steps
            )
        )
        rest = remark(steps, table_amount(steps.lines), table_amount(steps.net))
        if rest:
            output.say(f"   {rest}")


def _value(step: WaterfallStep, result: QuoteResult) -> str:
    if step.amount is None:
        return step.word
    if step.unit == "usd":
        return usd(step.amount)
    if step.unit == "percent":
        return percent(step.amount)
    token = result.token_in if step.unit == "sold" else result.token_out
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
    """Asks for quotes, stores them for later commands and prints them. ``account`` is the account
    that would sign an on-chain swap. Raises CommandError (exit 4) without a usable route."""
    route = read_route(typed, types, providers)
    if preset is not None:
        route = preset_options(call.desk.settings.places, preset)
    await load_catalog(call)
    desk = call.desk
    token_in = find_token(sell, desk, field="from")
    token_out = find_token(buy, desk, field="to")
    for token in {token.id: token for token in (token_in, token_out)}.values():
        call.output.talk(*texts(usability(token, desk), "refuse"))
    request = QuoteRequest.of(
        with_slippage(route, slippage),
        token_in,
        token_out,
        read_amount(amount, token_out if receive else token_in),
        receive=receive,
        sender=await _sender(call, account),
    )
    result = await call.link.quotes.ask(request)
    QuoteCache.of(call.desk.settings.places).put(result)
    output = call.output
    columns = [column for column in QUOTE_COLUMNS if column.head is not None]
    output.table(
        [column.head_of(result.request) for column in columns],
        [[column.text(result, row) for column in columns] for row in result.ranking.rows],
        numbers=[place for place, column in enumerate(columns) if column.name == "net"],
        plain=_sentences(result),
        document=QuotesDocument(
            asked_at=result.asked_at,
            sold=TokenName(token_in),
            bought=TokenName(token_out),
            amount=result.amount,
            receive=receive,
            cost=result.cost,
            quotes=tuple(
                _quote(result, row, desk.catalog.provider_name(row.quote.swap), explain=explain)
                for row in result.ranking.rows
            ),
            unusable=result.ranking.unusable,
        ),
    )
    if output.form == "table":
        output.talk(*(f"{_route(entry)}: {_reason(entry)}" for entry in result.ranking.unusable))
        output.talk(quotes_arrived(result))
    if explain and not output.json:
        say_waterfalls(output, result)
    if result.refused is not None:
        failure = failure_of_error(result.refused)
        output.talk(f"{failure.cause} {code_and_request(result.refused)}")
    if result.ranking.best is None:
        raise no_route(result)


async def _sender(call: CliContext, named: str | None) -> str | None:
    if named is None:
        return None
    from swapdesk.cli.wallet_session import account_named

    return account_named(await call.desk.wallet.accounts(), named).address


def no_route(result: QuoteResult) -> CommandError:
    """Returns an error with exit 4, for an answer of the service without a usable route."""
    return CommandError(
        Exit.REFUSED,
        "NO_USABLE_ROUTE",
        no_usable_route(result),
        next=without_route_next(result),
    )


def _quote(
    result: QuoteResult, row: RankedQuote, provider: str | None, *, explain: bool
) -> QuoteDocument:
    return QuoteDocument(
        row,
        provider,
        sends=result.amount_in(row),
        vs_best_percent=share(row.vs_best_percent),
        value_difference=result.value_difference(row),
        fees=fees_kind(row.quote),
        waterfall=waterfall(result, row) if explain else UNSET,
    )


def _sentences(result: QuoteResult) -> list[str]:
    pay, get = result.token_in, result.token_out
    sentences = [
        f"{row.place}. {_route(row)}: {exact_amount(result.amount_in(row))} {pay.symbol} on"
        f" {pay.chain_data.name} gives {exact_amount(row.key)} {get.symbol} on"
        f" {get.chain_data.name}, {expected_minutes(row.quote.duration)},"
        f" {'fixed, ' if row.quote.fixed else ''}value {value_text(result, row)},"
        f" until {clock_time(row.expires_at, zone=True)},"
        f" quote {row.quote_id}."
        for row in result.ranking.rows
    ]
    return sentences + [
        f"{_route(e)} cannot be used: {_reason(e)}." for e in result.ranking.unusable
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
    """Returns the quote that the request names, or the best quote of a new answer. Raises
    CommandError: exit 9 for an expired or unusable quote, 5 for one never shown here, 4 without a
    route, 3 if too little arrives."""
    query = QuoteRequest.of(
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
        result, row = _named(call, request.quote_id, query)
    else:
        result, row = await _best(call, request, query)
    require_value(result, row, request.max_loss)
    if request.min_out is not None:
        require_output(result, row, read_amount(request.min_out, token_out, "min-out"))
    return result, row


def require_output(result: QuoteResult, row: RankedQuote, least: Decimal) -> None:
    """Raises CommandError (exit 3) if less than ``least``, in whole tokens, arrives by the
    route."""
    arrives = result.amount if result.request.receive else row.key
    if arrives >= least:
        return
    symbol = result.token_out.symbol
    raise CommandError(
        Exit.THRESHOLD,
        "MIN_OUT",
        f"The best route gives {arrives:f} {symbol}, less than {least:f}. Nothing was created.",
    )


async def _best(
    call: CliContext, request: CreateRequest, query: QuoteRequest
) -> tuple[QuoteResult, RankedQuote]:
    result = await call.link.quotes.ask(query)
    now = call.desk.clock.now()
    wanted = (request.provider or "").lower()
    on_chain = request.on_chain
    row = next(
        (
            row
            for row in result.ranking.rows
            if row.pays
            and (on_chain or not row.on_chain)
            and not row.expired(now)
            and (request.slippage is None or row.quote.slippage_supported is not False)
            and (not wanted or wanted in _names(row))
        ),
        None,
    )
    if row is not None:
        return result, row
    unusable = tuple(
        entry for entry in result.ranking.unusable if wanted and wanted in _names(entry)
    )
    if unusable:
        reason = unusable[0].reason.rstrip(".")
        raise CommandError(
            Exit.REFUSED,
            "NO_USABLE_ROUTE",
            f'No usable route of "{request.provider}": {reason}.',
            next=without_route_next(replace(result, ranking=Ranking((), unusable))),
        )
    if wanted and result.ranking.rows:
        names = sorted({r.quote.swap for r in result.ranking.rows if r.quote.swap})
        raise bad_input(
            "NO_SUCH_PROVIDER",
            f'No usable route of "{request.provider}". There are routes of {", ".join(names)}.',
            field="provider",
            candidates=names,
        )
    raise no_route(result)


def _names(row: RankedQuote | UnusableQuote) -> tuple[str, ...]:
    return tuple(name.lower() for name in (row.quote.swap, row.quote.swap_name) if name)


def _named(call: CliContext, quote_id: str, query: QuoteRequest) -> tuple[QuoteResult, RankedQuote]:
    desk = call.desk
    shelf = QuoteCache.of(call.desk.settings.places)
    result = shelf.find(quote_id.lower(), desk.catalog, desk.clock.now())
    if result is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "QUOTE_NOT_FOUND",
            f"No quote {quote_id} was shown here within the last hour.",
            fields={"quote": {"message": "never shown"}},
        )
    row = result.ranking.find(quote_id.lower())
    if row is None:
        entry = next(e for e in result.ranking.unusable if e.quote.quote_id == quote_id.lower())
        code = "QUOTE_EXPIRED" if entry.reason.startswith("expired") else "QUOTE_UNUSABLE"
        raise own_refusal(code, f"This quote cannot be used: {entry.reason}.")
    if _subject(result.request) != _subject(query):
        raise bad_input(
            "QUOTE_DIFFERS",
            f"Quote {quote_id} is for {result.amount:f} {result.token_in.symbol} to"
            f" {result.token_out.symbol}, not for what this command says.",
            field="quote",
        )
    return result, row


def _subject(request: QuoteRequest) -> tuple[object, ...]:
    tokens = request.token_in.id, request.token_out.id
    return *tokens, request.amount, request.receive, request.private_send


def require_value(result: QuoteResult, row: RankedQuote, limit: Decimal | None) -> None:
    """Raises CommandError (exit 3) if the loss of value is unknown or exceeds ``limit`` percent.
    None allows any loss."""
    if limit is None:
        return
    percent_lost = result.value_difference(row).percent
    if percent_lost is not None and -percent_lost <= limit:
        return
    if percent_lost is None:
        message = "The value difference is not known: a price is missing."
        next_ = "you: choose another token, or add --max-loss any"
    else:
        message = f"The value difference is {percent(percent_lost)}, more than {limit:f}%."
        next_ = "you: wait, send less, or raise --max-loss"
    raise CommandError(Exit.THRESHOLD, "MAX_LOSS", f"{message} Nothing was created.", next=next_)


KEPT = timedelta(hours=1)
MOST = 8
_LIMIT = 4 << 20


class CachedResult(WireModel):
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
    """The quotes that one profile showed within the last hour, kept in a file that only its owner
    can read."""

    path: Path

    @classmethod
    def of(cls, places: ProfilePlaces) -> QuoteCache:
        return cls(places.root / "quotes.json")

    def put(self, result: QuoteResult) -> None:
        """Adds an answer to the file. Removes answers that are too old or too many."""
        ranking = result.ranking
        fresh = CachedResult(
            asked_at=result.asked_at,
            received_at=result.received_at,
            token_in=result.token_in.id,
            token_out=result.token_out.id,
            amount=result.amount,
            private_send=result.private_send,
            receive=result.request.receive,
            markup=result.request.markup,
            slippage=result.request.slippage,
            quotes=[
                *(row.quote for row in ranking.rows),
                *(entry.quote for entry in ranking.unusable),
            ],
        )
        earlier = [b for b in self._read() if result.asked_at - b.asked_at < KEPT]
        shelf = CachedResults(boards=[fresh, *earlier][:MOST])
        write_private(self.path, encode_json(shelf), replace=True)

    def shown(self, quote_id: str) -> tuple[CachedResult, Quote] | None:
        """Returns the stored answer that contains the quote, and the quote itself; None if no
        stored answer contains it."""
        every = ((answer, quote) for answer in self._read() for quote in answer.quotes)
        return next((pair for pair in every if pair[1].quote_id == quote_id), None)

    def find(self, quote_id: str, catalog: Catalog, now: datetime) -> QuoteResult | None:
        """Returns the stored answer that contains the quote, ranked as of ``now``; None if the
        quote or one of its tokens is gone."""
        shown = self.shown(quote_id)
        if shown is None:
            return None
        answer, _ = shown
        token_in, token_out = catalog.token(answer.token_in), catalog.token(answer.token_out)
        if token_in is None or token_out is None:
            return None
        request = QuoteRequest(
            token_in,
            token_out,
            Decimal(answer.amount),
            answer.receive,
            answer.private_send,
            markup=answer.markup,
            slippage=answer.slippage,
        )
        ends = [(quote, end_of(quote, answer.asked_at)) for quote in answer.quotes]
        return QuoteResult(answer.asked_at, answer.received_at, rank(ends, request, now), request)

    def _read(self) -> Sequence[CachedResult]:
        try:
            content = read_private(self.path, limit=_LIMIT)
            return decode(CachedResults, content, side="client", max_bytes=_LIMIT).boards
        except (FileNotFoundError, UnsafePlace, CodecError):
            return ()
