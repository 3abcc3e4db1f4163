"""What several processes on one PostgreSQL are promised, whoever of them is in the middle of what.

Each store has connections of its own, as those of a process have.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

import databases
from manual_time import rest
from patience import PATIENCE, eventually
from service.new_store import announced, found, open_new, stores_of, url_at
from service.orders_fixtures import ALICE, BOB, EVERYTHING, START, Floor
from service.test_store import begun, order, quote
from swapdesk.clock import ManualClock
from swapdesk.service.access import Directory
from swapdesk.service.events import Hub, StreamConnection
from swapdesk.service.orders.lifecycle import LEASE
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.rate_limits import CountedCall, LimitReached
from swapdesk.service.store import books, postgres, schema
from swapdesk.service.store.books import Recount
from swapdesk.service.store.database import StoreUnavailable, micros
from swapdesk.service.store.postgres import Place
from swapdesk.service.store.records import PayoutsChanged, StoredOrder, Usage
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operation import RateClass
from swapdesk.wire.orders import LegStatus, OrderStatusCode

CREATES = RateClass.EXCHANGE
TOLD = (
    "INSERT INTO outbox (service_id, partner_id, version, status, rank, committed)"
    " VALUES ($1, '', 1, 0, 0, 0)"
)


@pytest.fixture
def engine() -> Iterator[databases.Name]:
    """The one that this is about."""
    with stores_of("postgres"):
        yield "postgres"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where all stores of a test are."""
    return tmp_path / "service.db"


@pytest.fixture
async def stores(store: Store, path: Path) -> AsyncIterator[list[Store]]:
    others = [open_new(path) for _ in range(3)]
    yield [store, *others]
    for each in others:
        await each.close()


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[Any]:
    """A connection of somebody else to the same database."""
    connection = await asyncpg.connect(url_at(path))
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
async def other(store: Store, path: Path) -> AsyncIterator[Any]:
    async with connected(path) as connection:
        yield connection


async def held_up(other: Any, count: int, unless: Callable[[], bool] = lambda: False) -> None:
    """Return once so many connections to the database wait for a lock, or there is no need."""
    waits = (
        "SELECT COUNT(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(PATIENCE):
        while not unless() and await other.fetchval(waits) < count:  # noqa: ASYNC110 - of the server
            await asyncio.sleep(0.002)


async def within_patience(work: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(work, PATIENCE)


def only_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look by itself, only when something was heard."""
    monkeypatch.setattr(postgres, "_WAKE_SECONDS", 10 * PATIENCE)


# The outbox


async def told(store: Store, after: int) -> list[str]:
    return [row.service_id for row in await store.outbox.after(after, 100)]


async def test_the_outbox_is_read_in_the_order_of_commits(
    store: Store, path: Path, other: Any
) -> None:
    """Whoever has the lower number may commit last: what is read beyond a number is all of it."""
    async with connected(path) as slow, connected(path) as gone:
        begin = await store.outbox.newest()
        slows, gones = slow.transaction(), gone.transaction()
        await slows.start()
        await slow.execute(TOLD, "begun first")
        await gones.start()
        await gone.execute(TOLD, "taken back")
        await other.execute(TOLD, "committed first")
        assert await told(store, begin) == [], "the one that still runs would be passed over"
        meanwhile = await store.outbox.newest()
        await slows.commit()
        assert await told(store, begin) == ["begun first"]
        await gones.rollback()
        assert await told(store, begin) == ["begun first", "committed first"]
        assert await told(store, meanwhile) == ["begun first", "committed first"]
        assert await told(store, await store.outbox.newest()) == []


async def test_a_reader_waits_for_whoever_holds_a_row_back(
    store: Store, path: Path, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that tells nothing, or is taken back, wakes nobody when it ends."""
    only_told(monkeypatch)
    begin = await store.outbox.newest()
    async with connected(path) as silent:
        transaction = silent.transaction()
        await transaction.start()
        await silent.execute("SELECT pg_current_xact_id()")
        waiting = asyncio.create_task(store.outbox.beyond(begin))
        await begun(store, 1)
        row = order(1)
        assert await store.orders.advance(row, expected_version=1)
        assert not (await asyncio.wait([waiting], timeout=0.05))[0]
        await transaction.rollback()
        await within_patience(waiting)
    assert await told(store, begin) == [row.service_id]


async def test_an_order_is_read_once_for_all_who_are_told_of_it(floor: Floor, path: Path) -> None:
    """Before they ask, and only where anybody will."""
    other = Floor(path, floor.clock, floor.adapters, random.Random(8))
    watch = PartnerWatch(other.store, floor.clock, Directory([ALICE]))
    hub = Hub(other.store, other.desk, floor.clock, watch)
    follower = StreamConnection(None, hub, floor.clock, ALICE.partner_id)  # type: ignore[arg-type]
    follower._all = True
    told = await floor.store.outbox.newest()
    order = await floor.create()

    async def newest(partner_id: str = ALICE.partner_id) -> StoredOrder:
        return await hub.latest(partner_id, order.service_id)

    async def advanced() -> int:
        row = await floor.store.orders.get(ALICE.partner_id, order.service_id)
        assert await floor.store.orders.advance(row, expected_version=row.version)
        return row.version + 1

    hub.join(follower)
    told = await hub.deliver(told)
    before = await newest()
    hub.leave(follower)
    version = await advanced()
    told = await hub.deliver(told)
    hub.join(follower)
    assert (before.version, (await newest()).version) == (version - 1, version)
    version = await advanced()
    await hub.deliver(told)
    await other.store.close()
    assert [(await newest()).version for _ in range(2)] == [version] * 2
    with pytest.raises(StoreUnavailable):
        await newest(BOB.partner_id)


async def test_a_commit_of_another_process_wakes_at_once(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_told(monkeypatch)
    for number, writing in enumerate(stores[1:], start=1):
        begin = await stores[0].outbox.newest()
        waiting = asyncio.create_task(stores[0].outbox.beyond(begin))
        await begun(writing, number)
        await writing.orders.advance(order(number), expected_version=1)
        await within_patience(waiting)
        assert await told(stores[0], begin) == [order(number).service_id]


async def test_a_wake_up_that_was_missed_costs_a_look(store: Store, other: Any) -> None:
    # The first one may be seen by the look that follows the first word with the server.
    for name in ("nobody said so", "nor this time"):
        waiting = asyncio.create_task(store.outbox.beyond(await store.outbox.newest()))
        await rest()
        await other.execute(TOLD, name)
        await within_patience(waiting)


async def test_a_connection_that_listens_and_is_ended_comes_back(
    stores: list[Store], other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was committed meanwhile is looked at, for nobody says it again."""
    only_told(monkeypatch)
    store, writing = stores[:2]
    begin = await store.outbox.newest()
    waiting = asyncio.create_task(store.outbox.beyond(begin))
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        # One that has not begun to listen would be opened anew, whether it hears of its end or not.
        " AND state = 'idle'"
    )
    async with asyncio.timeout(PATIENCE):
        while not await other.fetch(end):  # noqa: ASYNC110 - of the server
            await asyncio.sleep(0.002)
    await other.execute(TOLD, "while nobody listened")
    await within_patience(waiting)
    begin = await store.outbox.newest()
    waiting = asyncio.create_task(store.outbox.beyond(begin))
    await begun(writing, 1)
    await writing.orders.advance(order(1), expected_version=1)
    await within_patience(waiting)


async def test_a_process_that_stands_still_holds_nobody_up(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction is the oldest one, and nothing is told beyond it until the server ends it."""
    bounds = "SELECT setting::bigint AS bound FROM pg_settings WHERE name = :name"
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        ((bound,),) = await found(stores[0], bounds, name=name)
        assert 0 < bound <= 10_000, name
    monkeypatch.setitem(postgres._SETTINGS, "idle_in_transaction_session_timeout", "20")
    stands, over = asyncio.Event(), asyncio.Event()

    async def stand_still(db: Any) -> None:
        await db.rows("SELECT pg_current_xact_id()")
        stands.set()
        await over.wait()
        await db.rows("SELECT 1 AS n")

    standing = asyncio.create_task(stores[1].database.write(stand_still))
    await within_patience(stands.wait())
    begin = await stores[0].outbox.newest()
    await begun(stores[0], 1)
    await stores[0].orders.advance(order(1), expected_version=1)
    await within_patience(stores[0].outbox.beyond(begin))
    over.set()
    with pytest.raises(StoreUnavailable):
        await within_patience(standing)


# Windows


def windows(per_minute: int) -> RateWindows:
    return RateWindows(per_minute=per_minute, per_hour=10_000, per_day=10_000)


def create_call(limits: RateWindows) -> CountedCall:
    return CountedCall(ALICE.partner_id, CREATES, limits, ManualClock())


async def used(store: Store, rate_class: RateClass = CREATES) -> set[int]:
    return {row.used for row in await store.calls.usage(ALICE.partner_id, rate_class.value)}


async def test_windows_are_exact_over_processes(stores: list[Store]) -> None:
    """Of 40 creates at once of four processes 25 fit, and those alone count and consume."""
    numbers = range(1, 41)
    await stores[0].quotes.save([quote(number) for number in numbers])
    limits = windows(25)

    async def create(number: int) -> bool:
        try:
            row = order(number)
            await stores[number % 4].orders.begin(row, call=create_call(limits))
        except LimitReached:
            return False
        return True

    made = await asyncio.gather(*map(create, numbers))
    assert sum(made) == 25
    assert await used(stores[0]) == {25}
    assert len((await stores[0].orders.page(*EVERYTHING))[0]) == 25
    free = await found(stores[0], "SELECT COUNT(*) AS n FROM quotes WHERE consumed_by IS NULL")
    assert free == [(15,)]


async def test_calls_that_are_given_back_are_not_counted_over(
    stores: list[Store], path: Path, other: Any
) -> None:
    """Who counts between the reading and the writing of another one would bring them back."""
    limits = windows(100)
    for _ in range(10):
        await stores[0].calls.count(create_call(limits))
    (row, *_) = await stores[0].calls.usage(ALICE.partner_id, CREATES.value)
    unused = [Usage(row.partner_id, row.rate_class, row.seconds, row.number, 4)]
    async with connected(path) as blocking, blocking.transaction():
        await blocking.execute("SELECT * FROM usage FOR UPDATE")
        free = asyncio.create_task(stores[0].calls.free(unused))
        await held_up(other, 1)
        count = asyncio.create_task(stores[1].calls.count(create_call(limits)))
        await held_up(other, 2)
    await within_patience(asyncio.gather(free, count))
    rows = await stores[0].calls.usage(ALICE.partner_id, CREATES.value)
    assert sorted(row.used for row in rows) == [7, 11, 11]


# Orders


async def test_two_creates_never_choose_by_the_same_payouts(
    stores: list[Store], path: Path, other: Any
) -> None:
    """The second one looks only once the first one is committed."""
    first, second = (replace(order(number), route="private") for number in (1, 2))
    await stores[0].quotes.save([quote(1), quote(2), quote(3)])
    payouts = await stores[0].orders.recent_payouts(ALICE.partner_id, START, 10)
    limits = windows(10)
    await stores[0].calls.count(create_call(limits))
    async with connected(path) as blocking:
        # The call of the first one is written down last, and somebody else holds its row.
        async with blocking.transaction():
            await blocking.execute("SELECT * FROM usage FOR UPDATE")
            call = create_call(limits)
            one = asyncio.create_task(stores[0].orders.begin(first, payouts=payouts, call=call))
            await held_up(other, 1)
            two = asyncio.create_task(stores[1].orders.begin(second, payouts=payouts))
            await held_up(other, 2, two.done)
        await within_patience(one)
        with pytest.raises(PayoutsChanged):
            await within_patience(two)
    assert await stores[0].orders.of_quote(ALICE.partner_id, second.quote_id) is None


async def test_whoever_waits_for_a_call_to_count_holds_nothing_meanwhile(
    stores: list[Store], path: Path, other: Any
) -> None:
    """Two that wait for each other's lines would stand until the server ends one of them."""
    first, second = (replace(order(number), route="private") for number in (1, 2))
    await stores[0].quotes.save([quote(1), quote(2)])
    async with connected(path) as counting, counting.transaction():
        await counting.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
            f"calls {ALICE.partner_id} {CREATES.value}",
        )
        one = asyncio.create_task(stores[0].orders.begin(first, call=create_call(windows(10))))
        await held_up(other, 1)
        # It counts nowhere, and passes the line of payouts alone.
        await within_patience(stores[1].orders.begin(second))
    await within_patience(one)


async def test_creates_that_wait_for_each_other_are_committed_together(
    stores: list[Store], other: Any
) -> None:
    """Of one partner each would wait for the commit of the one before."""
    numbers = range(1, 21)
    await stores[0].quotes.save([quote(number) for number in numbers])
    calls = (create_call(windows(100)) for _ in numbers)
    await asyncio.gather(
        *(
            stores[0].orders.begin(order(number), call=call)
            for number, call in zip(numbers, calls, strict=True)
        )
    )
    assert await other.fetchval("SELECT COUNT(DISTINCT xmin::text) FROM orders") < len(numbers)
    assert await used(stores[0]) == {20}


async def test_a_claim_passes_over_what_somebody_works_on(stores: list[Store], other: Any) -> None:
    for number in (1, 2):
        await begun(stores[0], number)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT * FROM orders WHERE service_id = 'order00001' FOR UPDATE")
    now = START + timedelta(seconds=20)
    free = await stores[0].orders.claim_due(now, owner="a", lease_until=now + LEASE, limit=10)
    assert [each.service_id for each in free] == ["order00002"]
    await transaction.rollback()
    # A worker that is gone says nothing; its lease runs out.
    later = now + LEASE
    again = await stores[1].orders.claim_due(later, owner="b", lease_until=later + LEASE, limit=10)
    assert {each.service_id for each in again} == {"order00001", "order00002"}
    await stores[0].orders.postpone("order00002", owner="a", due_at=later, attempt=1)
    assert await stores[1].orders.claim_due(later, owner="c", lease_until=later, limit=10) == []


async def test_an_order_that_is_worked_on_holds_up_no_other_one(
    stores: list[Store], path: Path, other: Any
) -> None:
    """Neither what a worker keeps or leaves, nor what a hint makes due."""
    for number in (1, 2, 3):
        await begun(stores[0], number)
        row = replace(order(number), status=int(OrderStatusCode.WAITING))
        assert await stores[0].orders.advance(row, expected_version=1)
    now, owner = START + timedelta(seconds=20), "a"
    later = now + LEASE
    names = [order(number).service_id for number in (1, 2, 3)]
    await stores[0].orders.claim_due(now, owner=owner, lease_until=later, limit=2)
    async with connected(path) as working, working.transaction():
        await working.execute("SELECT * FROM orders WHERE service_id = $1 FOR UPDATE", names[1])
        await within_patience(stores[0].orders.renew(owner, now, later + LEASE))
        rows = "SELECT service_id FROM orders WHERE lease_until > $1"
        assert [row[0] for row in await other.fetch(rows, micros(later))] == [names[0]]
        await within_patience(stores[0].orders.end_leases(owner))
        hasten = asyncio.create_task(stores[0].orders.hasten(names, START))
        await held_up(other, 1)
        for number in (1, 3):
            row = replace(order(number), status=int(OrderStatusCode.WAITING))
            moved = stores[1].orders.advance(row, expected_version=2)
            assert await within_patience(moved)
        assert not hasten.done()
    await within_patience(hasten)


# Steps of the schema


async def opened(path: Path) -> None:
    """As a process does that starts."""
    await (await Store.connect(Place(url_at(path)))).close()


def next_release(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A release with this step, on a server that is patient for 20 ms."""
    for name in ("statement_timeout", "lock_timeout"):
        monkeypatch.setitem(postgres._SETTINGS, name, "20")
    monkeypatch.setattr(postgres, "_COMMAND_SECONDS", 0.02)
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    monkeypatch.setattr(schema, "STEPS", {VERSION: step})


@pytest.mark.usefixtures("store")
async def test_a_step_takes_as_long_as_it_takes(
    path: Path, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever starts meanwhile waits for it."""
    next_release(monkeypatch, "SELECT pg_sleep(0.2)")
    await within_patience(asyncio.gather(opened(path), opened(path)))
    assert await other.fetchval("SELECT number FROM schema_version") == VERSION + 1


@pytest.mark.usefixtures("store")
async def test_a_step_that_has_to_wait_for_a_table_gives_up(
    path: Path, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody who wants the table would wait behind it."""
    next_release(monkeypatch, "ALTER TABLE orders ADD COLUMN note TEXT")
    async with other.transaction():
        await other.execute("LOCK TABLE orders IN ACCESS SHARE MODE")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            await within_patience(opened(path))
    assert await other.fetchval("SELECT number FROM schema_version") == VERSION


async def test_a_recount_of_many_orders_takes_longer_than_a_call_may(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the server nor this process ends it."""
    monkeypatch.setitem(postgres._SETTINGS, "statement_timeout", "1000")
    monkeypatch.setattr(postgres, "_COMMAND_SECONDS", 1.0)
    monkeypatch.setattr(books, "_UNENTERED", "SELECT pg_sleep(1.2)")
    assert await store.books.recount() == Recount(0, (), 1)


# Clocks


async def test_clocks_ten_minutes_apart_move_an_order_once_and_never_back(
    floor: Floor, path: Path
) -> None:
    """The one ahead takes every lease of the other for run out."""
    ahead = ManualClock(floor.clock.now() + timedelta(minutes=10))
    other = Floor(path, ahead, floor.adapters, random.Random(8))
    both, venue = (floor, other), floor.venue("aa")
    order = await floor.create()
    begin = await floor.store.outbox.newest()
    # Both hold the order, and neither knows of the other.
    venue.move(f"{order.service_id}:in", LegStatus.CONFIRMING)
    venue.trouble.report_slowly = True
    looks = []
    for count, each in enumerate(both, start=1):
        looks.append(asyncio.create_task(each.work()))
        await eventually(partial(lambda count: len(venue.asked) == count, count))
    venue.trouble.report_slowly = False
    venue.trouble.released.set()
    assert await asyncio.gather(*looks) == [1, 1]
    for status in (LegStatus.EXCHANGING, LegStatus.FINISHED):
        venue.move(f"{order.service_id}:in", status)
        await asyncio.gather(*(each.work() for each in both))
    rows = await announced(floor.store, begin)
    assert [row.version for row in rows] == sorted({row.version for row in rows})
    assert [row.rank for row in rows] == sorted(row.rank for row in rows)
    assert rows[-1].status == OrderStatusCode.FINISHED
    assert await found(floor.store, "SELECT SUM(orders) AS n FROM day_sums") == [(1,)]
    await other.store.close()


async def test_clocks_ten_minutes_apart_count_in_one_window(stores: list[Store]) -> None:
    """The one that is behind counts in the window that the other has begun."""
    now = ManualClock()
    ahead = ManualClock(now.now() + timedelta(minutes=10))
    limits = windows(6)

    async def create(number: int) -> bool:
        call = CountedCall(ALICE.partner_id, CREATES, limits, (now, ahead)[number % 2])
        try:
            await stores[number % 4].calls.count(call)
        except LimitReached:
            return False
        return True

    await stores[1].calls.count(CountedCall(ALICE.partner_id, CREATES, limits, ahead))
    made = await asyncio.gather(*map(create, range(20)))
    assert sum(made) == 5
    rows = await stores[0].calls.usage(ALICE.partner_id, CREATES.value)
    assert {row.used for row in rows} == {6}
