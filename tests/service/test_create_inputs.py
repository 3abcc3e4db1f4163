"""What each field of the bodies that create an order does, in both operations alike."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from service.orders_fixtures import (
    ALICE,
    BITCOIN,
    BOB,
    BTC,
    ETH,
    EVM,
    XRP,
    XRP_TOKEN,
    Floor,
    caller,
    row_of,
)
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.service.access import Partner
from swapdesk.service.errors import ServiceError
from swapdesk.service.store.records import StoredQuote
from swapdesk.service.venues.adapter import LegOrder
from swapdesk.wire.encoding.codec import decode_json, encode_json, validate
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.operations import BY_NAME
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

BOTH = ("exchange", "private_send")
MARKUP = Decimal("1.5")

in_both = pytest.mark.parametrize("purpose", BOTH)


async def quoted(
    floor: Floor, purpose: str, token_in: Token = ETH, token_out: Token = BITCOIN
) -> StoredQuote:
    """The best private route: over two tokens for an exchange, over one for a private send."""
    out = token_out if purpose == "exchange" else token_in
    amount = "0.5" if token_in is ETH else "500"
    return await floor.quote(
        route="private", amount=amount, token_in=token_in, token_out=out, purpose=purpose
    )


async def create(floor: Floor, quote: StoredQuote, **body: Any) -> Order:
    """Create by the names of the wire, as a request would."""
    receivers = {ETH.id: EVM, BITCOIN.id: BTC, XRP_TOKEN.id: XRP}
    sent = {"quoteId": quote.quote_id, "addressTo": receivers[quote.token_out_id], **body}
    model = BY_NAME[f"create_{quote.purpose}"].body
    request: Any = validate(
        model, decode_json(encode_json(sent), max_bytes=1 << 16), side="service"
    )
    return await floor.desk.create(caller(), request, quote.purpose)


def leg(floor: Floor, order: Order, place: str) -> LegOrder:
    (found,) = [
        each
        for venue in floor.adapters
        for each in venue.opened
        if each.key == f"{order.service_id}:{place}"
    ]
    return found


@pytest.mark.proves(
    "input create_exchange quoteId",
    "input create_exchange addressTo",
    "input create_private_send quoteId",
    "input create_private_send addressTo",
)
@in_both
async def test_an_order_is_that_of_its_quote(floor: Floor, purpose: str) -> None:
    quotes = [await quoted(floor, purpose, token_in) for token_in in (ETH, XRP_TOKEN)]
    for quote in quotes:
        to = {ETH.id: EVM, BITCOIN.id: BTC, XRP_TOKEN.id: XRP}[quote.token_out_id]
        order = await create(floor, quote, quoteId=quote.quote_id, addressTo=to)
        assert (order.in_token_id, order.out_token_id) == (quote.token_in_id, quote.token_out_id)
        symbols = {token.id: token.symbol for token in (ETH, BITCOIN, XRP_TOKEN)}
        named = (symbols[quote.token_in_id], symbols[quote.token_out_id])
        assert (order.in_symbol, order.out_symbol) == named
        assert (order.in_amount, order.out_amount) == (quote.amount_in, quote.amount_out)
        assert (await row_of(floor, order)).legs == quote.legs
        assert order.receiver_address == to
        assert leg(floor, order, "out").payout_address == to


@pytest.mark.proves(
    "input create_exchange destinationTag", "input create_private_send destinationTag"
)
@in_both
async def test_a_payout_memo_reaches_the_last_venue(floor: Floor, purpose: str) -> None:
    for memo in ("4711", None, ""):
        token_in = ETH if purpose == "exchange" else XRP_TOKEN
        quote = await quoted(floor, purpose, token_in, XRP_TOKEN)
        order = await create(floor, quote, destinationTag=memo)
        assert order.receiver_tag == (memo or None), "an empty text is none"
        assert leg(floor, order, "out").payout_tag == (memo or None)
        assert leg(floor, order, "in").payout_tag != "4711"


@pytest.mark.proves(
    "input create_exchange refundAddress",
    "input create_exchange refundExtraId",
    "input create_private_send refundAddress",
    "input create_private_send refundExtraId",
)
@in_both
async def test_a_refund_address_and_its_memo_reach_the_first_venue(
    floor: Floor, purpose: str
) -> None:
    for body in ({"refundAddress": XRP, "refundExtraId": "7"}, {"refundAddress": XRP}, {}):
        order = await create(floor, await quoted(floor, purpose, XRP_TOKEN), **body)
        opened = leg(floor, order, "in")
        given = (body.get("refundAddress"), body.get("refundExtraId"))
        assert (opened.refund_address, opened.refund_tag) == given
        assert order.refund_address == given[0]
        assert leg(floor, order, "out").refund_address is None


@pytest.mark.proves(
    "input create_exchange intermediateRefundAddress",
    "input create_private_send intermediateRefundAddress",
)
@in_both
async def test_an_intermediate_refund_address_reaches_the_second_venue(
    floor: Floor, purpose: str
) -> None:
    kept = derive_address("xmr", bytes(32))
    for address in (kept, None):
        quote = await quoted(floor, purpose)
        order = await create(floor, quote, intermediateRefundAddress=address)
        assert order.intermediate_refund_address == address
        assert leg(floor, order, "in").refund_address is None
        assert leg(floor, order, "out").refund_address == address


async def without_ids(floor: Floor, order: Order) -> tuple[Any, ...]:
    """Everything of an order that two equal creates have in common."""
    drawn = {"id", "service_id", "deposit_address", "deposit_tag", "out_deposit_address"}
    return order.model_dump(exclude=drawn), (await row_of(floor, order)).legs


@pytest.mark.proves("input create_exchange walletInfo", "input create_private_send walletInfo")
@in_both
async def test_wallet_info_is_part_of_the_request_alone(floor: Floor, purpose: str) -> None:
    """It is kept nowhere and told to nobody, but another one is another request."""
    quote = await quoted(floor, purpose)
    told = await create(floor, quote, walletInfo="Wallet 9.1")
    silent = await create(floor, await quoted(floor, purpose))
    assert await without_ids(floor, told) == await without_ids(floor, silent)
    for place in ("in", "out"):
        assert "Wallet 9.1" not in repr(leg(floor, told, place))
    assert await create(floor, quote, walletInfo="Wallet 9.1") == told
    with pytest.raises(ServiceError) as error:
        await create(floor, quote, walletInfo="Wallet 9.2")
    assert error.value.code is ErrorCode.INVALID_SWAP


@pytest.mark.proves("input create_exchange markup", "input create_private_send markup")
@in_both
async def test_a_markup_lowers_what_is_paid_out(floor: Floor, purpose: str) -> None:
    quote = await quoted(floor, purpose)
    order = await create(floor, quote, markup=MARKUP)
    assert leg(floor, order, "out").terms.markup == MARKUP
    assert leg(floor, order, "in").terms.markup == 0
    paid = order.out_amount / quote.amount_out
    assert abs(paid - (1 - MARKUP / 100)) < Decimal("0.0001")


FILTERS = {
    "inLegIncludedSwaps": (["cc"], ("cc", "aa")),
    "inLegExcludedSwaps": (["aa", "bb"], ("cc", "aa")),
    "outLegIncludedSwaps": (["cc"], ("aa", "cc")),
    "outLegExcludedSwaps": (["aa", "bb"], ("aa", "cc")),
}
"""Codes of a filter, and the legs it leaves as the best."""


@pytest.mark.proves(
    "input create_exchange inLegIncludedSwaps",
    "input create_exchange inLegExcludedSwaps",
    "input create_exchange outLegIncludedSwaps",
    "input create_exchange outLegExcludedSwaps",
    "input create_private_send inLegIncludedSwaps",
    "input create_private_send inLegExcludedSwaps",
    "input create_private_send outLegIncludedSwaps",
    "input create_private_send outLegExcludedSwaps",
)
@pytest.mark.parametrize("name", FILTERS)
@in_both
async def test_filters_of_the_legs(floor: Floor, purpose: str, name: str) -> None:
    codes, legs = FILTERS[name]
    quote = await quoted(floor, purpose)
    assert set(quote.legs) == {"aa", "bb"}
    order = await create(floor, quote, **{name: codes})
    assert (await row_of(floor, order)).legs == legs


@in_both
@pytest.mark.parametrize(
    ("token", "spelled"),
    [
        pytest.param(ETH, str.lower, id="no checksum"),
        pytest.param(BITCOIN, str.upper, id="upper case"),
        pytest.param(XRP_TOKEN, str, id="shared, with another memo"),
    ],
)
async def test_the_deposit_address_of_an_order_is_no_place_to_pay_to(
    floor: Floor, purpose: str, token: Token, spelled: Callable[[str], str]
) -> None:
    """Whoever's order it is, for 48 hours from its creation."""

    async def refused(field: str, quote: StoredQuote, **body: Any) -> dict[str, FieldProblem]:
        with pytest.raises(ServiceError) as caught:
            await create(floor, quote, **{field: address}, **body)
        assert caught.value.code is ErrorCode.VALIDATION_ERROR
        assert "deposit address" in caught.value.fields[field].message
        return caught.value.fields

    amounts = {ETH.id: "0.5", BITCOIN.id: "0.05", XRP_TOKEN.id: "500"}
    other = BITCOIN if token is ETH else ETH

    async def sold_and_bought(of: Partner = ALICE) -> tuple[StoredQuote, StoredQuote]:
        """Quotes that sell the token, and that buy it."""
        sells, buys = (token, other), (other, token)
        if purpose == "private_send":
            sells = buys = (token, token)
        quotes = [
            await floor.quote(
                of=of,
                route="private",
                purpose=purpose,
                amount=amounts[pair[0].id],
                token_in=pair[0],
                token_out=pair[1],
            )
            for pair in (sells, buys)
        ]
        return quotes[0], quotes[1]

    of_bob, _ = await sold_and_bought(BOB)
    to = {ETH.id: EVM, BITCOIN.id: BTC, XRP_TOKEN.id: XRP}[of_bob.token_out_id]
    request: Any = ExchangeRequest(quote_id=of_bob.quote_id, address_to=to)
    order = await floor.desk.create(caller(BOB), request, of_bob.purpose)
    address = spelled(order.deposit_address)
    sells, buys = await sold_and_bought()
    memo = "4711" if token is XRP_TOKEN else None
    assert order.deposit_tag != "4711"
    assert (await refused("addressTo", buys, destinationTag=memo)).keys() == {"addressTo"}
    assert (await refused("refundAddress", sells)).keys() == {"refundAddress"}
    # What is refused uses no quote up.
    assert (await create(floor, sells)).receiver_address != address
    floor.clock.advance(48 * 3600 + 0.002)
    sells, buys = await sold_and_bought()
    assert (await create(floor, buys, addressTo=address)).receiver_address == address
    assert (await create(floor, sells, refundAddress=address)).refund_address == address
