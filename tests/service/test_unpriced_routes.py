"""Routes without a price: bounds, silence, failures."""

from __future__ import annotations

from decimal import Decimal

import httpx2
import pytest

from service.price_venue import PriceVenue
from service.quote_calls import asked, finish, limits, quotes, refusal
from service.world import (
    BTC,
    ETH,
    UNPRICED,
    USDC,
)
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.quotes import QuoteList, QuoteQuery


async def test_below_one_minimum_only_that_row_has_an_error(api: httpx2.AsyncClient) -> None:
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


async def test_above_one_maximum_only_that_row_has_an_error(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked("6", types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("cc", None),
        ("aa", "above maximum: this route takes 5 BTC or less"),
        ("bb", "above maximum: this route takes 5 BTC or less"),
    ]


@pytest.mark.proves("code AMOUNT_TOO_LOW")
async def test_both_sides_of_the_smallest_amount(api: httpx2.AsyncClient) -> None:
    assert await quotes(api, asked("0.00016667", types="standard"))
    body = await refusal(api, "/quotes", asked("0.00016666", types="standard"), "AMOUNT_TOO_LOW")
    assert "0.00016667 BTC" in body["message"]
    assert body["fields"]["amount"]["value"] == "0.00016666"


async def test_too_low_names_the_smallest_of_the_asked_routes(api: httpx2.AsyncClient) -> None:
    everything = await refusal(api, "/quotes", asked("0.0001"), "AMOUNT_TOO_LOW")
    question = asked("0.0001", types="private")
    private = await refusal(api, "/quotes", question, "AMOUNT_TOO_LOW")
    assert "0.00016667 BTC" in everything["message"]
    bounds = await limits(api, BTC.id, ETH.id)
    assert f"{plain(bounds.private.min.normalize())} BTC" in private["message"]


@pytest.mark.proves("code QUOTE_OVER_LIMIT")
async def test_both_sides_of_the_dollar_cap(api: httpx2.AsyncClient, cc: PriceVenue) -> None:
    """cc itself would take 500,000 USD."""
    assert cc.most == 500_000
    assert any(row.error is None for row in await quotes(api, asked("400000", USDC.id, ETH.id)))
    body = await refusal(
        api, "/quotes", asked("400000.000001", USDC.id, ETH.id), "QUOTE_OVER_LIMIT"
    )
    assert "400000 USDC" in body["message"]
    body = await refusal(
        api,
        "/quotes/private-send",
        {"amount": "400000.000001", "from": USDC.id},
        "QUOTE_OVER_LIMIT",
    )


@pytest.mark.parametrize(
    "filters",
    [{}, {"inLegExcludedSwaps": "cc"}, {"outLegExcludedSwaps": "cc"}],
    ids=lambda filters: next(iter(filters), "none"),
)
@pytest.mark.parametrize("amount", ["0.001", "350000", "450000"])
async def test_a_refused_private_amount_is_told_one_that_is_taken(
    api: httpx2.AsyncClient, cc: PriceVenue, filters: dict[str, str], amount: str
) -> None:
    """Below every minimum, above every maximum, and above the cap of 400,000 USD too."""
    cc.most = Decimal(300_000)
    question = asked(amount, USDC.id, ETH.id, types="private", **filters)
    code = "AMOUNT_TOO_LOW" if amount == "0.001" else "QUOTE_OVER_LIMIT"
    found = await refusal(api, "/quotes", question, code)
    figure = found["message"].removesuffix(" USDC.").rpartition(" ")[2]
    rows = await quotes(api, {**question, "amount": figure})
    assert rows[0].error is None
    if not filters:
        private = (await limits(api, USDC.id, ETH.id)).private
        assert Decimal(figure) == (private.min if amount == "0.001" else private.max)


@pytest.mark.proves("code QUOTE_OVER_LIMIT")
async def test_over_every_maximum(api: httpx2.AsyncClient, cc: PriceVenue) -> None:
    cc.most = Decimal(300_000)
    assert await quotes(api, asked("5", types="standard"))
    body = await refusal(api, "/quotes", asked("5.00000001", types="standard"), "QUOTE_OVER_LIMIT")
    assert "5 BTC" in body["message"]


async def test_the_dollar_cap_needs_a_price(api: httpx2.AsyncClient) -> None:
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


async def test_a_silent_venue_holds_no_private_route_of_others_up(
    service: ServiceParts, clock: ManualClock, cc: PriceVenue
) -> None:
    cc.silent = True
    begin = clock.monotonic()
    best = await finish(clock, service.engine.best_legs(BTC, ETH, Decimal("0.5"), "private"))
    assert clock.monotonic() - begin <= 2.0
    assert best.legs == ("aa", "bb")


@pytest.mark.parametrize("mood", ["failing", "broken"])
async def test_a_failing_venue_costs_its_own_row_only(
    api: httpx2.AsyncClient, aa: PriceVenue, mood: str
) -> None:
    setattr(aa, mood, True)
    rows = await quotes(api, asked())
    lost = [row for row in rows if row.error is not None]
    assert [(row.swap, row.error) for row in lost] == [("aa", "this route could not be priced")]
    assert sum(row.type == "private" for row in rows) == 2


async def test_a_disabled_venue_is_not_asked(api: httpx2.AsyncClient, aa: PriceVenue) -> None:
    aa.enabled = False
    rows = await quotes(api, asked())
    assert {row.swap for row in rows} == {"bb", "cc", None}
    assert aa.asked == 0


async def test_pairs_nobody_trades(api: httpx2.AsyncClient, venue_list: list[PriceVenue]) -> None:
    for venue in venue_list:
        venue.trades = frozenset({"BTC", "XRP"})
    assert await quotes(api, asked()) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


async def test_best_legs_without_the_excluded(service: ServiceParts) -> None:
    engine = service.engine
    best = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard")
    assert (best.legs, best.middle_token_id, best.minutes) == (("aa",), None, 10)
    excluded = frozenset({("aa",)})
    second = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=excluded)
    assert second.legs == ("bb",)
    everybody = frozenset({("aa",), ("bb",), ("cc",)})
    none = await engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=everybody)
    assert none is None
