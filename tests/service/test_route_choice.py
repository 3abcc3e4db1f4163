"""Which providers a route may use, and over what it may hop (contract 6.15 to 6.17)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from service.http_calls import small_service
from service.price_venue import PriceVenue
from service.quote_calls import asked, quotes, refusal, stored_quote
from service.terms_world import COPY_OF_XMR, MONERO, XMR
from service.world import BTC, CHAINS, ETH, FIRST, INTERMEDIARIES, SOL, TOKENS
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.records import RouteChoice
from swapdesk.service.venues.adapter import CentralizedVenue, VenueTraits
from swapdesk.wire.quotes import PrivateSendQuery, Quote, QuoteQuery

FILTERS = (
    "inLegIncludedSwaps",
    "inLegExcludedSwaps",
    "outLegIncludedSwaps",
    "outLegExcludedSwaps",
)


async def legs_of(service: ServiceParts, rows: list[Quote]) -> set[tuple[str, ...]]:
    found = set()
    for row in rows:
        stored = await stored_quote(service, row.quote_id)
        found.add(stored.legs)
    return found


@pytest.mark.proves("input get_quotes swaps")
async def test_swaps_allow_and_leave_private_routes_out(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(swaps=["bb", "cc"]))
    assert [(row.type, row.swap) for row in rows] == [("standard", "bb"), ("standard", "cc")]
    stored = await stored_quote(service, rows[0].quote_id)
    assert stored.choice == RouteChoice(swaps=("bb", "cc"))
    assert await quotes(api, asked(swaps="bb", types="private")) == []


@pytest.mark.parametrize("codes", ["zz", ["aa", "zz"], "AA"])
async def test_unknown_codes_are_refused(api: httpx2.AsyncClient, codes: Any) -> None:
    for name in ("swaps", *FILTERS):
        body = await refusal(api, "/quotes", {**asked(), name: codes})
        wrong = codes[-1] if isinstance(codes, list) else codes
        assert body["fields"] == {
            name: {"message": f"'{wrong}' is no provider code", "value": codes}
        }
    for name in FILTERS:
        parameters = {"amount": "0.5", "from": BTC.id, name: codes}
        body = await refusal(api, "/quotes/private-send", parameters)
        assert body["fields"].keys() == {name}


@pytest.mark.parametrize(
    "more",
    [
        {"useXmr": "true"},
        {"rotatePayoutWallets": "true", "deviationThreshold": "0"},
        *({name: "bb"} for name in FILTERS),
    ],
    ids=lambda more: next(iter(more)),
)
async def test_wishes_for_private_routes_change_no_standard_row(
    api: httpx2.AsyncClient, more: dict[str, str]
) -> None:
    async def rows(**wished: str) -> list[dict[str, Any]]:
        found = await quotes(api, asked(types="standard", **wished))
        return [row.model_dump(exclude={"quote_id"}) for row in found]

    assert await rows(**more) == await rows() != []


async def test_a_provider_that_is_not_routing(api: httpx2.AsyncClient, aa: PriceVenue) -> None:
    """It cannot be asked for; to exclude it is harmless."""
    aa.enabled = False
    body = await refusal(api, "/quotes", asked(swaps="aa"))
    assert body["fields"] == {
        "swaps": {"message": "'aa' is a provider that is not routing", "value": "aa"}
    }
    assert len(await quotes(api, asked(types="private", inLegExcludedSwaps="aa"))) == 2


@pytest.mark.proves(
    "input get_quotes inLegIncludedSwaps",
    "input get_quotes inLegExcludedSwaps",
    "input get_quotes outLegIncludedSwaps",
    "input get_quotes outLegExcludedSwaps",
    "input get_private_send_quotes inLegIncludedSwaps",
    "input get_private_send_quotes inLegExcludedSwaps",
    "input get_private_send_quotes outLegIncludedSwaps",
    "input get_private_send_quotes outLegExcludedSwaps",
)
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"inLegIncludedSwaps": "aa"}, {("aa", "bb"), ("aa", "cc")}),
        ({"inLegExcludedSwaps": ["aa", "bb"]}, {("cc", "aa"), ("cc", "bb")}),
        ({"outLegIncludedSwaps": ["cc"]}, {("aa", "cc"), ("bb", "cc")}),
        ({"outLegExcludedSwaps": ["cc", "aa"]}, {("aa", "bb"), ("cc", "bb")}),
        ({"inLegIncludedSwaps": "aa", "outLegExcludedSwaps": "bb"}, {("aa", "cc")}),
        (
            {"inLegIncludedSwaps": ["aa", "bb"], "inLegExcludedSwaps": "bb"},
            {("aa", "bb"), ("aa", "cc")},
        ),
    ],
)
async def test_filters_of_the_legs(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    filters: dict[str, Any],
    wanted: set[tuple[str, ...]],
) -> None:
    rows = await quotes(api, asked(types="private", **filters))
    assert await legs_of(service, rows) == wanted
    standard = await quotes(api, asked(types="standard", **filters))
    assert {row.swap for row in standard} == {"aa", "bb", "cc"}, "ignored by standard routes"
    parameters = {"amount": "0.5", "from": BTC.id, **filters}
    sends = (await api.get("/quotes/private-send", params=parameters)).json()["quotes"]
    assert len(sends) == len(wanted)


@pytest.mark.parametrize(
    "filters",
    [
        {"inLegIncludedSwaps": "aa", "inLegExcludedSwaps": "aa"},
        {"inLegIncludedSwaps": "aa", "outLegIncludedSwaps": "aa"},
        {"outLegExcludedSwaps": ["aa", "bb", "cc"]},
    ],
)
async def test_filters_that_leave_nobody_say_so(
    api: httpx2.AsyncClient, filters: dict[str, Any]
) -> None:
    (row,) = await quotes(api, asked(types="private", **filters))
    assert row.error == "no exchange is left for both legs by the leg filters"
    assert row.quote_id is None
    rows = await quotes(api, asked(**filters))
    assert [row.type for row in rows] == ["standard"] * 3 + ["private"]
    parameters = {"amount": "0.5", "from": BTC.id, **filters}
    assert (await api.get("/quotes/private-send", params=parameters)).json()["quotes"] == []


async def test_a_fallback_keeps_the_filters(service: ServiceParts) -> None:
    choice = RouteChoice(in_excluded=("aa",), out_included=("cc",), swaps=None)
    found = await service.engine.best_legs(BTC, ETH, Decimal("0.5"), "private", choice=choice)
    assert found.legs == ("bb", "cc")
    only = RouteChoice(swaps=("cc",))
    found = await service.engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", choice=only)
    assert found.legs == ("cc",)


# The hop


def hopping(
    clock: ManualClock, store: Any, intermediaries: tuple[str, ...]
) -> tuple[ServiceParts, Caller]:
    venues: list[CentralizedVenue] = [
        PriceVenue("aa"),
        PriceVenue("bb"),
        PriceVenue("cc", traits=VenueTraits(requires_refund_address=True)),
    ]
    parts = small_service(
        clock,
        store,
        venues=venues,
        chains=[*CHAINS, MONERO],
        tokens=[*TOKENS, COPY_OF_XMR, XMR],
        intermediaries=intermediaries,
    )
    return parts, Caller(FIRST, FIRST.keys[0])


async def middles(parts: ServiceParts, caller: Caller, **more: Any) -> set[str]:
    query = QuoteQuery.model_validate(asked(types=["private"], **more))
    answer = await parts.engine.quotes(caller, query)
    found = set()
    for row in answer.quotes:
        if row.quote_id is None:
            found.add(str(row.error))
            continue
        stored = await stored_quote(parts, row.quote_id)
        assert stored.middle_token_id is not None
        found.add(stored.middle_token_id)
    return found


@pytest.mark.proves("input get_quotes useXmr", "input get_private_send_quotes useXmr")
async def test_xmr_pins_the_hop(clock: ManualClock, store: Any) -> None:
    parts, caller = hopping(clock, store, (*INTERMEDIARIES, COPY_OF_XMR.id, XMR.id))
    assert await middles(parts, caller, useXmr="true") == {XMR.id}
    for more in ({}, {"useXmr": "false"}):
        assert await middles(parts, caller, **more) <= {
            *INTERMEDIARIES,
            COPY_OF_XMR.id,
            XMR.id,
        }
    send = PrivateSendQuery.model_validate({"amount": "0.5", "from": BTC.id, "useXmr": "true"})
    for item in (await parts.engine.private_send(caller, send)).quotes:
        stored = await stored_quote(parts, item.quote_id)
        assert stored.middle_token_id == XMR.id
        assert stored.choice.use_xmr is True
    choice = RouteChoice(use_xmr=True)
    best = await parts.engine.best_legs(BTC, SOL, Decimal("0.5"), "private", choice=choice)
    assert best.middle_token_id == XMR.id


@pytest.mark.parametrize("ends", [{}, {"to": XMR.id}])
async def test_no_route_over_xmr_says_so(
    clock: ManualClock, store: Any, ends: dict[str, str]
) -> None:
    hops = INTERMEDIARIES if not ends else (*INTERMEDIARIES, XMR.id)
    parts, caller = hopping(clock, store, hops)
    found = await middles(parts, caller, useXmr="true", **ends)
    assert found == {"no route passes through XMR"}


async def test_a_route_says_when_it_needs_a_refund_address(clock: ManualClock, store: Any) -> None:
    """The venue that takes the deposit decides; between the legs nobody has such an address."""
    parts, caller = hopping(clock, store, INTERMEDIARIES)
    query = QuoteQuery.model_validate(asked())
    needs: dict[tuple[str, ...], bool | None] = {}
    for row in (await parts.engine.quotes(caller, query)).quotes:
        stored = await stored_quote(parts, row.quote_id)
        assert stored.requires_refund_address == row.requires_refund_address
        needs[stored.legs] = row.requires_refund_address
    assert len(needs) == 7
    assert not any(legs[1:] == ("cc",) for legs in needs)
    assert {legs for legs, needed in needs.items() if needed} == {
        ("cc",),
        ("cc", "aa"),
        ("cc", "bb"),
    }


# Rows that must not be used


async def test_a_route_that_loses_too_much_is_filtered(
    api: httpx2.AsyncClient, service: ServiceParts, aa: PriceVenue, bb: PriceVenue
) -> None:
    """30 % of the dollars may go, not more; filtered rows stand between usable and unpriced."""
    aa.fee, aa.network = Decimal("0.31"), Decimal(0)
    bb.failing = True
    rows = await quotes(api, asked(types="standard"))
    assert [(row.swap, row.filtered, bool(row.error)) for row in rows] == [
        ("cc", False, False),
        ("aa", True, False),
        ("bb", False, True),
    ]
    assert rows[1].filtered_reason == "price_impact"
    assert rows[0].filtered_reason is None
    stored = await stored_quote(service, rows[1].quote_id)
    assert stored.filtered
    excluded = frozenset({("cc",), ("bb",)})
    none = await service.engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=excluded)
    assert none is None
    aa.fee = Decimal("0.30")
    rows = await quotes(api, asked(types="standard"))
    assert not any(row.filtered for row in rows)


async def test_filtered_private_sends_are_left_out(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    for venue in (aa, bb, cc):
        venue.fee = Decimal("0.2")
    rows = await quotes(api, asked(types="private"))
    assert rows
    assert all(row.filtered for row in rows)
    parameters = {"amount": "0.5", "from": BTC.id}
    assert (await api.get("/quotes/private-send", params=parameters)).json() == {
        "total": 0,
        "quotes": [],
    }
