"""Quotes as a command shows them: asked, ranked, kept in the cache, printed, with a waterfall
where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from swapdesk.cli.command_error import CommandError, Exit
from swapdesk.cli.output import Form, Output
from swapdesk.cli.quote_cache import QuoteCache
from swapdesk.cli.quote_options import RouteWish
from swapdesk.cli.session import CommandSession
from swapdesk.cli.token_argument import find_token, read_amount, usability
from swapdesk.flows.notation import (
    Moment,
    clock_time,
    exact_amount,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_columns import QUOTE_COLUMNS, value_text
from swapdesk.flows.quotes.quote_presets import QuotePresets
from swapdesk.flows.quotes.quote_request import (
    QuoteOptions,
    QuoteRequest,
    with_slippage,
)
from swapdesk.flows.quotes.quoting import QuoteResult, ValueDifference, share
from swapdesk.flows.quotes.ranking import FeesKind, RankedQuote, UnusableQuote, fees_kind
from swapdesk.flows.quotes.waterfall import (
    Unit,
    Waterfall,
    WaterfallStep,
    remark,
    waterfall,
)
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    quotes_arrived,
    without_route_next,
)
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token


class QuoteDocument(Struct, frozen=True, rename="camel"):
    """What the desk derived of a quote, and beside it the quote as the service told it. ``net`` is
    what arrives and ``sends`` what is paid, in whole tokens. ``waterfall`` with ``--explain``."""

    MERGED: ClassVar = "quote"

    provider: str | None
    place: int
    net: Decimal
    sends: Decimal
    vs_best_percent: Decimal | None
    vs_best_amount: Decimal
    value_difference: ValueDifference
    fees: FeesKind
    expires_at: Moment
    badges: tuple[str, ...]
    quote: Quote
    waterfall: Waterfall | UnsetType = UNSET


class TokenName(Struct, frozen=True, rename="camel"):
    """What names a token."""

    id: str
    symbol: str
    name: str
    chain: str
    chain_name: str
    contract: str | None
    decimals: int


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
        output.say(*(f"   {step_sentence(step, board)}" for step in found.steps))
        said = remark(found, table_amount(found.lines), table_amount(found.net))
        if said:
            output.say(f"   {said}")


def step_sentence(step: WaterfallStep, board: QuoteResult) -> str:
    """``Provider fee -0.018459 ETH: $61.12 ÷ $3,311.06 (derived).``"""
    return f"{step.label} {_value(step, board)}: {step.how} ({step.known})."


def _value(step: WaterfallStep, board: QuoteResult) -> str:
    if step.amount is None:
        return step.word
    if step.unit is Unit.USD:
        return usd(step.amount)
    if step.unit is Unit.PERCENT:
        return percent(step.amount)
    token = board.token_in if step.unit is Unit.SOLD else board.token_out
    return f"{table_amount(step.amount)} {token.symbol}"


async def report_quotes(
    session: CommandSession,
    amount: str,
    sell: str,
    buy: str,
    types: tuple[str, ...],
    providers: tuple[str, ...],
    both: bool,
    preset: str | None,
    explain: bool,
    slippage: Decimal | None,
    account: str | None,
    **typed: Any,
) -> None:
    """Ask, keep and print; ``both``: floating rates beside the fixed ones, and ``account`` would
    sign an on-chain swap. Exit 4 when no route is usable."""
    route = RouteWish(**typed)
    if preset is not None:
        options = preset_options(session, preset)
    else:
        options = route.read(types, providers)
    if both:
        options = replace(options, fixed=True, floating=True)
    await session.load_catalog()
    desk = session.desk
    token_in = find_token(sell, desk, field="from")
    token_out = find_token(buy, desk, field="to")
    for token in {one.id: one for one in (token_in, token_out)}.values():
        said = (line.text for line in usability(token, desk).lines if line.level == "refuse")
        session.call.output.talk(*said)
    wish = QuoteRequest.of(
        with_slippage(options, slippage),
        token_in,
        token_out,
        read_amount(amount, token_out if route.receive else token_in),
        receive=route.receive,
        sender=await _sender(session, account),
    )
    board = await session.link.quotes.ask(wish)
    QuoteCache.of(session.settings.places).put(board)
    output = session.call.output
    columns = [column for column in QUOTE_COLUMNS if column.head is not None]
    output.table(
        [column.head_of(board.wish) for column in columns],
        [[column.text(board, row) for column in columns] for row in board.ranking.rows],
        numbers=[place for place, column in enumerate(columns) if column.name == "net"],
        plain=_sentences(board),
        document=quotes_document(board, desk.catalog.provider_name, explain=explain),
    )
    if output.form is Form.TABLE:
        output.talk(*(f"{_route(one)}: {_reason(one)}" for one in board.ranking.unusable))
        output.talk(quotes_arrived(board))
    if explain and not output.json:
        say_waterfalls(output, board)
    if board.refused is not None:
        failure = failure_of_error(board.refused)
        output.talk(f"{failure.cause} {code_and_request(board.refused)}")
    if board.ranking.best is None:
        raise no_route(board)


async def _sender(session: CommandSession, named: str | None) -> str | None:
    """The address of the account that would sign. Exit 5 for none of that name."""
    if named is None:
        return None
    from swapdesk.cli.wallet_session import account_named

    return account_named(await session.desk.wallet.accounts(), named).address


def preset_options(session: CommandSession, name: str) -> QuoteOptions:
    """The options that the desk keeps under this name. Exit 5 when it keeps none."""
    presets = QuotePresets.of(session.settings.places)
    found = presets.find(name)
    if found is not None:
        return found
    known = presets.names()
    raise CommandError(
        Exit.NOT_FOUND,
        "NO_SUCH_PRESET",
        f'No preset is called "{name}".',
        next=f"you: {', '.join(known)}" if known else "you: keep one in the desk, f2",
        fields={"preset": {"message": "not kept"}},
    )


def no_route(board: QuoteResult) -> CommandError:
    """Exit 4: the service was asked and no route takes this."""
    return CommandError(
        Exit.REFUSED,
        "NO_USABLE_ROUTE",
        no_usable_route(board),
        next=without_route_next(board),
    )


def quotes_document(
    board: QuoteResult, name_of: Callable[[str | None], str | None], *, explain: bool = False
) -> QuotesDocument:
    """``explain`` adds each row's waterfall."""
    return QuotesDocument(
        asked_at=board.asked_at,
        sold=_token_name(board.token_in),
        bought=_token_name(board.token_out),
        amount=board.amount,
        receive=board.wish.receive,
        cost=board.cost,
        quotes=tuple(
            _quote(board, row, name_of(row.quote.swap), explain=explain)
            for row in board.ranking.rows
        ),
        unusable=board.ranking.unusable,
    )


def _quote(
    board: QuoteResult, row: RankedQuote, provider: str | None, *, explain: bool
) -> QuoteDocument:
    return QuoteDocument(
        provider=provider,
        place=row.place,
        net=row.key,
        sends=board.amount_in(row),
        vs_best_percent=share(row.vs_best_percent),
        vs_best_amount=row.vs_best_amount,
        value_difference=board.value_difference(row),
        fees=fees_kind(row.quote),
        expires_at=row.expires_at,
        badges=row.badges,
        quote=row.quote,
        waterfall=waterfall(board, row) if explain else UNSET,
    )


def _token_name(token: Token) -> TokenName:
    chain = token.chain_data
    return TokenName(
        id=token.id,
        symbol=token.symbol,
        name=token.name,
        chain=chain.short_name,
        chain_name=chain.name,
        contract=token.address,
        decimals=token.decimals,
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
