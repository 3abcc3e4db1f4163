"""Orders on their way into the journal: in a thread, newest only, bounded, ends after commits."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flows.following import tracker_of
from flows.orders import NOW, known_order, order
from patience import PATIENCE
from swapdesk.background import BackgroundTasks
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.order_log import FIRST_EVENTS, NEWEST_EVENTS
from swapdesk.flows.journal.order_writes import SLICE, OrderWrites, Writing
from swapdesk.flows.tracking.tracking import LOAD_STEP
from swapdesk.wire.orders import Order


class Told:
    """What was said to be written, and a log that remembers its thread."""

    def __init__(self, journal: Journal) -> None:
        self.log = journal.order_writer()
        self.clock = ManualClock(NOW)
        self.writes = OrderWrites(self, self.clock, self.written)  # type: ignore[arg-type]
        self.ids: list[str] = []
        self.threads: set[int] = set()
        self.enough = asyncio.Event()

    def written(self, ids: Iterable[str]) -> None:
        self.ids += ids
        if len(self.ids) >= 2:
            self.enough.set()

    def record(self, orders: Any) -> None:
        self.threads.add(threading.get_ident())
        self.log.record(orders)


def moved(minutes: float, **changes: Any) -> Order:
    return order(modified=NOW + timedelta(minutes=minutes), **changes)


async def test_what_changes_while_others_are_written_is_written_once(journal: Journal) -> None:
    told = Told(journal)
    names = [f"{number:022}" for number in range(3 * SLICE)]
    first, last = names[0], names[-1]

    def written(ids: Iterable[str]) -> None:
        if not told.ids:
            # One that is written already, and one that still waits.
            for name in (first, last):
                state = moved(1, service_id=name, eta=Decimal(99))
                writes.put(Writing(state, "stream", False))
        told.written(ids)

    writes = OrderWrites(told, ManualClock(NOW), written)  # type: ignore[arg-type]
    for name in names:
        writes.put(Writing(moved(0, service_id=name), "stream", False))
    assert await writes.flush()
    assert told.ids == names
    kept = known_order(journal, last)
    assert kept.order.eta == Decimal(99)
    assert len(journal.orders.events(last)) == 1
    assert list(writes.pending) == [first]
    assert threading.get_ident() not in told.threads


class Broken(Told):
    """A log whose first write is a defect."""

    def record(self, orders: Any) -> None:
        if not self.threads:
            super().record([])
            raise RuntimeError("planted")
        super().record(orders)


async def test_a_defect_loses_no_order(journal: Journal) -> None:
    told, defects = Broken(journal), []
    background = BackgroundTasks(told.clock, defects.append)
    writes = OrderWrites(told, told.clock, told.written, background=background)  # type: ignore[arg-type]
    for name in ("a" * 22, "b" * 22):
        writes.put(Writing(order(service_id=name), "list", False))
    writes.schedule()
    async with asyncio.timeout(PATIENCE):
        while not told.enough.is_set():
            told.clock.advance(0.1)
            await asyncio.sleep(0.001)
    assert sorted(told.ids) == ["a" * 22, "b" * 22]
    assert [defect.task for defect in defects] == ["writing orders down"]
    await writes.finish()


async def test_what_waits_at_the_end_is_written(journal: Journal) -> None:
    told = Told(journal)
    writes = told.writes
    writes.put(Writing(order(), "stream", False))
    writes.schedule()
    await writes.finish()
    await asyncio.sleep(0)
    assert journal.orders.get(order().service_id) is not None
    writes.put(Writing(order(), "stream", False))
    writes.schedule()
    assert writes.pending


class Slices(Told):
    """A log that counts what it is given, and whose first slice waits to be let on."""

    def __init__(self, journal: Journal, most: int = 99) -> None:
        super().__init__(journal)
        self.sizes: list[int] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.most = most

    def record(self, orders: Any) -> None:
        given = list(orders)
        self.sizes.append(len(given))
        if len(self.sizes) > self.most:
            raise JournalUnavailable("the disk is full")
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        super().record(given)


def left_open(journal: Journal, slices: Slices) -> tuple[OrderWrites, list[str]]:
    """Orders of three slices and a half that are known, with newer figures that wait."""
    names = [f"{number:022}" for number in range(3 * SLICE + SLICE // 2)]
    known = [(moved(0, service_id=name), "list", False) for name in names]
    journal.orders.record(known)  # type: ignore[arg-type]
    writes = slices.writes
    for name in names:
        state = moved(1, service_id=name, eta=Decimal(77))
        writes.put_figures(Writing(state, "stream", False))
    return writes, names


def with_newest(journal: Journal, names: list[str]) -> list[bool]:
    kept = [journal.orders.get(name) for name in names]
    return [one is not None and one.order.eta == Decimal(77) for one in kept]


async def test_leaving_writes_in_steps_and_the_loop_goes_on(journal: Journal) -> None:
    slices = Slices(journal)
    writes, names = left_open(journal, slices)
    finishing = asyncio.create_task(writes.finish())
    assert await asyncio.to_thread(slices.begun.wait, 20)
    # The first slice is not written yet, and this runs on the loop.
    assert with_newest(journal, names) == [False] * len(names)
    slices.go_on.set()
    await finishing
    assert slices.sizes == [SLICE, SLICE, SLICE, SLICE // 2]
    assert threading.get_ident() not in slices.threads
    assert all(with_newest(journal, names))


async def test_leaving_that_is_not_waited_for_writes_all_the_same(journal: Journal) -> None:
    slices = Slices(journal)
    writes, names = left_open(journal, slices)
    finishing = asyncio.create_task(writes.finish())
    assert await asyncio.to_thread(slices.begun.wait, 20)
    finishing.cancel()
    slices.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await finishing
    assert all(with_newest(journal, names))


async def test_what_ends_in_the_middle_leaves_whole_slices(journal: Journal) -> None:
    slices = Slices(journal, most=2)
    writes, names = left_open(journal, slices)
    slices.go_on.set()
    await writes.finish()
    assert with_newest(journal, names) == [True] * 2 * SLICE + [False] * (len(names) - 2 * SLICE)
    assert journal.orders.index.ids() == set(names)


async def test_a_locked_journal_is_asked_again(journal: Journal, path: Path) -> None:
    told = Told(journal)
    writes = told.writes
    writes.put(Writing(order(), "stream", False))
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not await writes.flush()
    assert list(writes.pending) == [order().service_id]
    assert told.ids == [order().service_id]
    assert await writes.flush()
    assert not writes.pending


def test_the_history_keeps_the_first_and_the_newest_states(journal: Journal) -> None:
    many = FIRST_EVENTS + NEWEST_EVENTS + 200
    log = journal.order_writer()
    log.record((moved(at, out_amount=Decimal(at + 1)), "stream", False) for at in range(many))
    kept = [seen.out_amount for _, _, seen in journal.orders.events(order().service_id)]
    assert len(kept) <= FIRST_EVENTS + NEWEST_EVENTS + 20
    assert kept[:FIRST_EVENTS] == [Decimal(at + 1) for at in range(FIRST_EVENTS)]
    assert kept[-NEWEST_EVENTS:] == [Decimal(at + 1) for at in range(many - NEWEST_EVENTS, many)]


def test_a_contradiction_is_found_although_nothing_is_read_again(journal: Journal) -> None:
    log = journal.order_writer()
    log.record([(order(), "list", False)])
    log.record([(order(receiver_address="0x" + "9" * 40), "stream", False)])
    kept = known_order(journal, order().service_id)
    assert kept.order.receiver_address == order().receiver_address
    assert "another recipient" in (kept.withheld or "")
    log.record([(order(status=1), "stream", False)])
    again = known_order(journal, order().service_id)
    assert again.order.receiver_address == order().receiver_address


async def test_the_past_is_read_in_steps_and_knows_the_same(journal: Journal) -> None:
    count = LOAD_STEP * 2 + 5
    journal.orders.record(
        (order(service_id=f"m{at:021}"), "list", at % 2 == 0) for at in range(count)
    )
    in_steps = tracker_of(journal, loaded=False)
    breaths = 0

    async def breathe() -> None:
        nonlocal breaths
        while in_steps.count < count:
            breaths += 1
            await asyncio.sleep(0)

    await asyncio.gather(in_steps.load_past(), breathe())
    known = {one.service_id: one.order for one in in_steps.known()}
    assert known == {entry.order.service_id: entry.order for entry in journal.orders.each()}
    assert len(known) == count
    assert in_steps.past_known
    assert breaths >= 2
