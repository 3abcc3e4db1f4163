"""Rotation of payout wallets (contract 6.18 to 6.20)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.new_store import open_new
from service.price_venue import PriceVenue
from service.quote_calls import asked, quotes, refusal, stored_quote
from service.world import BTC, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.private_bounds import RECENT
from swapdesk.service.store.database import Writer
from swapdesk.service.store.records import RecentPayouts, RouteChoice
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.service.venues.adapter import CentralizedVenue, VenueTraits

WALLETS = 2
EXHAUSTED = "every payout wallet in reach of the best price was used lately"


class RememberingStore(SqliteStore):
    """A store whose recent orders a test states: each is a venue, its wallet and its time."""

    def __init__(self, path: Path, writer: type[Writer]) -> None:
        super().__init__(path, writer)
        self.orders: list[tuple[str, int | None, datetime]] = []

    async def recent_payouts(self, partner_id: str, since: datetime, limit: int) -> RecentPayouts:
        assert partner_id == FIRST.partner_id
        recent = sorted(
            (each for each in self.orders if each[2] >= since), key=lambda each: each[2]
        )
        wallets = tuple((code, wallet or 0) for code, wallet, _ in recent[::-1][:limit])
        return RecentPayouts(partner_id, since, limit, wallets)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RememberingStore]:
    opened = open_new(tmp_path / "service.db", RememberingStore)
    yield opened
    await opened.close()


@pytest.fixture
def venue_list(aa: PriceVenue, bb: PriceVenue, cc: PriceVenue) -> list[CentralizedVenue]:
    """aa and bb have two hot wallets each; cc does not tell its wallets apart."""
    aa.traits = bb.traits = VenueTraits(payout_wallets=WALLETS)
    return [aa, bb, cc]


def rotating(**more: Any) -> dict[str, Any]:
    return asked(types="private", rotatePayoutWallets="true", **more)


async def chosen(
    api: httpx2.AsyncClient, service: ServiceParts, parameters: dict[str, Any]
) -> set[tuple[str, int | None]]:
    """Payout venue and wallet of every usable row."""
    found = set()
    for row in await quotes(api, parameters):
        assert row.quote_id is not None, row.error
        stored = await stored_quote(service, row.quote_id)
        found.add((stored.legs[-1], stored.payout_wallet))
    return found


@pytest.mark.proves("input get_quotes rotatePayoutWallets")
async def test_a_rotated_route_names_an_unused_wallet(
    api: httpx2.AsyncClient, service: ServiceParts, store: RememberingStore, clock: ManualClock
) -> None:
    drawn: set[tuple[str, int | None]] = set()
    for _ in range(8):
        drawn |= await chosen(api, service, rotating())
    assert drawn == {("aa", 0), ("aa", 1), ("bb", 0), ("bb", 1)}
    store.orders += [("aa", 0, clock.now()), ("bb", 1, clock.now())]
    for _ in range(4):
        assert await chosen(api, service, rotating()) == {("aa", 1), ("bb", 0)}


async def test_without_rotation_no_wallet_is_named(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    found = await chosen(api, service, asked(types="private"))
    assert found == {("aa", None), ("bb", None), ("cc", None)}


@pytest.mark.proves("input get_quotes rotatePayoutWallets")
async def test_standard_routes_are_not_rotated(
    api: httpx2.AsyncClient, service: ServiceParts, store: RememberingStore
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
    api: httpx2.AsyncClient, service: ServiceParts, store: RememberingStore, clock: ManualClock
) -> None:
    store.orders += [(code, wallet, clock.now()) for code in ("aa", "bb") for wallet in (0, 1)]
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
    store: RememberingStore,
    clock: ManualClock,
    lookback: str,
    left: set[int],
) -> None:
    """The newest order paid from nowhere known, the one before it from aa's second wallet."""
    store.orders += [
        ("aa", 1, clock.now() - timedelta(minutes=2)),
        ("cc", None, clock.now() - timedelta(minutes=1)),
    ]
    drawn: set[tuple[str, int | None]] = set()
    for _ in range(10):
        drawn |= await chosen(api, service, rotating(rotationLookback=lookback))
    assert {wallet for code, wallet in drawn if code == "aa"} == left


@pytest.mark.parametrize(("age", "left"), [(RECENT, {0}), (RECENT + timedelta(seconds=1), {0, 1})])
async def test_only_a_day_counts(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    store: RememberingStore,
    clock: ManualClock,
    age: timedelta,
    left: set[int],
) -> None:
    store.orders.append(("aa", 1, clock.now() - age))
    drawn: set[tuple[str, int | None]] = set()
    for _ in range(10):
        drawn |= await chosen(api, service, rotating())
    assert {wallet for code, wallet in drawn if code == "aa"} == left


@pytest.mark.proves("input get_quotes deviationThreshold")
@pytest.mark.parametrize(
    ("threshold", "left"), [("0", set()), ("1", set()), ("3", {"bb"}), ("100", {"bb"})]
)
async def test_a_rotated_route_may_deviate_only_so_far(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    store: RememberingStore,
    clock: ManualClock,
    bb: PriceVenue,
    threshold: str,
    left: set[str],
) -> None:
    """bb pays about two percent less than the best, which is exhausted."""
    bb.fee = Decimal("0.024")
    store.orders += [("aa", 0, clock.now()), ("aa", 1, clock.now())]
    parameters = rotating(deviationThreshold=threshold, inLegExcludedSwaps="bb")
    if not left:
        (row,) = await quotes(api, parameters)
        assert row.error == EXHAUSTED
        return
    assert {code for code, _ in await chosen(api, service, parameters)} == left


async def test_the_usual_threshold_is_five_percent(
    api: httpx2.AsyncClient, store: RememberingStore, clock: ManualClock, bb: PriceVenue
) -> None:
    store.orders += [("aa", 0, clock.now()), ("aa", 1, clock.now())]
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
async def test_private_sends_are_rotated(
    api: httpx2.AsyncClient, service: ServiceParts, store: RememberingStore, clock: ManualClock
) -> None:
    parameters = {"amount": "0.5", "from": BTC.id, "rotatePayoutWallets": "true"}
    items = (await api.get("/quotes/private-send", params=parameters)).json()["quotes"]
    assert items
    for item in items:
        stored = await stored_quote(service, item["quoteId"])
        assert stored.payout_wallet in (0, 1)
        assert stored.choice == RouteChoice(rotate_payout_wallets=True)
    store.orders += [(code, wallet, clock.now()) for code in ("aa", "bb") for wallet in (0, 1)]
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
    store: RememberingStore,
    clock: ManualClock,
    bb: PriceVenue,
    more: dict[str, str],
    left: set[str],
) -> None:
    """bb pays about two percent less than aa, whose two wallets paid the last two orders."""
    bb.fee = Decimal("0.024")
    store.orders += [
        ("aa", 0, clock.now() - timedelta(minutes=2)),
        ("aa", 1, clock.now() - timedelta(minutes=1)),
    ]
    parameters = {"amount": "0.5", "from": BTC.id, "rotatePayoutWallets": "true", **more}
    parameters["inLegExcludedSwaps"] = "bb"
    answer = await api.get("/quotes/private-send", params=parameters)
    paid_by = set()
    for item in answer.json()["quotes"]:
        stored = await stored_quote(service, item["quoteId"])
        paid_by.add(stored.legs[-1])
    assert paid_by == left


async def test_another_route_for_an_order_is_rotated_too(
    service: ServiceParts, store: RememberingStore, clock: ManualClock
) -> None:
    async def found(choice: RouteChoice) -> Any:
        return await service.engine.best_legs(
            BTC, ETH, Decimal("0.5"), "private", choice=choice, partner_id=FIRST.partner_id
        )

    choice = RouteChoice(rotate_payout_wallets=True)
    store.orders.append(("aa", 1, clock.now()))
    best = await found(choice)
    assert (best.legs[-1], best.payout_wallet) in {("aa", 0), ("bb", 0), ("bb", 1)}
    store.orders += [(code, wallet, clock.now()) for code in ("aa", "bb") for wallet in (0, 1)]
    assert await found(choice) is None
    assert (await found(replace(choice, rotate_fallback=True))).payout_wallet is None
