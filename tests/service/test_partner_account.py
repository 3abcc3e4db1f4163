"""Commissions and statistics of a partner (contract 12.2 to 12.9)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rows import each_row
from sandbox.solana.solana_world import USDC, running
from service.http_calls import declined
from service.new_store import changed
from service.orders_fixtures import ALICE, BOB, FRANK, START, Floor, caller, venues_at
from service.test_store import order
from service.world import AS_FREE, AS_SECOND, BY_PARTNER_ID, FIRST, FREE, SECOND
from swapdesk.clock import ManualClock
from swapdesk.service.access import Partner
from swapdesk.service.partner_account import PartnerAccount, commission_of
from swapdesk.service.store.books import NothingDue, Recount
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.partners import Act
from swapdesk.service.store.records import StoredGroup, StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import VenueTraits
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.account import CommissionQuery
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.orders import LegStatus

VENUES = Venues(venues_at(), ManualClock(START))
FEES = {"aa": ("0.4", "0.9"), "bb": ("0.25", "1"), "cc": ("0", "0")}
"""Percent on floating and on fixed terms."""


def give_fees(venues: Venues) -> None:
    for code, (floating, fixed) in FEES.items():
        venue = venues.by_code(code)
        traits = VenueTraits(fixed=True, fee=Decimal(floating), fixed_fee=Decimal(fixed))
        venue._venue.traits = traits  # type: ignore[misc]


give_fees(VENUES)


def finished(row: StoredOrder, at: datetime, of: Partner) -> StoredOrder:
    """The order as its last commit writes it."""
    earned = commission_of(row, of, VENUES)
    detail = {"finished": rfc3339(at)}
    return replace(row, status=4, rank=8, detail=detail, commission=earned)


async def finish(store: Store, *ended: tuple[StoredOrder, datetime, Partner]) -> None:
    """Write orders that begin and are finished."""
    if not ended:
        return
    await store.groups.begin(
        StoredGroup(f"group of {ended[0][0].service_id}", "nobody", START, "ethereum"),
        [row for row, _, _ in ended],
    )
    moved = await asyncio.gather(
        *(store.orders.advance(finished(*each), expected_version=1) for each in ended)
    )
    assert all(moved)


def usual(number: int, of: Partner, usd: str | None = "1000", **changes: Any) -> StoredOrder:
    value = None if usd is None else Decimal(usd)
    return replace(order(number, partner_id=of.partner_id), amount_in_usd=value, **changes)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def on(text: str) -> Act:
    """What the operator does at that time."""
    return Act(at(text), "operator")


# What an order earns


@each_row(
    ("of", "changes", "earned"),
    [
        (ALICE, {}, "0.8"),  # 20 % of 0.4 % of 1,000
        (ALICE, {"fixed": True}, "1.8"),
        (ALICE, {"route": "private", "legs": ("aa", "bb")}, "1.3"),
        (ALICE, {"markup": Decimal("0.5")}, "5.8"),
        (ALICE, {"legs": ("gone",)}, "0"),
        (ALICE, {"route": "dex", "legs": ("iso",), "fee_usd": Decimal("3.21")}, "0.642"),
        (ALICE, {"route": "dex", "legs": ("iso",)}, "0"),
        (FRANK, {}, "0"),
        (FRANK, {"markup": Decimal(4)}, "40"),
        (replace(FRANK, fee_share=Decimal(50)), {}, "2"),
        (replace(ALICE, fee_share=Decimal(0)), {}, "0"),
        (None, {"markup": Decimal(1)}, "10"),
    ],
)
def test_commission_of_each_tier(of: Partner | None, changes: dict[str, Any], earned: str) -> None:
    assert commission_of(usual(1, of or ALICE, **changes), of, VENUES) == Decimal(earned)


async def test_the_worker_counts_an_order_that_it_finishes(floor: Floor) -> None:
    give_fees(floor.venues)
    account = PartnerAccount(floor.store, floor.clock)
    for of, earned in ((ALICE, "1.2"), (FRANK, "0")):
        made = await floor.create(of=of)
        row = await floor.store.orders.get(of.partner_id, made.service_id)
        (code,) = row.legs
        for status in (LegStatus.EXCHANGING, LegStatus.SENDING):
            floor.venue(code).move(f"{made.service_id}:in", status)
            await floor.work()
            assert (await account.volume(caller(of))).count == 0
        floor.venue(code).move(f"{made.service_id}:in", LegStatus.FINISHED)
        await floor.work()
        await floor.work(3600)
        told = await account.volume(caller(of))
        assert (told.count, told.total_transacted_usd) == (1, Decimal(1500))
        summary = await account.commissions(caller(of), CommissionQuery())
        assert summary.total_earnings == summary.pending_commissions == Decimal(earned)
        assert summary.commission_count == (1 if Decimal(earned) else 0)


# Over HTTP


NOW = at("2026-12-02 10:00")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def history(store: Store) -> None:
    """Orders of three partners around the end of a month and of an ISO year."""
    await finish(
        store,
        (usual(1, FIRST, "1000.5"), at("2026-11-30 23:59:59.999"), FIRST),
        (usual(2, FIRST, "2000", markup=Decimal("0.5")), at("2026-12-01 00:00"), FIRST),
        (usual(3, FIRST, "0.000001", route="private"), at("2026-12-01 12:00"), FIRST),
        (usual(4, FIRST, None), at("2026-10-05 12:00"), FIRST),
        (usual(5, SECOND, "7"), at("2026-11-30 12:00"), SECOND),
        (usual(6, FREE, "50000"), at("2026-12-01 12:00"), FREE),
        # Each earns less than half of what the wire shows, both together more.
        (usual(8, FREE, "0.000001", markup=Decimal("0.333")), at("2026-01-01 12:00"), FREE),
        (usual(9, FREE, "0.000001", markup=Decimal("0.333")), at("2026-12-01 12:00"), FREE),
    )
    await store.groups.begin(
        StoredGroup("open", "nobody", START, "ethereum"), [usual(7, FIRST, "123456")]
    )


def figures(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json(parse_float=Decimal)


@pytest.mark.usefixtures("history")
async def test_volume(api: httpx2.AsyncClient, clock: ManualClock) -> None:
    assert figures(await api.get("/stats/volume")) == {
        "count": 4,
        "totalOrders": 4,
        "totalTransactedUSD": Decimal("3000.500001"),
        "thisMonthVolumeUsd": Decimal("2000.000001"),
        "lastMonthVolumeUsd": Decimal("1000.5"),
        "thisMonthOrders": 2,
    }
    clock.advance(timedelta(days=29).total_seconds())
    last_of_the_month = figures(await api.get("/stats/volume"))
    assert last_of_the_month["lastMonthVolumeUsd"] == Decimal("1000.5")


@pytest.mark.usefixtures("history")
async def test_weeks(api: httpx2.AsyncClient, clock: ManualClock) -> None:
    weeks = figures(await api.get("/stats/weeklyVolume"))
    assert [(week["year"], week["week"]) for week in weeks] == [(2026, n) for n in range(41, 50)]
    assert weeks[0] == {
        "week": 41, "year": 2026, "count": 1, "anonymous": 0, "volume": 0, "commission": 0,
    }  # fmt: skip
    assert all(week["count"] == week["volume"] == 0 for week in weeks[1:-1])
    assert weeks[-1] == {
        "week": 49,
        "year": 2026,
        "count": 3,
        "anonymous": 1,
        "volume": Decimal("3000.500001"),
        "commission": Decimal("12.4004"),  # of the smallest, eight places are 0
    }
    clock.advance(timedelta(days=7).total_seconds())
    later = figures(await api.get("/stats/weeklyVolume"))
    assert (later[:-1], later[-1]["week"], later[-1]["count"]) == (weeks, 50, 0)
    of_another_year = figures(await api.get("/stats/weeklyVolume", headers=AS_FREE))[0]
    assert (of_another_year["year"], of_another_year["week"]) == (2026, 1), "it begins in 2025"


@pytest.mark.proves(
    "input get_chart metric",
    "input get_chart granularity",
    "input get_chart from",
    "input get_chart to",
)
@pytest.mark.usefixtures("history")
async def test_a_chart_by_day_and_by_month(api: httpx2.AsyncClient) -> None:
    async def chart(**asked: str) -> list[tuple[str, Decimal, int]]:
        points = figures(await api.get("/stats/chart", params={"metric": "volume"} | asked))
        return [(one["date"], one["volumeUsd"], one["count"]) for one in points]

    usual_days = await chart()
    assert usual_days == await chart(granularity="day")
    assert [day for day, _, _ in usual_days][::29] == ["2026-11-03", "2026-12-02"]
    assert len(usual_days) == 30
    assert [(day, count) for day, _, count in usual_days if count] == [
        ("2026-11-30", 1),
        ("2026-12-01", 2),
    ]
    # Both ends are counted whole, wherever in the day they are.
    assert await chart(**{"from": "2026-11-30T23:59:59.999Z", "to": "2026-12-01"}) == [
        ("2026-11-30", Decimal("1000.5"), 1),
        ("2026-12-01", Decimal("2000.000001"), 2),
    ]
    assert await chart(granularity="month", to="2026-12-31", **{"from": "2026-09-30"}) == [
        ("2026-09", 0, 0),
        ("2026-10", 0, 1),
        ("2026-11", Decimal("1000.5"), 1),
        ("2026-12", Decimal("2000.000001"), 2),
    ]
    assert [month for month, _, _ in await chart(granularity="month")] == ["2026-11", "2026-12"]
    assert len(await chart(to="2026-10-05")) == 30
    for name, value in (("metric", "count"), ("metric", ""), ("granularity", "week")):
        asked = {"metric": "volume"} | {name: value}
        await declined(api.get("/stats/chart", params=asked), field=name)
    await declined(api.get("/stats/chart"), field="metric")


@pytest.mark.proves("input get_chart from", "input get_chart to")
async def test_from_after_to_is_refused_and_a_long_time_is_cut(api: httpx2.AsyncClient) -> None:
    async def asked(**parameters: str) -> httpx2.Response:
        return await api.get("/stats/chart", params={"metric": "volume"} | parameters)

    for wrong in ({"from": "2026-12-01", "to": "2026-11-30"}, {"from": "2027-01-01"}):
        await declined(asked(**wrong), field="from")
    days = figures(await asked(**{"from": "1970-01-01", "to": "2199-12-31"}))
    assert (len(days), days[-1]["date"]) == (400, "2199-12-31")
    months = figures(await asked(granularity="month", **{"from": "1970-01-01", "to": "2199-12-31"}))
    assert (len(months), months[-1]["date"]) == (400, "2199-12")


@each_row("granularity", ["day", "month"])
@each_row(
    ("begin", "end", "days"),
    [
        ("0001-01-01", "0001-01-02", []),
        (None, "0001-01-01", []),
        ("1969-12-01", "1969-12-31T23:59:59.999Z", []),
        ("0001-01-01", "1970-01-01", ["1970-01-01"]),
        ("2199-12-31T23:59:59Z", "9999-12-31", ["2199-12-31"]),
        ("2200-01-01", "2200-01-01", []),
        ("9999-12-31", "9999-12-31T23:59:59.999Z", []),
    ],
)
async def test_a_chart_has_no_points_outside_of_its_calendar(
    api: httpx2.AsyncClient, granularity: str, begin: str | None, end: str, days: list[str]
) -> None:
    asked = {"metric": "volume", "granularity": granularity, "to": end}
    points = await api.get("/stats/chart", params=asked | ({"from": begin} if begin else {}))
    length = len("YYYY-MM" if granularity == "month" else "YYYY-MM-DD")
    assert [one["date"] for one in figures(points)] == [day[:length] for day in days]


@pytest.mark.proves("input get_commissions month")
@pytest.mark.usefixtures("history")
async def test_a_month_scopes_the_summary(api: httpx2.AsyncClient) -> None:
    async def summary(**month: str) -> dict[str, Any]:
        return figures(await api.get("/commissions/summary", params=month))

    months = {"thisMonthEarnings": Decimal("11.6"), "lastMonthEarnings": Decimal("0.8004")}
    assert await summary() == months | {
        "totalEarnings": Decimal("12.4004"),
        "pendingCommissions": Decimal("12.4004"),
        "processedCommissions": 0,
        "commissionCount": 3,
    }
    assert await summary(month="2026-11") == months | {
        "totalEarnings": Decimal("0.8004"),
        "pendingCommissions": Decimal("0.8004"),
        "processedCommissions": 0,
        "commissionCount": 1,
    }
    assert (await summary(month="2026-10"))["commissionCount"] == 0, "its value is not known"
    for wrong in ("2026-13", "2026-1", "2026", "2026-11-01", ""):
        await declined(api.get("/commissions/summary", params={"month": wrong}), field="month")


PATHS = (
    "/commissions/summary",
    "/stats/volume",
    "/stats/weeklyVolume",
    "/stats/chart?metric=volume",
)


@pytest.mark.usefixtures("history")
async def test_each_partner_is_told_of_its_own_orders_alone(
    api: httpx2.AsyncClient, anyone: httpx2.AsyncClient
) -> None:
    assert figures(await api.get(PATHS[1], headers=AS_SECOND))["totalTransactedUSD"] == 7
    free = figures(await api.get(PATHS[1], headers=AS_FREE))
    assert (free["count"], free["totalTransactedUSD"]) == (3, Decimal("50000.000002"))
    assert figures(await api.get(PATHS[0], headers=AS_FREE))["totalEarnings"] == Decimal("1e-8")
    for path in PATHS:
        await declined(anyone.get(path, headers=BY_PARTNER_ID), "PARTNER_ID_NOT_SUPPORTED")


async def test_an_account_without_orders(api: httpx2.AsyncClient) -> None:
    assert set(figures(await api.get(PATHS[0])).values()) == {0}
    assert set(figures(await api.get(PATHS[1])).values()) == {0}
    assert figures(await api.get(PATHS[2])) == []
    points = figures(await api.get(PATHS[3]))
    assert len(points) == 30
    assert all(point["count"] == point["volumeUsd"] == 0 for point in points)


# Payouts and reversals


@pytest.mark.proves("input get_commissions month")
async def test_payouts_by_month(store: Store) -> None:
    await finish(
        store,
        (usual(1, ALICE, "1000"), at("2026-10-02 12:00"), ALICE),
        (usual(2, ALICE, "2000"), at("2026-10-31 12:00"), ALICE),
        (usual(3, ALICE, "4000"), at("2026-11-20 12:00"), ALICE),
        (usual(4, BOB, "9000"), at("2026-10-02 12:00"), BOB),
    )
    clock = ManualClock(at("2026-11-20 13:00"))
    account = PartnerAccount(store, clock)

    async def told(month: str | None) -> tuple[Decimal, Decimal, Decimal]:
        summary = await account.commissions(caller(ALICE), CommissionQuery(month=month))
        assert summary.commission_count == {None: 3, "2026-10": 2, "2026-11": 1}[month]
        return (
            summary.total_earnings,
            summary.pending_commissions,
            summary.processed_commissions,
        )

    who = ALICE.partner_id
    with pytest.raises(NothingDue):
        await store.books.pay_out(who, "2026-10", on("2026-11-01 11:59:59"))
    # Thirty days after the first one, which is paid alone.
    assert await store.books.pay_out(who, "2026-10", on("2026-11-01 12:00")) == Decimal("0.8")
    with pytest.raises(NothingDue):
        await store.books.pay_out(who, "2026-10", on("2026-11-01 12:00"))
    assert await told("2026-10") == tuple(map(Decimal, ("2.4", "1.6", "0.8")))
    assert await store.books.pay_out(who, "2026-10", on("2026-12-05 12:00")) == Decimal("1.6")
    assert await told("2026-10") == tuple(map(Decimal, ("2.4", "0", "2.4")))
    assert await told("2026-11") == tuple(map(Decimal, ("3.2", "3.2", "0")))
    assert await told(None) == tuple(map(Decimal, ("5.6", "3.2", "2.4")))
    assert (await store.books.recount()).agrees


async def test_a_reversal_is_an_entry_of_its_own_month(store: Store) -> None:
    first, second = usual(1, ALICE, "1000"), usual(2, ALICE, "5000")
    await finish(
        store,
        (first, at("2026-10-02 12:00"), ALICE),
        (second, at("2026-11-02 12:00"), ALICE),
    )
    account = PartnerAccount(store, ManualClock(at("2026-11-20 13:00")))
    assert await store.books.reverse(first.service_id, on("2026-11-19 12:00")) == Decimal("0.8")
    for service_id in (first.service_id, "no such order"):
        with pytest.raises(NothingDue):
            await store.books.reverse(service_id, on("2026-11-19 13:00"))
    october = await account.commissions(caller(ALICE), CommissionQuery(month="2026-10"))
    assert (october.total_earnings, october.commission_count) == (Decimal("0.8"), 1)
    november = await account.commissions(caller(ALICE), CommissionQuery(month="2026-11"))
    assert (november.total_earnings, november.commission_count) == (Decimal("3.2"), 1)
    assert november.this_month_earnings == Decimal("3.2")
    volume = await account.volume(caller(ALICE))
    assert (volume.count, volume.total_transacted_usd) == (2, 6000), "it was swapped"
    # What was reversed is kept back at once, whatever its age.
    assert await store.books.pay_out(
        ALICE.partner_id, "2026-11", on("2026-12-02 12:00")
    ) == Decimal("3.2")
    assert (await store.books.recount()).agrees


async def test_no_payout_pays_more_than_is_due_over_all_months(store: Store) -> None:
    """What was paid for an order that is reversed later is made up for by what comes after it."""
    march, june, july = usual(1, ALICE, "1000"), usual(2, ALICE, "500"), usual(3, ALICE, "2000")
    late = usual(4, ALICE, "8000")
    await finish(
        store,
        (march, at("2026-03-02 12:00"), ALICE),
        (june, at("2026-06-02 12:00"), ALICE),
        (july, at("2026-07-02 12:00"), ALICE),
        (late, at("2026-08-02 12:00"), ALICE),
    )
    account = PartnerAccount(store, ManualClock(at("2026-08-20 13:00")))
    who = ALICE.partner_id
    assert await store.books.pay_out(who, "2026-03", on("2026-04-02 12:00")) == Decimal("0.8")
    await store.books.reverse(march.service_id, on("2026-05-02 12:00"))
    for month in ("2026-05", "2026-06"):
        with pytest.raises(NothingDue):
            await store.books.pay_out(who, month, on("2026-07-05 12:00"))
    # One that is reversed before it is due keeps nothing else back.
    await store.books.reverse(late.service_id, on("2026-08-03 12:00"))
    assert await store.books.pay_out(who, "2026-07", on("2026-08-05 12:00")) == Decimal("1.2")
    for month in ("2026-06", "2026-07"):
        with pytest.raises(NothingDue):
            await store.books.pay_out(who, month, on("2026-08-05 12:00"))
    told = await account.commissions(caller(ALICE), CommissionQuery())
    assert told.total_earnings == told.processed_commissions == Decimal("2.0")
    assert told.pending_commissions == 0


# The sums and the orders


async def test_an_order_counts_once_however_often_it_is_written(store: Store) -> None:
    row = usual(1, ALICE)
    await finish(store, (row, START, ALICE))
    again = finished(row, START, ALICE)
    for version in (2, 3):
        assert await store.orders.advance(again, expected_version=version)
    (day,) = (await store.books.of(ALICE.partner_id))[0]
    assert (day.orders, day.volume, day.entries) == (1, 1000, 1)


@pytest.mark.parametrize("table", ["outbox", "commissions", "day_sums"])
async def test_an_order_and_its_sums_are_written_together(store: Store, table: str) -> None:
    begun = usual(1, ALICE)
    ended = finished(begun, START, ALICE)
    await store.groups.begin(StoredGroup("g", "n", START, "ethereum"), [begun])
    await changed(store, f"ALTER TABLE {table} RENAME TO gone")
    with pytest.raises(StoreUnavailable):
        await store.orders.advance(ended, expected_version=1)
    await changed(store, f"ALTER TABLE gone RENAME TO {table}")
    assert await store.orders.get(ALICE.partner_id, begun.service_id) == begun
    assert not (await store.books.of(ALICE.partner_id))[0]
    assert await store.orders.advance(ended, expected_version=1)
    assert [day.orders for day in (await store.books.of(ALICE.partner_id))[0]] == [1]


async def test_sums_that_were_spoiled_are_found_and_written_anew(store: Store) -> None:
    await finish(
        store,
        *((usual(n, ALICE), START + timedelta(days=n % 4), ALICE) for n in range(1, 9)),
        (usual(9, BOB, route="private"), START, BOB),
    )
    whole = [await store.books.of(of.partner_id) for of in (ALICE, BOB)]
    await store.books.reverse(
        usual(1, ALICE).service_id, Act(START + timedelta(days=9), "operator")
    )
    whole[0] = await store.books.of(ALICE.partner_id)
    assert await store.books.recount() == Recount(6, (), 0)
    await changed(store, "UPDATE day_sums SET volume = '1' WHERE day = '2026-11-21'")
    await changed(store, "DELETE FROM day_sums WHERE day IN ('2026-11-20', '2026-11-29')")
    await changed(store, "INSERT INTO day_sums VALUES ('nobody', '2026-11-20', 1, 0, '5', '0', 0)")
    found = await store.books.recount()
    assert {day for _, day in found.differing} == {"2026-11-20", "2026-11-21", "2026-11-29"}
    assert len(found.differing) == 5
    await store.books.rebuild(found)
    assert (await store.books.recount()).agrees
    assert [await store.books.of(of.partner_id) for of in (ALICE, BOB)] == whole


async def test_sums_are_counted_where_a_program_left_registers_full(
    tmp_path: Path,
) -> None:
    """A token that Solana's machine mints leaves the floating point unit of its thread, and of
    every thread that this one starts, without a free register: SQLite then reads the first number
    out of a text as 0."""
    async with running(tmp_path / "solana") as world:
        await world.node.fund(str((await world.rich()).pubkey()), 5, str(USDC))
    store = Store.open(tmp_path / "service.db")
    try:
        await finish(store, (usual(1, ALICE), START, ALICE))
        assert await store.books.recount() == Recount(1, (), 0)
    finally:
        await store.close()
