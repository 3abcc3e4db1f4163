"""What a create may ask beside its quote: refunds, fixed rates, markup and leg filters."""

from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from service.orders_fixtures import (
    BTC,
    EVM,
    XRP,
    XRP_TOKEN,
    Floor,
    caller,
    exchange,
    refused,
    row_of,
    venues_at,
)
from service.venue import PlainVenue
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.service.access import Caller
from swapdesk.service.rate_limits import CountedCall
from swapdesk.service.store.records import RouteChoice, StoredQuote
from swapdesk.service.venues.adapter import Terms, VenueTraits
from swapdesk.wire.account import RateWindows
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import RateClass


@pytest.fixture
def adapters() -> list[PlainVenue]:
    venues = venues_at()
    for venue in venues:
        venue.traits = VenueTraits(fixed=True)
    return venues


async def stored(floor: Floor, *, route: str = "standard", **changes: Any) -> StoredQuote:
    """A quote in the store that differs from a plain one."""
    quote = replace(await floor.quote(route=route), quote_id="", **changes)
    quote = replace(quote, quote_id=f"{floor.rng.getrandbits(96):024x}")
    await floor.store.quotes.save([quote])
    return quote


async def fixed(floor: Floor, route: str = "standard", **changes: Any) -> StoredQuote:
    rates = ("one",) if route == "standard" else ("one", "two")
    return await stored(floor, route=route, fixed=True, rates=rates, **changes)


def create(floor: Floor, quote: StoredQuote, of: Caller | None = None, **body: Any) -> Any:
    return floor.desk.create(of or caller(), exchange(quote, **body), "exchange")


# Refunds


@pytest.mark.parametrize("terms", [{"fixed": True}, {"requires_refund_address": True}])
async def test_a_refund_address_where_one_is_needed(floor: Floor, terms: dict[str, bool]) -> None:
    quote = await stored(floor, **terms)
    await refused(create(floor, quote), field="refundAddress")
    for wrong in (BTC, EVM[:-1] + "b", "nowhere"):
        await refused(create(floor, quote, refund_address=wrong), field="refundAddress")
    assert floor.openings == []
    order = await create(floor, quote, refund_address=EVM)
    assert (order.refund_address, order.fixed) == (EVM, terms.get("fixed", False))


async def test_a_refund_memo_belongs_to_an_address_on_a_chain_with_memos(floor: Floor) -> None:
    quote = await floor.quote(token_in=XRP_TOKEN, amount="500")
    await refused(create(floor, quote, refund_extra_id="7"), field="refundExtraId")
    await refused(
        create(floor, quote, refund_address=XRP, refund_extra_id="x"), field="refundExtraId"
    )
    await refused(
        create(floor, await floor.quote(), refund_address=EVM, refund_extra_id="7"),
        field="refundExtraId",
    )


@pytest.mark.parametrize(
    ("memo", "says"),
    [
        ("007", "Not a destination tag as it is sent. Write it as 7."),
        ("NO MEMO", "Not a destination tag as it is sent. Leave it out."),
        ("4294967296", "A destination tag is at most 4294967295."),
        ("-1", "A destination tag is digits only: character 1 is not one."),
    ],
)
async def test_a_memo_that_cannot_be_sent_as_it_is(floor: Floor, memo: str, says: str) -> None:
    quote = await floor.quote(token_in=XRP_TOKEN, amount="500")
    wrong = await refused(
        create(floor, quote, refund_address=XRP, refund_extra_id=memo), field="refundExtraId"
    )
    problem = (wrong.fields or {})["refundExtraId"]
    assert (problem.message, problem.value) == (says, memo)
    await create(floor, quote, refund_address=XRP, refund_extra_id="4294967295")
    quote = await floor.quote(token_out=XRP_TOKEN)
    wrong = await refused(
        create(floor, quote, to=XRP, destination_tag=memo), field="destinationTag"
    )
    assert (wrong.fields or {})["destinationTag"].message == says
    assert (await create(floor, quote, to=XRP)).receiver_tag is None, "never forced"


async def test_a_payout_memo_only_where_there_are_memos(floor: Floor) -> None:
    await refused(create(floor, await floor.quote(), destination_tag="7"), field="destinationTag")


@pytest.mark.proves("field intermediateRefundAddress")
async def test_an_intermediate_refund_address_is_for_private_routes(floor: Floor) -> None:
    await refused(
        create(floor, await floor.quote(), intermediate_refund_address="x"),
        field="intermediateRefundAddress",
    )
    order = await create(
        floor, await floor.quote(route="private"), intermediate_refund_address="not of Monero"
    )
    assert order.intermediate_refund_address == "not of Monero"
    legs = [leg for venue in floor.adapters for leg in venue.opened]
    assert [leg.refund_address for leg in legs] == [None, None], "never paid to another chain"


async def test_a_private_fixed_order_never_gives_back_the_intermediary(floor: Floor) -> None:
    quote = await fixed(floor, "private")
    kept = derive_address("xmr", bytes(32))
    await create(floor, quote, refund_address=EVM, intermediate_refund_address=kept)
    legs = {leg.key[-3:]: leg for venue in floor.adapters for leg in venue.opened}
    assert legs[":in"].refund_address == EVM
    assert legs["out"].refund_address is None


# Fixed rates


async def test_a_fixed_order_carries_its_terms_to_the_venues(floor: Floor) -> None:
    quote = await fixed(floor, "private", receive=True, markup=Decimal("1.5"), payout_wallet=3)
    order = await create(floor, quote, refund_address=EVM)
    assert order.fixed
    legs = {leg.key[-3:]: leg for venue in floor.adapters for leg in venue.opened}
    first, second = legs[":in"], legs["out"]
    assert (first.terms, first.rate) == (Terms(fixed=True, receive=True), "one")
    assert (second.terms, second.rate) == (Terms(True, True, Decimal("1.5")), "two")
    assert (first.payout_wallet, second.payout_wallet) == (None, 3)


@pytest.mark.proves("code FIXED_RATE_QUOTE_EXPIRED")
async def test_a_fixed_rate_ends_with_its_quote(floor: Floor) -> None:
    promised, in_time = await fixed(floor), await fixed(floor)
    floating = await floor.quote()
    floor.clock.advance(59.999)
    assert (await create(floor, in_time, refund_address=EVM)).fixed
    opened = list(floor.openings)
    floor.clock.advance(0.001)
    await refused(create(floor, promised, refund_address=EVM), ErrorCode.FIXED_RATE_QUOTE_EXPIRED)
    await refused(create(floor, floating), ErrorCode.INVALID_SWAP)
    assert floor.openings == opened


@pytest.mark.parametrize("route", ["standard", "private"])
async def test_a_rate_that_ends_before_its_venue_is_asked(floor: Floor, route: str) -> None:
    promised = await fixed(floor, route)
    floor.venue(promised.legs[0]).trouble.rates_ended = True
    for _ in range(2):
        error = await refused(
            create(floor, promised, refund_address=EVM), ErrorCode.FIXED_RATE_QUOTE_EXPIRED
        )
        assert "Ask for a new quote" in error.message


@pytest.mark.proves("code STATIC_DEPOSIT_IN_USE")
@pytest.mark.parametrize("route", ["standard", "private"])
@pytest.mark.parametrize(
    ("held", "code"),
    [(True, ErrorCode.STATIC_DEPOSIT_IN_USE), (False, ErrorCode.PROVIDER_EXCHANGE_FAILED)],
)
async def test_a_fixed_order_never_falls_back(
    floor: Floor, route: str, held: bool, code: ErrorCode
) -> None:
    quote = await fixed(floor, route)
    trouble = floor.venue(quote.legs[0]).trouble
    trouble.addresses_held, trouble.reject = held, not held
    for _ in range(2):
        await refused(create(floor, quote, refund_address=EVM), code)
    assert [key for key in floor.openings if ":in" in key] == []


async def test_a_fallback_needs_no_refund_address_that_was_not_given(floor: Floor) -> None:
    floor.venue("bb").traits = VenueTraits(requires_refund_address=True)
    floor.venue("aa").trouble.rejections = 2
    assert (await create(floor, await floor.quote())).in_ == "cc"
    assert (await create(floor, await floor.quote(), refund_address=EVM)).in_ == "bb"


async def test_a_fallback_keeps_to_the_providers_and_the_markup_asked_for(floor: Floor) -> None:
    markup = Decimal("1.5")
    quote = await stored(floor, choice=RouteChoice(swaps=("aa", "cc")), markup=markup)
    floor.venue("aa").trouble.reject = True
    order = await create(floor, quote)
    assert (order.in_, order.out_amount) == ("cc", Decimal("0.01628533"))
    assert floor.venue("cc").opened[0].terms.markup == markup
    floor.venue("cc").trouble.reject = True
    last = await stored(floor, choice=RouteChoice(swaps=("aa", "cc")))
    await refused(create(floor, last), ErrorCode.PROVIDER_EXCHANGE_FAILED)


@pytest.mark.proves("code INVALID_SWAP")
async def test_a_filtered_quote_is_refused(floor: Floor) -> None:
    quote = await stored(floor, filtered=True)
    await refused(create(floor, quote), ErrorCode.INVALID_SWAP)


# Markup and filters of the body


async def test_an_equal_markup_changes_nothing(floor: Floor) -> None:
    quote = await stored(floor, markup=Decimal("1.50"))
    order = await create(floor, quote, markup=Decimal("1.5"))
    assert order.out_amount == quote.amount_out


async def test_another_markup_re_prices_a_floating_quote_on_its_venue(floor: Floor) -> None:
    quote = await stored(floor, legs=("bb",))
    order = await create(floor, quote, markup=Decimal(2))
    assert order.in_ == "bb", "the venue that was chosen stays"
    leg = floor.venue("bb").opened[0]
    assert leg.terms == Terms(markup=Decimal(2))
    assert order.out_amount == Decimal("0.01623533")
    assert order.rerouted is False


@pytest.mark.parametrize("body", [{"markup": Decimal(2)}, {"in_leg_excluded_swaps": ["cc"]}])
async def test_a_fixed_quote_keeps_its_markup_and_filters(
    floor: Floor, body: dict[str, Any]
) -> None:
    quote = await fixed(floor, "private")
    await refused(create(floor, quote, refund_address=EVM, **body), ErrorCode.INVALID_SWAP)
    assert floor.openings == []


@pytest.mark.parametrize(("refund", "first"), [(None, "cc"), (EVM, "aa")])
async def test_a_re_priced_route_opens_without_the_refund_address_it_did_not_get(
    floor: Floor, refund: str | None, first: str
) -> None:
    floor.venue("aa").traits = VenueTraits(requires_refund_address=True)
    quote = await stored(floor, route="private", legs=("bb", "cc"))
    order = await create(floor, quote, in_leg_excluded_swaps=["bb"], refund_address=refund)
    row = await row_of(floor, order)
    assert (row.legs[0], order.rerouted) == (first, False)


async def test_filters_that_leave_no_route(floor: Floor) -> None:
    quote = await floor.quote(route="private")
    everyone = ["aa", "bb", "cc"]
    await refused(create(floor, quote, in_leg_excluded_swaps=everyone), ErrorCode.INVALID_SWAP)
    await refused(create(floor, quote, out_leg_included_swaps=["zz"]), field="outLegIncludedSwaps")


async def test_equal_filters_in_another_order_and_filters_of_a_standard_quote(
    floor: Floor,
) -> None:
    choice = RouteChoice(in_included=("aa", "bb"))
    quote = await stored(floor, route="private", choice=choice)
    order = await create(floor, quote, in_leg_included_swaps=["bb", "aa"])
    assert order.out_amount == quote.amount_out
    plain = await fixed(floor)
    assert (
        await create(floor, plain, refund_address=EVM, in_leg_excluded_swaps=["aa"])
    ).in_ == "aa"


# Rotation


async def wallets_of_two(floor: Floor, **choice: Any) -> list[int | None]:
    """What two orders pay from whose quotes drew the same wallet before either existed."""
    rotating = RouteChoice(rotate_payout_wallets=True, **choice)
    quotes = [
        await stored(floor, route="private", legs=("aa", "bb"), payout_wallet=1, choice=rotating)
        for _ in range(2)
    ]
    await asyncio.gather(*(create(floor, quote) for quote in quotes))
    return [leg.payout_wallet for leg in floor.venue("bb").opened]


async def test_a_wallet_used_since_the_quote_with_no_other_left(floor: Floor) -> None:
    floor.venue("bb").traits = VenueTraits(payout_wallets=2)
    await wallets_of_two(floor)
    await refused(wallets_of_two(floor), ErrorCode.INVALID_SWAP)
    assert len(floor.venue("bb").opened) == 2
    assert (await wallets_of_two(floor, rotate_fallback=True))[2:] == [None, None]


async def test_no_two_orders_of_several_processes_pay_from_one_wallet(floor: Floor) -> None:
    """Each process would choose the wallet that the quotes drew, were it alone."""
    floor.venue("bb").traits = VenueTraits(payout_wallets=8)
    other = Floor(floor.path, floor.clock, floor.adapters, random.Random(8))
    rotating = RouteChoice(rotate_payout_wallets=True)
    quotes = [
        await stored(floor, route="private", legs=("aa", "bb"), payout_wallet=1, choice=rotating)
        for _ in range(8)
    ]
    await asyncio.gather(*(create((floor, other)[at % 2], one) for at, one in enumerate(quotes)))
    assert sorted(leg.payout_wallet or 0 for leg in floor.venue("bb").opened) == list(range(8))
    await other.store.close()


async def test_twin_creates_of_several_processes_count_once(floor: Floor) -> None:
    """The window has one left, and that is nobody's reason to refuse a twin."""
    other = Floor(floor.path, floor.clock, floor.adapters, random.Random(8))
    limits = RateWindows(per_minute=1, per_hour=9, per_day=9)
    partner_id = caller().partner.partner_id

    def call() -> CountedCall:
        return CountedCall(partner_id, RateClass.EXCHANGE, limits, floor.clock)

    def create_by(one: Floor, quote: StoredQuote) -> Any:
        return one.desk.create(caller(), exchange(quote), "exchange", call())

    quote, late = await stored(floor), await stored(floor)
    creates = [asyncio.create_task(create_by(one, quote)) for one in (floor, other) * 4]
    waiting = (await asyncio.wait(creates, return_when=asyncio.FIRST_COMPLETED))[1]
    while waiting:
        # The order is open by now; who waits for another process looks again a moment later.
        floor.clock.advance(0.2)
        waiting = (await asyncio.wait(waiting, timeout=0.05))[1]
    assert len({each.result().service_id for each in creates}) == 1
    assert len(floor.openings) == 1
    used = await floor.store.calls.usage(partner_id, RateClass.EXCHANGE)
    assert [row.used for row in used] == [
        1,
        1,
        1,
    ]
    await refused(create_by(other, late), ErrorCode.RATE_LIMIT_EXCEEDED)
    assert await floor.store.orders.of_quote(partner_id, late.quote_id) is None
    await other.store.close()


async def test_twin_creates_of_the_last_wallet_are_one_order(floor: Floor) -> None:
    floor.venue("bb").traits = VenueTraits(payout_wallets=1)
    choice = RouteChoice(rotate_payout_wallets=True)
    quote = await stored(floor, route="private", legs=("aa", "bb"), payout_wallet=0, choice=choice)
    one, other = await asyncio.gather(create(floor, quote), create(floor, quote))
    assert one == other
    assert len(floor.venue("bb").opened) == 1


@pytest.mark.parametrize("tags", [({}, {"destination_tag": ""}), ({"destination_tag": ""}, {})])
async def test_an_empty_memo_is_none_also_when_a_create_is_repeated(
    floor: Floor, tags: tuple[dict[str, str], dict[str, str]]
) -> None:
    quote, (first, second) = await stored(floor), tags
    assert await create(floor, quote, **first) == await create(floor, quote, **second)


async def test_the_same_request_written_otherwise_returns_the_order(floor: Floor) -> None:
    quote = await stored(floor, route="private", choice=RouteChoice(in_included=("aa", "bb")))
    first = await create(floor, quote, markup=Decimal("1.0"), in_leg_included_swaps=["aa", "bb"])
    again = await create(floor, quote, markup=Decimal(1), in_leg_included_swaps=["bb", "aa"])
    assert again == first
    await refused(create(floor, quote, markup=Decimal("1.1")), ErrorCode.INVALID_SWAP)
