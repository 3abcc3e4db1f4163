"""Quotes, private-send quotes and pair limits, over HTTP and at the engine."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any

import httpx
import pytest

from service.price_venue import PriceVenue
from service.world import (
    AS_SECOND,
    BTC,
    BY_PARTNER_ID,
    CHAIN_ONLY,
    CHAINS,
    DISABLED,
    ETH,
    FIRST,
    INTERMEDIARIES,
    ON_DARK,
    PARTNERS,
    SECOND,
    SOL,
    TOKENS,
    UNKNOWN_TOKEN,
    UNPRICED,
    USDC,
    USDC_SOL,
    XRP,
)
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.app import ServiceParts
from swapdesk.service.assembly import assemble
from swapdesk.service.quoting.engine import QUOTE_VALID
from swapdesk.service.quoting.pricing import PRIVATE_ROWS
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.pair_limits import PairLimits
from swapdesk.wire.quotes import PrivateSendQuoteList, Quote, QuoteList, QuoteQuery

Parameters = dict[str, Any]


@pytest.fixture
def aa() -> PriceVenue:
    return PriceVenue("aa", fee=Decimal("0.004"))


@pytest.fixture
def bb() -> PriceVenue:
    return PriceVenue("bb", fee=Decimal("0.006"), least=Decimal(10), minutes=Decimal(7))


@pytest.fixture
def cc() -> PriceVenue:
    return PriceVenue("cc", fee=Decimal("0.010"), most=Decimal(500_000))


@pytest.fixture
def venue_list(aa: PriceVenue, bb: PriceVenue, cc: PriceVenue) -> list[CentralizedVenue]:
    return [cc, aa, bb]


def asked(amount: str = "0.5", from_: str = BTC.id, to: str = ETH.id, **more: Any) -> Parameters:
    return {"amount": amount, "from": from_, "to": to, **more}


async def quotes(api: httpx.AsyncClient, parameters: Parameters) -> list[Quote]:
    answer = await api.get("/quotes", params=parameters)
    assert answer.status_code == 200, answer.text
    found = decode(QuoteList, answer.content, side="client")
    assert found.total == len(found.quotes)
    return found.quotes


async def refusal(api: httpx.AsyncClient, path: str, parameters: Parameters) -> dict[str, Any]:
    """The body of a refusal, with its status."""
    answer = await api.get(path, params=parameters)
    body: dict[str, Any] = {**answer.json(), "status": answer.status_code}
    return body


async def finish(clock: ManualClock, work: Coroutine[Any, Any, Any]) -> Any:
    """The result of ``work``, with the clock moved on whenever nothing else happens."""
    task = asyncio.ensure_future(work)
    while not task.done():
        for _ in range(40):
            await asyncio.sleep(0)
        if not task.done():
            clock.advance(0.05)
    return task.result()


# Rows


async def test_standard_and_private_rows(api: httpx.AsyncClient) -> None:
    rows = await quotes(api, asked())
    standard = [row for row in rows if row.type == "standard"]
    private = [row for row in rows if row.type == "private"]
    assert [row.swap for row in standard] == ["aa", "bb", "cc"]
    assert len(private) == 6
    for row in rows:
        assert row.error is None
        assert row.amount_in == Decimal("0.5")
        assert row.net_amount_out == row.amount_out
        assert row.amount_out_usd is not None
        assert row.min is not None
        assert row.max is not None
        assert row.min <= Decimal("0.5") <= row.max
        assert not row.fixed
        assert not row.filtered
        assert row.fee_usd is None
        assert row.amount_in_usd is None
    assert standard[0].swap_name == "Venue aa"
    assert standard[0].amount_out == Decimal("9.959666666666666666")
    assert standard[0].duration == 10


async def test_private_rows_name_no_provider(api: httpx.AsyncClient) -> None:
    body = (await api.get("/quotes", params=asked(types="private"))).json()
    for row in body["quotes"]:
        assert not {"swap", "swapName", "logoUrl", "supportsSignatures"} & row.keys()
        assert row["netAmountOut"] == row["amountOut"]


async def test_private_route_has_two_venues_and_the_best_hop(
    api: httpx.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(types="private"))
    pairs = set()
    for row in rows:
        assert row.quote_id is not None
        stored = await service.store.get_quote(FIRST.partner_id, row.quote_id)
        assert stored is not None
        first, second = stored.legs
        assert first != second
        pairs.add(stored.legs)
        assert stored.middle_token_id in (XRP.id, SOL.id)
        assert stored.middle_amount is not None
        assert stored.minutes == row.duration
        other = XRP if stored.middle_token_id == SOL.id else SOL
        alternative = await over(service, stored.legs, other.id)
        assert stored.amount_out >= alternative
    assert len(pairs) == len(rows)


async def over(service: ServiceParts, legs: tuple[str, ...], middle_id: str) -> Decimal:
    """What half a BTC pays over this hop, computed leg by leg."""
    middle = service.catalog.token(middle_id)
    first, second = (service.venues.by_code(code) for code in legs)
    assert middle is not None
    assert first is not None
    assert second is not None
    into: Any = await first.quote(BTC, middle, Decimal("0.5"))
    out: Any = await second.quote(middle, ETH, into.amount_out)
    return quantize(out.amount_out, ETH.decimals, up=False)


@pytest.fixture
def many_venues() -> list[CentralizedVenue]:
    return [PriceVenue(f"v{n}", fee=Decimal(n) / 1000) for n in range(1, 8)]


async def test_private_rows_are_bounded(
    clock: ManualClock,
    store: Any,
    many_venues: list[CentralizedVenue],
) -> None:
    parts = assemble(
        clock, random.Random(1), store, CHAINS, TOKENS, many_venues, PARTNERS, INTERMEDIARIES
    )
    caller = Caller(FIRST, FIRST.keys[0])
    query = QuoteQuery.model_validate(asked(types=["private"]))
    answer = await parts.engine.quotes(caller, query)
    assert len(answer.quotes) == PRIVATE_ROWS == 24
    best = await parts.engine.best_legs(BTC, ETH, Decimal("0.5"), "private")
    assert best is not None
    assert answer.quotes[0].amount_out == best.amount_out
    assert set(best.legs) == {"v1", "v2"}


async def test_quotes_are_stored_for_their_partner(
    api: httpx.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    (row, *_) = await quotes(api, asked(types="standard"))
    assert row.quote_id is not None
    stored = await service.store.get_quote(FIRST.partner_id, row.quote_id)
    assert stored is not None
    assert (stored.purpose, stored.route, stored.legs) == ("exchange", "standard", ("aa",))
    assert (stored.amount_in, stored.amount_out) == (row.amount_in, row.amount_out)
    assert stored.amount_in_usd == 30000
    assert stored.expires == row.valid_until == clock.now() + QUOTE_VALID
    assert await service.store.get_quote(SECOND.partner_id, row.quote_id) is None


async def test_quote_ids_are_drawn_anew(api: httpx.AsyncClient) -> None:
    first = await quotes(api, asked())
    second = await quotes(api, asked())
    drawn = [row.quote_id for row in first + second]
    assert len(set(drawn)) == len(drawn)
    assert drawn != sorted(str(one) for one in drawn)


async def test_partner_id_may_quote(anyone: httpx.AsyncClient, service: ServiceParts) -> None:
    answer = await anyone.get("/quotes", params=asked(), headers=BY_PARTNER_ID)
    row = answer.json()["quotes"][0]
    assert await service.store.get_quote(FIRST.partner_id, row["quoteId"]) is not None


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ("standard", {"standard"}),
        ("private", {"private"}),
        (["standard", "private"], {"standard", "private"}),
        (["standard", "dex"], {"standard"}),
        ("dex", set()),
    ],
)
async def test_types(api: httpx.AsyncClient, types: Any, found: set[str]) -> None:
    assert {row.type for row in await quotes(api, asked(types=types))} == found


@pytest.mark.parametrize(
    ("sort", "attribute"),
    [
        ("amountOut", "amount_out"),
        ("amountOutUsd", "amount_out_usd"),
        ("amountIn", "amount_in"),
        ("duration", "duration"),
    ],
)
async def test_sorting(api: httpx.AsyncClient, cc: PriceVenue, sort: str, attribute: str) -> None:
    cc.failing = True
    ascending = await quotes(api, asked(types="standard", sort=sort, sortOrder="asc"))
    descending = await quotes(api, asked(types="standard", sort=sort))
    for rows, reverse in ((ascending, False), (descending, True)):
        assert [row.swap for row in rows if row.error] == ["cc"]
        assert rows[-1].error
        values = [getattr(row, attribute) for row in rows[:-1]]
        assert values == sorted(values, reverse=reverse)
    default = await quotes(api, asked(types="standard"))
    assert [row.swap for row in default] == ["aa", "bb", "cc"]


async def test_rows_without_the_sorted_figure_come_after_the_others(
    api: httpx.AsyncClient,
) -> None:
    rows = await quotes(api, asked("1", ETH.id, UNPRICED.id, sort="amountOutUsd"))
    assert rows
    assert {row.amount_out_usd for row in rows} == {None}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sort", "price"),
        ("sort", "amountout"),
        ("sortOrder", "up"),
        ("types", "fixed"),
        ("types", "standard,private"),
        ("types", ""),
        ("slippage", "101"),
        ("slippage", "-1"),
        ("senderAddress", "a" * 201),
        ("receiverAddress", "a" * 201),
        ("from", "BTC"),
        ("to", "x" * 24),
        ("fixed", "true"),
        ("amountType", "receive"),
        ("markup", "1"),
        ("useXmr", "true"),
        ("swaps", "aa"),
    ],
)
async def test_parameters_of_quotes(api: httpx.AsyncClient, name: str, value: str) -> None:
    body = await refusal(api, "/quotes", {**asked(), name: value})
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {name}


async def test_accepted_parameters_without_effect_on_these_routes(
    api: httpx.AsyncClient,
) -> None:
    plainly = await quotes(api, asked())
    more = asked(slippage="100", senderAddress="a" * 200, receiverAddress="0xabc")
    assert [row.amount_out for row in await quotes(api, more)] == [
        row.amount_out for row in plainly
    ]


async def test_required_parameters(api: httpx.AsyncClient) -> None:
    body = await refusal(api, "/quotes", {})
    assert body["fields"] == {name: {"message": "is required"} for name in ("amount", "from", "to")}
    body = await refusal(api, "/quotes/private-send", {})
    assert body["fields"].keys() == {"amount", "from"}
    body = await refusal(api, "/minMax", {})
    assert body["fields"].keys() == {"tokenIdFrom", "tokenIdTo"}


# Amounts

BAD_AMOUNTS = [
    "１２",
    "1,5",
    "1e3",
    "NaN",
    "Infinity",
    "-1",
    "+1",
    "0x10",
    "1" * 10_240,
    "0." + "1" * 41,
    "1.",
    ".5",
    "01",
    " 1",
    "1 000",
    "1_000",
    "½",
    "٣",
    "null",
    "",
]


@pytest.mark.parametrize("amount", BAD_AMOUNTS)
@pytest.mark.parametrize("path", ["/quotes", "/quotes/private-send"])
async def test_amounts_that_are_none(api: httpx.AsyncClient, path: str, amount: str) -> None:
    parameters = asked(amount)
    if path.endswith("send"):
        del parameters["to"]
    body = await refusal(api, path, parameters)
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {"amount"}


@pytest.mark.parametrize("amount", ["0", "0.0", "0.00000000"])
async def test_nothing_cannot_be_swapped(api: httpx.AsyncClient, amount: str) -> None:
    body = await refusal(api, "/quotes", asked(amount))
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {"amount"}


@pytest.mark.parametrize("amount", ["0", "0.0"])
async def test_nothing_sent_privately_is_too_low(api: httpx.AsyncClient, amount: str) -> None:
    parameters = {"amount": amount, "from": BTC.id}
    body = await refusal(api, "/quotes/private-send", parameters)
    assert (body["status"], body["code"]) == (422, "AMOUNT_TOO_LOW")
    assert body["fields"]["amount"]["value"] == amount


@pytest.mark.parametrize("path", ["/quotes", "/quotes/private-send"])
async def test_decimals_of_the_token(api: httpx.AsyncClient, path: str) -> None:
    parameters = asked("0.12345678")
    if path.endswith("send"):
        del parameters["to"]
    assert (await api.get(path, params=parameters)).status_code == 200
    body = await refusal(api, path, {**parameters, "amount": "0.123456789"})
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"] == {"amount": {"message": "BTC has 8 decimals", "value": "0.123456789"}}


async def test_amounts_are_answered_exactly(api: httpx.AsyncClient) -> None:
    amount = "1.000000000000000001"
    answer = await api.get("/quotes", params=asked(amount, ETH.id, BTC.id))
    assert f'"amountIn":{amount},' in answer.text
    for row in decode(QuoteList, answer.content, side="client").quotes:
        assert row.amount_out is not None
        assert -int(row.amount_out.as_tuple().exponent) <= BTC.decimals


# Tokens


@pytest.mark.parametrize(
    ("token_id", "code"),
    [
        (UNKNOWN_TOKEN, "TOKEN_NOT_FOUND"),
        (DISABLED.id, "TOKEN_DISABLED"),
        (ON_DARK.id, "TOKEN_DISABLED"),
    ],
)
async def test_tokens_that_cannot_be_swapped(
    api: httpx.AsyncClient, token_id: str, code: str
) -> None:
    for parameters, path, side in (
        (asked(from_=token_id), "/quotes", "from"),
        (asked(to=token_id), "/quotes", "to"),
        ({"amount": "1", "from": token_id}, "/quotes/private-send", "from"),
        ({"tokenIdFrom": token_id, "tokenIdTo": BTC.id}, "/minMax", "from"),
        ({"tokenIdFrom": BTC.id, "tokenIdTo": token_id}, "/minMax", "to"),
    ):
        body = await refusal(api, path, parameters)
        assert (body["status"], body["code"]) == (404, code)
        assert f"'{side}'" in body["message"]
        assert "fields" not in body


@pytest.mark.parametrize("types", [None, "standard", ["private", "standard"], ["private", "dex"]])
async def test_one_token_on_both_sides(api: httpx.AsyncClient, types: Any) -> None:
    parameters = asked(to=BTC.id.upper())
    if types is not None:
        parameters["types"] = types
    body = await refusal(api, "/quotes", parameters)
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {"to"}


async def test_one_token_on_both_sides_privately(
    api: httpx.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(to=BTC.id, types="private"))
    assert len(rows) == 6
    for row in rows:
        assert row.quote_id is not None
        stored = await service.store.get_quote(FIRST.partner_id, row.quote_id)
        assert stored is not None
        assert stored.purpose == "private_send"


async def test_private_send_needs_the_token_to_support_it(api: httpx.AsyncClient) -> None:
    for path, parameters in (
        ("/quotes/private-send", {"amount": "100", "from": USDC_SOL.id}),
        ("/quotes", asked("100", USDC_SOL.id, USDC_SOL.id, types="private")),
    ):
        body = await refusal(api, path, parameters)
        assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
        assert body["fields"].keys() == {"from"}


async def test_tokens_without_centralized_routes(api: httpx.AsyncClient) -> None:
    assert await quotes(api, asked("100", ETH.id, CHAIN_ONLY.id)) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": ETH.id, "tokenIdTo": CHAIN_ONLY.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


async def test_the_intermediary_is_never_an_end(
    api: httpx.AsyncClient, service: ServiceParts
) -> None:
    for row in await quotes(api, asked("1000", XRP.id, ETH.id, types="private")):
        assert row.quote_id is not None
        stored = await service.store.get_quote(FIRST.partner_id, row.quote_id)
        assert stored is not None
        assert stored.middle_token_id == SOL.id


# Private send


async def test_private_send(api: httpx.AsyncClient, service: ServiceParts) -> None:
    answer = await api.get(
        "/quotes/private-send",
        params={"amount": "0.5", "from": BTC.id, "refundAddress": "bc1qrefund"},
    )
    found = decode(PrivateSendQuoteList, answer.content, side="client")
    assert found.total == len(found.quotes) == 6
    outs = [row.amount_out for row in found.quotes]
    assert outs == sorted(outs, reverse=True)
    for row in found.quotes:
        assert row.type == "private"
        assert row.amount_in == Decimal("0.5")
        assert row.amount_out < row.amount_in
        assert row.min is not None
        assert row.max is not None
        assert row.min <= row.amount_in <= row.max
        stored = await service.store.get_quote(FIRST.partner_id, row.quote_id)
        assert stored is not None
        assert (stored.purpose, stored.route) == ("private_send", "private")
        assert stored.token_in_id == stored.token_out_id == BTC.id


@pytest.mark.parametrize(
    ("name", "value"), [("refundAddress", "a" * 201), ("to", ETH.id), ("types", "private")]
)
async def test_parameters_of_private_send(api: httpx.AsyncClient, name: str, value: str) -> None:
    parameters = {"amount": "0.5", "from": BTC.id, name: value}
    body = await refusal(api, "/quotes/private-send", parameters)
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {name}


# Venues that do not price


async def test_below_one_minimum_only_that_row_has_an_error(api: httpx.AsyncClient) -> None:
    """bb takes 10 USD of BTC or more, the others 20."""
    rows = await quotes(api, asked("0.0003", types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("bb", None),
        ("aa", "below minimum: this route takes 0.00033334 BTC or more"),
        ("cc", "below minimum: this route takes 0.00033334 BTC or more"),
    ]
    for row in rows[1:]:
        assert row.quote_id is None
        assert row.amount_out is None
        assert row.net_amount_out is None
        assert row.min == Decimal("0.00033334")


async def test_above_one_maximum_only_that_row_has_an_error(api: httpx.AsyncClient) -> None:
    rows = await quotes(api, asked("6", types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("cc", None),
        ("aa", "above maximum: this route takes 5 BTC or less"),
        ("bb", "above maximum: this route takes 5 BTC or less"),
    ]


async def test_both_sides_of_the_smallest_amount(api: httpx.AsyncClient) -> None:
    assert await quotes(api, asked("0.00016667", types="standard"))
    body = await refusal(api, "/quotes", asked("0.00016666", types="standard"))
    assert (body["status"], body["code"]) == (422, "AMOUNT_TOO_LOW")
    assert "0.00016667 BTC" in body["message"]
    assert body["fields"]["amount"]["value"] == "0.00016666"


async def test_too_low_names_the_smallest_of_the_asked_routes(api: httpx.AsyncClient) -> None:
    everything = await refusal(api, "/quotes", asked("0.0001"))
    private = await refusal(api, "/quotes", asked("0.0001", types="private"))
    assert everything["code"] == private["code"] == "AMOUNT_TOO_LOW"
    assert "0.00016667 BTC" in everything["message"]
    bounds = await limits(api, BTC.id, ETH.id)
    assert bounds.private is not None
    assert f"{plain(bounds.private.min.normalize())} BTC" in private["message"]


async def test_both_sides_of_the_dollar_cap(api: httpx.AsyncClient, cc: PriceVenue) -> None:
    """cc itself would take 500,000 USD."""
    assert cc.most == 500_000
    assert any(row.error is None for row in await quotes(api, asked("400000", USDC.id, ETH.id)))
    body = await refusal(api, "/quotes", asked("400000.000001", USDC.id, ETH.id))
    assert (body["status"], body["code"]) == (422, "QUOTE_OVER_LIMIT")
    assert "400000 USDC" in body["message"]
    body = await refusal(api, "/quotes/private-send", {"amount": "400000.000001", "from": USDC.id})
    assert (body["status"], body["code"]) == (422, "QUOTE_OVER_LIMIT")


async def test_over_every_maximum(api: httpx.AsyncClient, cc: PriceVenue) -> None:
    cc.most = Decimal(300_000)
    assert await quotes(api, asked("5", types="standard"))
    body = await refusal(api, "/quotes", asked("5.00000001", types="standard"))
    assert (body["status"], body["code"]) == (422, "QUOTE_OVER_LIMIT")
    assert "5 BTC" in body["message"]


async def test_the_dollar_cap_needs_a_price(api: httpx.AsyncClient) -> None:
    rows = await quotes(api, asked("450000", UNPRICED.id, ETH.id, types="standard"))
    assert [row.swap for row in rows if row.error is None] == ["cc"]


async def test_a_silent_venue_costs_its_own_row_only(
    service: ServiceParts, first: Caller, clock: ManualClock, aa: PriceVenue
) -> None:
    aa.silent = True
    query = QuoteQuery.model_validate(asked(types=["standard"]))
    answer: QuoteList = await finish(clock, service.engine.quotes(first, query))
    assert [row.swap for row in answer.quotes] == ["bb", "cc", "aa"]
    lost = answer.quotes[-1]
    assert lost.error in ("no answer within 1.5 s", "no answer within 1.6 s")


async def test_silence_everywhere_ends_after_two_seconds(
    service: ServiceParts, first: Caller, clock: ManualClock, venue_list: list[PriceVenue]
) -> None:
    for venue in venue_list:
        venue.silent = True
    query = QuoteQuery.model_validate(asked())
    begin = clock.monotonic()
    answer: QuoteList = await finish(clock, service.engine.quotes(first, query))
    assert clock.monotonic() - begin < 2.3
    assert {row.error for row in answer.quotes} == {"no answer within 2 s"}
    assert [row.type for row in answer.quotes].count("private") == 1
    assert all(row.quote_id is None for row in answer.quotes)


@pytest.mark.parametrize("mood", ["failing", "broken"])
async def test_a_failing_venue_costs_its_own_row_only(
    api: httpx.AsyncClient, aa: PriceVenue, mood: str
) -> None:
    setattr(aa, mood, True)
    rows = await quotes(api, asked())
    lost = [row for row in rows if row.error is not None]
    assert [(row.swap, row.error) for row in lost] == [("aa", "this route could not be priced")]
    assert sum(row.type == "private" for row in rows) == 2


async def test_a_disabled_venue_is_not_asked(api: httpx.AsyncClient, aa: PriceVenue) -> None:
    aa.enabled = False
    rows = await quotes(api, asked())
    assert {row.swap for row in rows} == {"bb", "cc", None}
    assert aa.asked == 0


async def test_pairs_nobody_trades(api: httpx.AsyncClient, venue_list: list[PriceVenue]) -> None:
    for venue in venue_list:
        venue.trades = frozenset({"BTC", "XRP"})
    assert await quotes(api, asked()) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


async def test_best_legs_without_the_excluded(service: ServiceParts) -> None:
    engine = service.engine
    best = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard")
    assert best is not None
    assert (best.legs, best.middle_token_id, best.minutes) == (("aa",), None, 10)
    excluded = frozenset({("aa",)})
    second = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=excluded)
    assert second is not None
    assert second.legs == ("bb",)
    everybody = frozenset({("aa",), ("bb",), ("cc",)})
    none = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=everybody)
    assert none is None


# Limits of a pair


async def limits(api: httpx.AsyncClient, from_: str, to: str) -> PairLimits:
    answer = await api.get("/minMax", params={"tokenIdFrom": from_, "tokenIdTo": to})
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"cex", "dex", "private"}
    return decode(PairLimits, answer.content, side="client")


@pytest.mark.parametrize(
    ("token_in", "token_out"),
    [(BTC, ETH), (ETH, BTC), (USDC, USDC_SOL), (XRP, ETH), (USDC, SOL), (UNPRICED, BTC)],
    ids=lambda token: token.symbol,
)
async def test_what_limits_promise_quotes_do(
    api: httpx.AsyncClient, token_in: Any, token_out: Any
) -> None:
    found = await limits(api, token_in.id, token_out.id)
    assert found.dex is None
    unit = Decimal(1).scaleb(-token_in.decimals)
    for route, bucket in (("standard", found.cex), ("private", found.private)):
        assert bucket is not None
        assert 0 < bucket.min < bucket.max
        for amount, out in ((bucket.min, bucket.min_out), (bucket.max, bucket.max_out)):
            rows = await quotes(api, asked(plain(amount), token_in.id, token_out.id, types=route))
            assert rows[0].error is None
            assert rows[0].amount_out == out
        for amount, code in (
            (bucket.min - unit, "AMOUNT_TOO_LOW"),
            (bucket.max + unit, "QUOTE_OVER_LIMIT"),
        ):
            body = await refusal(
                api,
                "/quotes",
                asked(plain(amount), token_in.id, token_out.id, types=route),
            )
            assert (body["status"], body["code"]) == (422, code)


async def test_limits_are_the_widest_over_all_venues(api: httpx.AsyncClient) -> None:
    found = await limits(api, USDC.id, ETH.id)
    assert found.cex is not None
    assert (found.cex.min, found.cex.max) == (10, 400_000)
    assert found.private is not None
    assert found.private.min > 10


async def test_sides_by_cex_id(api: httpx.AsyncClient) -> None:
    assert await limits(api, "BTC", "eth") == await limits(api, BTC.id, ETH.id.upper())
    body = await refusal(api, "/minMax", {"tokenIdFrom": "BTC", "tokenIdTo": "NOPE"})
    assert (body["status"], body["code"]) == (404, "TOKEN_NOT_FOUND")


@pytest.mark.parametrize("to", [BTC.id, BTC.id.upper(), "BTC", "btc"])
async def test_limits_of_one_token_with_itself(api: httpx.AsyncClient, to: str) -> None:
    body = await refusal(api, "/minMax", {"tokenIdFrom": BTC.id, "tokenIdTo": to})
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {"tokenIdTo"}


async def test_limits_hold_while_prices_move(
    api: httpx.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """A first leg that pays 1 % less a moment later still reaches the second one's minimum."""
    found = await limits(api, BTC.id, ETH.id)
    assert found.private is not None
    for venue in (aa, bb, cc):
        venue.fee += Decimal("0.01")
    rows = await quotes(api, asked(plain(found.private.min), types="private"))
    assert rows[0].error is None


async def test_partners_get_the_same_prices(api: httpx.AsyncClient) -> None:
    mine = await quotes(api, asked())
    answer = await api.get("/quotes", params=asked(), headers=AS_SECOND)
    theirs = decode(QuoteList, answer.content, side="client").quotes
    assert [row.amount_out for row in mine] == [row.amount_out for row in theirs]
    assert not {row.quote_id for row in mine} & {row.quote_id for row in theirs}
