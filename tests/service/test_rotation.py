"""Rotation of payout wallets (contract 6.18 to 6.20)."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.price_venue import PriceVenue
from service.quote_calls import asked, quotes, refusal, stored_quote, with_stored
from service.test_store import order
from service.world import BTC, ETH, FIRST
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.pricing import RECENT
from swapdesk.service.store.records import RouteChoice, StoredGroup
from swapdesk.service.venues.adapter import CentralizedVenue, VenueTraits

WALLETS = 2
EXHAUSTED = "every payout wallet in reach of the best price was used lately"


NUMBERS = count(1)


async def paid(
    service: ServiceParts, *wallets: tuple[str, int | None], ago: timedelta = timedelta(0)
) -> None:
    """Private orders of the first partner that these venues paid from their wallets."""
    at = service.clock.now() - ago
    rows = [
        replace(
            order(next(NUMBERS), partner_id=FIRST.partner_id),
            created=at,
            route="private",
            legs=("xx", code),
            payout_wallet=wallet,
        )
        for code, wallet in wallets
    ]
    group = StoredGroup(rows[0].service_id, FIRST.partner_id, at, "ethereum")
    await service.store.groups.begin(group, rows)


EVERY_WALLET = [(code, wallet) for code in ("aa", "bb") for wallet in range(WALLETS)]


@pytest.fixture
def venue_list(aa: PriceVenue, bb: PriceVenue, cc: PriceVenue) -> list[CentralizedVenue]:
    """aa and bb have two hot wallets each; cc does not tell its wallets apart."""
    aa.traits = bb.traits = VenueTraits(payout_wallets=WALLETS)
    return [aa, bb, cc]


def rotating(**more: Any) -> dict[str, Any]:
    return asked(types="private", rotatePayoutWallets="true", **more)


async def chosen(
    api: httpx2.AsyncClient, service: ServiceParts, parameters: dict[str, Any], times: int = 1
) -> set[tuple[str, int | None]]:
    """Payout venue and wallet of every usable row, asked for so often."""
    found = set()
    rows = [row for _ in range(times) for row in await quotes(api, parameters)]
    for row, stored in await with_stored(service, rows):
        assert row.quote_id is not None, row.error
        found.add((stored.legs[-1], stored.payout_wallet))
    return found


@pytest.mark.proves("input get_quotes rotatePayoutWallets")
async def test_a_rotated_route_names_an_unused_wallet(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    drawn = await chosen(api, service, rotating(), times=8)
    assert drawn == {("aa", 0), ("aa", 1), ("bb", 0), ("bb", 1)}
    await paid(service, ("aa", 0), ("bb", 1))
    for _ in range(4):
        assert await chosen(api, service, rotating()) == {("aa", 1), ("bb", 0)}


async def test_without_rotation_no_wallet_is_named(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    found = await chosen(api, service, asked(types="private"))
    assert found == {("aa", None), ("bb", None), ("cc", None)}


@pytest.mark.proves("input get_quotes rotatePayoutWallets")
async def test_standard_routes_are_not_rotated(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, {**rotating(), "types": "standard"})
    assert [row.swap for row in rows] == ["aa", "bb", "cc"]
    assert await chosen(api, service, {**rotating(), "types": "standard"}) == {
        ("aa", None),
        ("bb", None),
        ("cc", None),
    }


@pytest.mark.proves("input get_quotes rotateFallback")
async def test_strict_rotation_that_is_exhausted(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    await paid(service, *EVERY_WALLET)
    (row,) = await quotes(api, rotating())
    assert (row.error, row.quote_id) == (EXHAUSTED, None)
    assert await chosen(api, service, rotating(rotateFallback="true")) == {
        ("aa", None),
        ("bb", None),
        ("cc", None),
    }
    rows = await quotes(api, asked(rotatePayoutWallets="true"))
    assert [(row.type, bool(row.error)) for row in rows] == [
        ("standard", False),
        ("standard", False),
        ("standard", False),
        ("private", True),
    ]


@pytest.mark.proves("input get_quotes rotationLookback")
@pytest.mark.parametrize(("lookback", "left"), [("1", {0, 1}), ("2", {0}), ("100", {0})])
async def test_only_so_many_orders_count(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    lookback: str,
    left: set[int],
) -> None:
    """The newest order paid from nowhere known, the one before it from aa's second wallet."""
    await paid(service, ("aa", 1), ago=timedelta(minutes=2))
    await paid(service, ("cc", None), ago=timedelta(minutes=1))
    drawn = await chosen(api, service, rotating(rotationLookback=lookback), times=10)
    assert {wallet for code, wallet in drawn if code == "aa"} == left


@pytest.mark.parametrize(("age", "left"), [(RECENT, {0}), (RECENT + timedelta(seconds=1), {0, 1})])
async def test_only_a_day_counts(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    age: timedelta,
    left: set[int],
) -> None:
    await paid(service, ("aa", 1), ago=age)
    drawn = await chosen(api, service, rotating(), times=10)
    assert {wallet for code, wallet in drawn if code == "aa"} == left


@pytest.mark.proves("input get_quotes deviationThreshold")
@pytest.mark.parametrize(
    ("threshold", "left"), [("0", set()), ("1", set()), ("3", {"bb"}), ("100", {"bb"})]
)
async def test_a_rotated_route_may_deviate_only_so_far(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    bb: PriceVenue,
    threshold: str,
    left: set[str],
) -> None:
    """bb pays about two percent less than the best, which is exhausted."""
    bb.fee = Decimal("0.024")
    await paid(service, ("aa", 0), ("aa", 1))
    parameters = rotating(deviationThreshold=threshold, inLegExcludedSwaps="bb")
    if not left:
        (row,) = await quotes(api, parameters)
        assert row.error == EXHAUSTED
        return
    assert {code for code, _ in await chosen(api, service, parameters)} == left


async def test_the_usual_threshold_is_five_percent(
    api: httpx2.AsyncClient, service: ServiceParts, bb: PriceVenue
) -> None:
    await paid(service, ("aa", 0), ("aa", 1))
    parameters = rotating(inLegExcludedSwaps="bb")
    bb.fee = Decimal("0.05")
    assert all(row.error is None for row in await quotes(api, parameters))
    bb.fee = Decimal("0.08")
    (row,) = await quotes(api, parameters)
    assert row.error == EXHAUSTED


async def test_a_fallback_needs_rotation(api: httpx2.AsyncClient) -> None:
    for path, parameters in (
        ("/quotes", asked(types="private", rotateFallback="true")),
        ("/quotes/private-send", {"amount": "0.5", "from": BTC.id, "rotateFallback": "true"}),
    ):
        body = await refusal(api, path, parameters)
        assert body["fields"] == {
            "rotateFallback": {"message": "needs rotatePayoutWallets=true", "value": "true"}
        }
        del parameters["rotateFallback"]
        more = {"deviationThreshold": "100", "rotationLookback": "1", "rotateFallback": "false"}
        answer = await api.get(path, params={**parameters, **more})
        assert answer.status_code == 200, "without rotation the others count for nothing"


@pytest.mark.proves("input get_private_send_quotes rotatePayoutWallets")
async def test_private_sends_are_rotated(api: httpx2.AsyncClient, service: ServiceParts) -> None:
    parameters = {"amount": "0.5", "from": BTC.id, "rotatePayoutWallets": "true"}
    items = (await api.get("/quotes/private-send", params=parameters)).json()["quotes"]
    assert items
    for item in items:
        stored = await stored_quote(service, item["quoteId"])
        assert stored.payout_wallet in (0, 1)
        assert stored.choice == RouteChoice(rotate_payout_wallets=True)
    await paid(service, *EVERY_WALLET)
    answer = await api.get("/quotes/private-send", params=parameters)
    assert answer.json() == {"total": 0, "quotes": []}


@pytest.mark.proves(
    "input get_private_send_quotes deviationThreshold",
    "input get_private_send_quotes rotationLookback",
    "input get_private_send_quotes rotateFallback",
)
@pytest.mark.parametrize(
    ("more", "left"),
    [
        ({}, {"bb"}),
        ({"deviationThreshold": "1"}, set()),
        ({"deviationThreshold": "3"}, {"bb"}),
        ({"deviationThreshold": "1", "rotateFallback": "true"}, {"aa", "bb", "cc"}),
        ({"rotationLookback": "1"}, {"aa", "bb"}),
        ({"rotationLookback": "2"}, {"bb"}),
    ],
)
async def test_bounds_of_the_rotation_of_private_sends(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    bb: PriceVenue,
    more: dict[str, str],
    left: set[str],
) -> None:
    """bb pays about two percent less than aa, whose two wallets paid the last two orders."""
    bb.fee = Decimal("0.024")
    await paid(service, ("aa", 0), ago=timedelta(minutes=2))
    await paid(service, ("aa", 1), ago=timedelta(minutes=1))
    parameters = {"amount": "0.5", "from": BTC.id, "rotatePayoutWallets": "true", **more}
    parameters["inLegExcludedSwaps"] = "bb"
    answer = await api.get("/quotes/private-send", params=parameters)
    paid_by = set()
    for item in answer.json()["quotes"]:
        stored = await stored_quote(service, item["quoteId"])
        paid_by.add(stored.legs[-1])
    assert paid_by == left


async def test_another_route_for_an_order_is_rotated_too(
    service: ServiceParts,
) -> None:
    async def found(choice: RouteChoice) -> Any:
        return await service.engine.best_legs(
            BTC, ETH, Decimal("0.5"), "private", choice=choice, partner_id=FIRST.partner_id
        )

    choice = RouteChoice(rotate_payout_wallets=True)
    await paid(service, ("aa", 1))
    best = await found(choice)
    assert (best.legs[-1], best.payout_wallet) in {("aa", 0), ("bb", 0), ("bb", 1)}
    await paid(service, *EVERY_WALLET)
    assert await found(choice) is None
    assert (await found(replace(choice, rotate_fallback=True))).payout_wallet is None
