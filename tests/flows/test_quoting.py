"""Asking for quotes: options as typed, kept and sent, both sides of every bound; the answer, what
is asked again, what was asked before, and what became of it at each provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.marketplace import token
from flows.orders import NOW, intent, order
from flows.test_recipients import BTC, ETH
from patience import PATIENCE
from rows import each_row
from service.price_venue import PriceVenue
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, RateLimited
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.connection import live_connection
from swapdesk.flows.creation.confirm_intent import (
    NotAgain,
    TypedBefore,
    came_to_nothing,
    same_again,
)
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import DepositRelease, Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import parse_intent_line
from swapdesk.flows.quotes.quote_request import (
    PLAIN,
    LegFilter,
    QuoteOptions,
    QuotePresets,
    QuoteRequest,
    Rotation,
    WishRefused,
    cost_in_words,
    options_in_words,
    read_options,
    written_options,
)
from swapdesk.flows.quotes.quoting import (
    FLOATING_TYPES,
    LIMITS_AGE,
    VALIDITY,
    AskingAgain,
    Bounds,
    QuoteDesk,
    bounds_of,
    end_of,
    lost_digits,
    outside_limits,
    rank,
    typed_amount,
)
from swapdesk.flows.quotes.ranking import Ranking, UnusableQuote
from swapdesk.flows.quotes.recent import (
    ProviderRecord,
    _said,
    newest_intents,
    provider_records,
    recent_lines,
    record_lines,
)
from swapdesk.flows.tracking.announcements import no_usable_route, without_route_next
from swapdesk.flows.tracking.open_business import markets_of
from swapdesk.paths import Home
from swapdesk.settings import Options, load_settings
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import AmountError
from swapdesk.wire.encoding.query import encode_query
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.quotes import Limits, PairLimits
from world import World


@pytest.fixture
def desk(api: PartnerApi, catalog: Catalog, clock: ManualClock) -> QuoteDesk:
    return QuoteDesk(api, catalog, clock)


@pytest.fixture
def wish(catalog: Catalog) -> QuoteRequest:
    return QuoteRequest(token(catalog, "btc"), token(catalog, "eth"), Decimal("0.1"))


async def test_one_ask_brings_every_route_ranked(
    desk: QuoteDesk, wish: QuoteRequest, clock: ManualClock
) -> None:
    board = await desk.ask(wish)
    kinds = {row.quote.type for row in board.ranking.rows}
    assert kinds == {"standard", "private"}
    best = board.ranking.best
    assert best.quote.swap_name == "Venue aa"
    assert (board.cost, board.amount, board.private_send) == (1, Decimal("0.1"), False)
    lost = board.value_difference(best)
    assert (Decimal(-1) < lost.percent < 0, lost.level) == (True, "silent")
    ends = {row.expires_at for row in board.ranking.rows}
    assert clock.now() < min(ends) <= max(ends) <= clock.now() + VALIDITY
    assert board.ranking.best_at(clock.now()) == best
    clock.advance(61)
    assert board.ranking.best_at(clock.now()) is None
    assert board.ranking.default_at(clock.now()) is None


async def test_routes_that_failed_are_told_apart_from_an_amount_that_is_too_small(
    desk: QuoteDesk, wish: QuoteRequest
) -> None:
    board = await desk.ask(replace(wish, types=(RouteType.STANDARD,)))
    assert {row.quote.type for row in board.ranking.rows} == {"standard"}
    (small,) = board.ranking.unusable
    assert small.quote.swap == "cc"
    assert re.fullmatch(r"below minimum: this route takes [0-9.]+ BTC or more", small.reason)
    assert board.smallest_usable == (small.quote.min, "Venue cc")
    silent = UnusableQuote(small.quote, "no answer within 2 s", server_says=True)

    def told(*unusable: UnusableQuote) -> tuple[str, str]:
        alone = replace(board, ranking=Ranking((), unusable))
        return no_usable_route(alone), without_route_next(alone)

    said, then = told(small, silent, silent)
    assert said == "No route takes 0.1 BTC now. The amount is not the reason for 2 of 3."
    assert then == "you: ask again, or change the amount"
    assert told(silent) == (
        "No route takes 0.1 BTC now. The amount is not the reason.",
        "you: ask again",
    )
    for rows in [(small,), (small, silent)]:
        said, then = told(*rows)
        assert said.startswith("No route takes 0.1 BTC. The smallest usable amount is ")
        assert then == "you: change the amount or the tokens"
    strange = replace(small, quote=small.quote.model_copy(update={"type": "HOVERING"}))
    assert told(small, strange, strange) == (
        "No route takes 0.1 BTC here. 2 of 3 are of a type this desk does not know.",
        "you: a newer version of this desk may know these routes",
    )


async def test_a_slow_answer_does_not_lengthen_a_quote(
    desk: QuoteDesk, catalog: Catalog, clock: ManualClock, venues: list[PriceVenue]
) -> None:
    """It ends when the service says, and without ``validUntil`` a minute after it was asked for."""
    gate = asyncio.Event()
    venues[0].gate = gate
    asked = clock.now()
    eth = token(catalog, "eth")
    waiting = asyncio.ensure_future(desk.ask(QuoteRequest(eth, eth, Decimal(1), private_send=True)))
    async with asyncio.timeout(PATIENCE):
        while not venues[0].asked:  # noqa: ASYNC110 - the venue says nothing
            await asyncio.sleep(0)
    clock.advance(0.5)
    gate.set()
    board = await waiting
    assert board.asked_at == asked
    assert board.received_at >= asked + timedelta(seconds=0.5)
    assert board.ranking.rows
    for row in board.ranking.rows:
        assert row.expires_at == row.quote.valid_until
        silent = row.quote.model_copy(update={"valid_until": None})
        assert end_of(silent, board.asked_at) == asked + VALIDITY


@each_row("private_send", [True, False])
async def test_the_same_token_goes_by_private_routes(
    desk: QuoteDesk, catalog: Catalog, private_send: bool
) -> None:
    eth = token(catalog, "eth")
    board = await desk.ask(QuoteRequest(eth, eth, Decimal(1), private_send=private_send))
    assert (board.private_send, board.token_out.id) == (private_send, board.token_in.id)
    keys = [row.key for row in board.ranking.rows]
    assert keys == sorted(keys, reverse=True)
    assert keys[0] < 1
    assert {row.quote.type for row in board.ranking.rows} == {"private"}


async def test_a_refusal_of_the_service_comes_through(desk: QuoteDesk, wish: QuoteRequest) -> None:
    with pytest.raises(ApiError, match="AMOUNT_TOO_LOW"):
        await desk.ask(replace(wish, amount=Decimal("0.00000001")))


async def test_limits_are_asked_once_a_minute(
    desk: QuoteDesk, wish: QuoteRequest, clock: ManualClock
) -> None:
    pair = wish.token_in, wish.token_out
    assert desk.known_limits(*pair) is None
    first = await desk.limits(*pair)
    assert await desk.limits(*pair) is first is desk.known_limits(*pair)
    clock.advance(LIMITS_AGE)
    assert desk.known_limits(*pair) is None
    assert await desk.limits(*pair) is not first


async def test_limits_bound_an_amount_before_it_is_asked_for(
    desk: QuoteDesk, wish: QuoteRequest
) -> None:
    limits = await desk.limits(wish.token_in, wish.token_out)
    low = outside_limits(Decimal("0.00000001"), "BTC", limits)
    assert low.startswith("No route takes 0.00000001 BTC. The smallest usable amount is ")
    high = outside_limits(Decimal("20000000"), "BTC", limits)
    assert high.startswith("No route takes 20,000,000 BTC. The largest usable amount is ")
    assert outside_limits(Decimal("0.5"), "BTC", limits) == ""


async def test_a_reverse_board_states_the_smallest_amount_to_arrive(
    desk: QuoteDesk, wish: QuoteRequest
) -> None:
    small = replace(wish, amount=Decimal("0.00001"), receive=True)
    assert (await desk.ask(small)).smallest_usable is None
    bounds = bounds_of(await desk.limits(wish.token_in, wish.token_out), receive=True)
    board = await desk.ask(small)
    assert board.smallest_usable == (bounds.smallest, None)
    said = no_usable_route(board)
    assert said.startswith("No route pays 0.00001 ETH. The smallest usable amount is ")
    assert said.endswith(" ETH.")
    assert (await desk.ask(replace(small, amount=Decimal(2)))).smallest_usable is None


@each_row(
    ("limits", "types", "bounds"),
    [
        ({"cex": ("2", "10"), "private": ("1", "5")}, FLOATING_TYPES, Bounds(1, 10)),
        # No bound is no maximum of zero.
        ({"cex": ("2", "0"), "private": ("1", "5")}, FLOATING_TYPES, Bounds(1, None)),
        ({"dex": ("1", "2")}, FLOATING_TYPES, None),
        ({"cex": ("2", "10"), "private": ("1", "5")}, [RouteType.STANDARD], Bounds(2, 10)),
    ],
)
def test_the_widest_bounds_of_the_asked_routes(
    limits: dict[str, tuple[str, str]], types: Sequence[RouteType], bounds: Bounds | None
) -> None:
    kinds = {name: Limits(min=Decimal(a), max=Decimal(b)) for name, (a, b) in limits.items()}
    assert bounds_of(PairLimits(**kinds), types) == bounds


@each_row(
    ("text", "problem", "place"),
    [
        ("1,5", '"1,5": write 1.5.', 1),
        ("0.1234567", "USDC has 6 decimals. 0.1234567 has 7.", 8),
        ("0", "Type an amount above 0.", 0),
        ("0.000000", "Type an amount above 0.", 0),
        ("", "Type an amount.", 0),
        ("１", '"１" is not part of an amount.', 0),
        ("1e3", "Write all digits, without an exponent.", 1),
        ("-1", "An amount has no sign.", 0),
    ],
)
def test_an_amount_that_is_none_names_the_place(
    text: str, problem: str, place: int, catalog: Catalog
) -> None:
    with pytest.raises(AmountError) as refused:
        typed_amount(text, token(catalog, "usdc"))
    assert (refused.value.message, refused.value.position) == (problem, place)


def test_digits_the_service_cannot_keep_are_announced(catalog: Catalog) -> None:
    amount = typed_amount("0.123456789012345678", token(catalog, "eth"))
    said = "The service keeps 15 digits. It will receive 0.12345678901234568."
    assert (lost_digits(amount), lost_digits(Decimal("0.5"))) == (said, "")


async def test_only_fixed_rates_are_taken_where_only_they_were_asked_for(
    api: PartnerApi, wish: QuoteRequest, clock: ManualClock
) -> None:
    """A service that answers with floating ones gets no order for them."""
    quotes = (await api.get_quotes(wish.query(fixed=False))).quotes
    floating = [one for one in quotes if one.error is None]
    ends = [(one, clock.now() + VALIDITY) for one in floating]
    asked = replace(wish, fixed=True, floating=False)
    none = rank(ends, asked, clock.now())
    assert none.rows == ()
    assert {one.reason for one in none.unusable} == {"its rate is not fixed"}
    for either in (wish, replace(wish, fixed=True)):
        assert len(rank(ends, either, clock.now()).rows) == len(ends) > 1
    (promised, end), *rest = ends
    kept = promised.model_copy(update={"fixed": True})
    ranking = rank([(kept, end), *rest], asked, clock.now())
    assert [row.quote for row in ranking.rows] == [kept]


@each_row("ahead", [90, -90, 2 * 86_400, -2 * 86_400])
async def test_quotes_end_by_the_desks_clock_however_wrong_it_is(
    world: World, catalog: Catalog, wish: QuoteRequest, ahead: float
) -> None:
    own = ManualClock(world.clock.now() + timedelta(seconds=ahead))
    board = await QuoteDesk(world.new_api(clock=own), catalog, own).ask(wish)
    assert board.ranking.best is not None
    for row in board.ranking.rows:
        left = (row.expires_at - own.now()).total_seconds()
        assert VALIDITY.total_seconds() - 2 < left < VALIDITY.total_seconds() + 2
        assert row.quote.valid_until == row.expires_at


async def test_a_clock_that_was_moved_is_told_while_it_is_wrong(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(
        '[profiles.main]\nurl = "https://partner.example/v2"\npartner_id = "partner-first"\n'
    )
    settings = load_settings({}, Home.at(tmp_path), Options(profile="main"))
    own = ManualClock(world.clock.now())
    desk = Desk.open(settings, clock=own, transport=world.network)
    await desk.connect(live_connection(settings), follow=False)
    assert desk.link.clock_problem() is None
    await desk.link.api.health()
    assert desk.link.clock_problem() is None
    for days, said in ((2, "2d00h ahead of"), (-4, "2d00h behind")):
        own._now += timedelta(days=days)
        problem = desk.link.clock_problem()
        assert problem.startswith(f"This machine's clock is {said} the service's:")
    own._now += timedelta(days=2)
    assert desk.link.clock_problem() is None
    await desk.close()


def too_many(retry_after: float | None) -> RateLimited:
    return RateLimited(429, "RATE_LIMIT_EXCEEDED", retry_after=retry_after)


def test_a_refused_question_is_asked_again_in_its_time_and_three_times_at_most() -> None:
    again = AskingAgain()
    again.begin()
    for turn in ("", "2 of 3", "3 of 3"):
        assert again.turn == turn
        again.refused(too_many(20.2), None, 100.0)
        if turn == "3 of 3":
            break
        assert again.words(100.0) == "again in 21 s"
        assert not again.is_due(120.1)
        assert again.is_due(120.2)
        assert not again.is_due(120.2), "once"
        again.begin(by_itself=True)
    assert again.left(100.0) is None


@each_row(
    ("told", "counted", "left"),
    [
        (None, None, None),
        (None, 0.0, None),
        (None, 30.0, 30.0),
        (600.0, 5.0, None),
        (5.0, 30.0, 5.0),
    ],
)
def test_only_a_window_that_somebody_waits_for_is_waited_for(
    told: float | None, counted: float | None, left: float | None
) -> None:
    again = AskingAgain()
    again.begin()
    again.refused(too_many(told), counted, 0.0)
    assert again.left(0.0) == left
    assert again.is_due(1000.0) is False, "long after it nobody is there"


CODES = st.lists(st.from_regex(r"[a-z]{2,4}", fullmatch=True), unique=True, max_size=4)


@st.composite
def all_options(draw: st.DrawFn) -> QuoteOptions:
    fixed = draw(st.booleans())
    legs = draw(CODES)
    cut = draw(st.integers(0, len(legs)))
    percent = st.decimals(0, 4, places=2)
    return QuoteOptions(
        fixed=fixed,
        floating=not fixed or draw(st.booleans()),
        types=draw(st.sampled_from([(), (RouteType.STANDARD,)])),
        providers=tuple(draw(CODES)),
        markup=draw(st.one_of(st.none(), percent)),
        use_xmr=draw(st.sampled_from([None, True])),
        rotation=draw(
            st.one_of(st.none(), st.builds(Rotation, percent, st.integers(1, 100), st.booleans()))
        ),
        in_leg=LegFilter(tuple(legs[:cut]), tuple(legs[cut:])),
    )


@given(all_options())
def test_what_is_written_is_read_as_it_was(options: QuoteOptions) -> None:
    assert read_options(written_options(options)) == options


@each_row(
    ("texts", "field"),
    [
        ({"rates": "cheap"}, "rates"),
        ({"types": "bridge"}, "types"),
        ({"markup": "4.01"}, "markup"),
        ({"markup": "-1"}, "markup"),
        ({"markup": "1", "types": "dex"}, "markup"),
        ({"providers": "aa aa"}, "providers"),
        ({"providers": "aa", "types": "private"}, "providers"),
        ({"providers": "é"}, "providers"),
        ({"in leg": "aa -aa"}, "in leg"),
        ({"out leg": "-"}, "out leg"),
        ({"rotation": "0"}, "rotation"),
        ({"rotation": "101"}, "rotation"),
        ({"rotation": "100.01%"}, "rotation"),
        ({"xmr": "no"}, "xmr"),
        ({"slippage": "51"}, "slippage"),
        ({"slippage": "0.3", "rates": "fixed"}, "slippage"),
        ({"slippage": "0.3", "types": "standard"}, "slippage"),
        ({"account": "two words"}, "account"),
    ],
)
def test_a_wrong_text_is_named(texts: dict[str, str], field: str) -> None:
    with pytest.raises(WishRefused) as refused:
        read_options(texts)
    assert refused.value.field == field


@each_row(
    ("markup", "rotation", "read"),
    [
        ("4", "100 100% strict", Rotation(Decimal(100), 100, fallback=False)),
        ("0", "1 0%", Rotation(Decimal(0), 1, fallback=True)),
    ],
)
def test_the_last_values_inside_the_bounds_are_taken(
    markup: str, rotation: str, read: Rotation
) -> None:
    options = read_options({"markup": markup, "rotation": rotation})
    assert (options.markup, options.rotation) == (Decimal(markup), read)


@each_row(
    ("options", "said"),
    [
        ({"receive": True, "private_send": True}, "states what is sent"),
        ({"receive": True, "types": (RouteType.DEX,)}, "no fixed rate"),
        ({"receive": True, "slippage": Decimal("0.3")}, "alone"),
        ({"floating": False}, "or both"),
    ],
)
def test_contradictions_of_a_wish_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(WishRefused, match=said):
        QuoteRequest(BTC, ETH, Decimal(1), **options)


def test_presets_are_kept_by_name_and_a_bad_file_is_as_good_as_none(tmp_path: Path) -> None:
    presets = QuotePresets(tmp_path / "quote_presets.json")
    options = QuoteOptions(providers=("aa",), markup=Decimal(1))
    presets.put("Mine", options)
    presets.put("other-1", PLAIN)
    assert presets.names() == ["mine", "other-1"]
    assert presets.find("MINE") == options
    assert presets.find("nobody") is None
    for name in ("", "a b", "x" * 25, "-a"):
        with pytest.raises(WishRefused):
            presets.put(name, options)
    presets.path.write_text('{"mine": {"markup": "5"}, "odd": 3, "new": {"colour": "red"}}')
    assert presets.names() == ["mine"]
    assert presets.find("mine") is None
    presets.path.write_text("[" * 100_000)
    assert presets.names() == []


EVERY = QuoteOptions(
    fixed=True,
    types=(RouteType.STANDARD, RouteType.PRIVATE),
    providers=("aa", "bb"),
    markup=Decimal("0.5"),
    use_xmr=True,
    rotation=Rotation(Decimal(7), 3, fallback=True),
    in_leg=LegFilter(("cc",), ("dd",)),
    out_leg=LegFilter((), ("ee", "ff")),
)
PAIR = {("from", BTC.id), ("to", ETH.id)}


@each_row(
    ("wish", "fixed", "cost", "sent"),
    [
        # Plain options send nothing but the question.
        (QuoteRequest(BTC, ETH, Decimal("0.5")), False, "1 quote", {("amount", "0.5")}),
        # Every option is a parameter of its name.
        (
            QuoteRequest.of(EVERY, BTC, ETH, Decimal(1)), True, "2 quotes",
            {
                ("amount", "1"), ("types", "standard"), ("types", "private"), ("fixed", "true"),
                ("markup", "0.5"), ("useXmr", "true"), ("swaps", "aa"), ("swaps", "bb"),
                ("rotatePayoutWallets", "true"), ("deviationThreshold", "7"),
                ("rotationLookback", "3"), ("rotateFallback", "true"),
                ("inLegIncludedSwaps", "cc"), ("inLegExcludedSwaps", "dd"),
                ("outLegExcludedSwaps", "ee"), ("outLegExcludedSwaps", "ff"),
            },
        ),
        (
            QuoteRequest(BTC, ETH, Decimal(2), receive=True), True, "1 quote",
            {("amount", "2"), ("amountType", "receive"), ("fixed", "true")},
        ),
    ],
)  # fmt: skip
def test_every_option_is_a_parameter_of_its_name(
    wish: QuoteRequest, fixed: bool, cost: str, sent: set[tuple[str, str]]
) -> None:
    assert sorted(encode_query(wish.query(fixed=fixed))) == sorted(sent | PAIR)
    assert cost_in_words(wish) == cost


def test_a_private_send_has_no_kind_of_route_and_no_providers() -> None:
    private = QuoteRequest.of(EVERY, ETH, ETH, Decimal(1), private_send=True)
    assert private.providers == ()
    names = {name for name, _ in encode_query(private.private_send_query(fixed=True))}
    assert names.isdisjoint({"types", "swaps"})
    assert options_in_words(PLAIN) == ""


def test_slippage_and_account_go_with_routes_on_chains_alone() -> None:
    """They are kept as typed, sent where they count, and never with what they cannot mean."""
    texts = {"slippage": "0.3", "account": "trading"}
    options = read_options(texts)
    assert (options.slippage, options.account) == (Decimal("0.3"), "trading")
    assert written_options(options) == texts
    assert options_in_words(options) == "slippage 0.3%, paid by trading"
    assert read_options({"slippage": "auto"}).slippage is None
    wish = QuoteRequest.of(options, BTC, ETH, Decimal(1), sender="0xme")
    sent = dict(encode_query(wish.query(fixed=False)))
    assert (sent["slippage"], sent["senderAddress"]) == ("0.3", "0xme")
    assert "slippage" not in dict(encode_query(wish.query(fixed=True)))
    private = QuoteRequest.of(options, ETH, ETH, Decimal(1), private_send=True)
    assert (private.slippage, private.account) == (None, "")
    other = wish.with_options(replace(options, account="second"))
    assert other.sender is None, "another account is another sender"
    assert wish.with_options(replace(options, slippage=Decimal(1))).sender == "0xme"


def test_providers_are_told_by_their_names() -> None:
    options = QuoteOptions(
        providers=("hy", "zz"), in_leg=LegFilter(only=("hy",)), out_leg=LegFilter(without=("hy",))
    )
    names = {"hy": "Halyard"}
    assert options_in_words(options, names.get) == (
        "only Halyard, zz, first leg only Halyard, second leg without Halyard"
    )


def asked(catalog: Catalog, **changes: object) -> Intent:
    sold, bought = TokenFacts.of(token(catalog, "btc")), TokenFacts.of(token(catalog, "eth"))
    return intent(token_in=sold, token_out=bought, **changes)


def test_a_stated_output_is_asked_for_again_as_such(catalog: Catalog, book: AddressBook) -> None:
    reverse = asked(catalog, fixed=True, receive=True, amount_out=Decimal(2))
    plain = asked(catalog)
    known = [
        TrackedOrder(order(one, service_id=f"{at}"), one, None, False, NOW, "list")
        for at, one in enumerate((reverse, plain))
    ]
    lines = recent_lines(newest_intents(known), catalog)
    assert [line.text for line in lines] == ["=2 btc eth", "0.5 btc eth"]
    read = parse_intent_line(lines[0].text, catalog, book)
    assert (read.ready, read.receive, read.amount) == (True, True, 2)


def test_the_same_line_asked_for_years_is_one_and_hides_none(catalog: Catalog) -> None:
    daily = asked(catalog)
    orders = [
        TrackedOrder(order(one, service_id=f"{at:04d}"), one, None, False, NOW, "list")
        for at, one in enumerate(
            replace(daily, recipient=f"0x{day:040x}", frozen_at=NOW - timedelta(days=day))
            for day in range(900)
        )
    ]
    once = asked(catalog, amount_in=Decimal(3), frozen_at=NOW - timedelta(days=950))
    orders.append(TrackedOrder(order(once, service_id="once"), once, None, False, NOW, "list"))
    intents = newest_intents(reversed(orders))
    assert len({_said(one) for one in intents}) == 2
    assert [one.frozen_at for one in intents] == sorted(
        (one.frozen_at for one in intents), reverse=True
    )
    lines = recent_lines(intents, catalog)
    assert [(line.text, line.at) for line in lines] == [
        ("0.5 btc eth", NOW),
        ("3 btc eth", once.frozen_at),
    ]
    assert len(newest_intents(orders, 10)) == 10
    assert newest_intents(orders, 10) == newest_intents(reversed(orders), 10)


def test_what_came_to_nothing_is_asked_for_again_as_it_was_typed(catalog: Catalog) -> None:
    named = asked(catalog, recipient_label="@bob", memo="7", refund_address="bc1qrefund")
    expired = TrackedOrder(order(named, display_status="EXPIRED"), named, None, True, NOW, "list")
    again = same_again(expired, catalog, PLAIN)
    assert came_to_nothing(expired)
    assert (again.request.amount, again.request.token_out.symbol) == (Decimal("0.5"), "ETH")
    assert again.typed == TypedBefore("@bob", "7", "bc1qrefund")
    reverse = asked(catalog, fixed=True, receive=True, amount_out=Decimal(2))
    asked_back = same_again(replace(expired, intent=reverse), catalog, PLAIN)
    assert (asked_back.request.receive, asked_back.request.amount) == (True, 2)
    assert asked_back.typed.recipient == reverse.recipient
    # One that was made elsewhere has the input that the service tells.
    ids = {"in_token_id": named.token_in.id, "out_token_id": named.token_out.id}
    told = order(named, display_status="FAILED", receiver_tag="9", **ids)
    foreign = TrackedOrder(told, None, None, True, NOW, "list")
    again = same_again(foreign, catalog, PLAIN)
    assert (again.typed.recipient, again.typed.memo) == (told.receiver_address, "9")
    gone = replace(foreign, order=told.model_copy(update={"out_token_id": "f" * 24}))
    with pytest.raises(NotAgain):
        same_again(gone, catalog, PLAIN)


@each_row(
    ("display", "standing", "nothing"),
    [
        ("EXPIRED", DepositRelease.RELEASED, True),
        ("FAILED", DepositRelease.FOREIGN, True),
        ("REFUNDED", DepositRelease.RELEASED, True),
        ("WAITING_FOR_DEPOSIT", DepositRelease.DIFFERS, True),
        ("WAITING_FOR_DEPOSIT", DepositRelease.RELEASED, False),
        ("EXCHANGE_IN_PROGRESS", DepositRelease.RELEASED, False),
        ("SWAP_COMPLETED", DepositRelease.RELEASED, False),
        ("SOMETHING_NEW", DepositRelease.RELEASED, False),
    ],
)
def test_only_what_came_to_nothing_is_asked_for_again(
    display: str, standing: DepositRelease, nothing: bool
) -> None:
    told = order(display_status=display)
    assert came_to_nothing(TrackedOrder(told, None, None, False, NOW, "list", standing)) is nothing


def test_markets_are_those_of_the_newest_intents(catalog: Catalog) -> None:
    newer = replace(asked(catalog), token_out=TokenFacts.of(token(catalog, "sol")))
    older = asked(catalog, frozen_at=NOW - timedelta(days=1))
    unknown = replace(older, token_in=replace(older.token_in, id="f" * 24))
    found = markets_of([newer, unknown, older], catalog, 9)
    assert [one.id for one in found] == [
        newer.token_in.id,
        newer.token_out.id,
        older.token_out.id,
    ]
    assert markets_of([newer, older], catalog, 2) == found[:2]


def ended(display, *, of=None, minutes=None, out=None, **changes):
    of = of or intent()
    changes["display_status"] = display.value
    if minutes is not None:
        changes["order_finished_received"] = NOW + timedelta(minutes=minutes)
    if out is not None:
        changes["out_amount"] = Decimal(out)
    return TrackedOrder(order(of, **changes), of, None, True, NOW, "stream")


DONE, BACK, LOST = DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED


QUOTED = intent().amount_out
FOREIGN = TrackedOrder(ended(DONE).order, None, None, True, NOW, "stream")


@each_row(
    ("orders", "record"),
    [
        (
            [
                ended(DONE, minutes=10, out=QUOTED),
                ended(DONE, minutes=12, out=QUOTED * Decimal("0.99")),
                ended(DONE, minutes=60, out=QUOTED * Decimal("1.01")),
                ended(BACK),
                ended(LOST),
            ],
            ProviderRecord(3, 1, 1, Decimal(12), Decimal(14), Decimal(0)),
        ),
        # What has not ended or is not ours counts nowhere.
        (
            [
                ended(DisplayStatus.WAITING_FOR_DEPOSIT),
                ended(DisplayStatus.EXPIRED),
                ended(DONE, in_=None),
                FOREIGN,
            ],
            None,
        ),
        # An order that tells no times is counted all the same.
        ([ended(DONE, out=QUOTED, eta=None)], ProviderRecord(1, 0, 0, None, None, Decimal(0))),
        (
            [ended(DONE, minutes=-5, out=QUOTED)],
            ProviderRecord(1, 0, 0, None, Decimal(14), Decimal(0)),
        ),
    ],
)
def test_a_record_counts_ends_and_takes_medians(orders, record):
    assert provider_records(orders) == ({} if record is None else {"hy": record})


def test_the_record_in_words():
    record = ProviderRecord(3, 1, 0, Decimal(12), Decimal(14), Decimal("-0.5"))
    assert record_lines(record) == [
        ("Your orders there", "3 of 4 completed"),
        ("Refunded", "1"),
        ("Took, median", "12m, said ~14m"),
        ("Paid to the quote", "−0.50%"),
    ]
    assert record_lines(None) == [("Your orders there", "none has ended yet")]
