"""Background tasks of a connected desk: each is killed, told of and started again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import manual_time
from swapdesk.background import BackgroundTasks, Defect
from swapdesk.client.live import OrderMissing
from swapdesk.clock import ManualClock
from swapdesk.flows.connection import Connection
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.desk import Desk
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wire.orders import DisplayStatus, LegStatus
from world import FIRST_KEY, World

OURS = ("swapdesk/background", "swapdesk/client/", "swapdesk/flows/")
KEPT = {"following orders", "the order stream", "looking for unknown outcomes"}
PLACES = {
    "OrderSocket.heartbeat",
    "OrderStream._connect_for_ever",
    "OrderStream._follow",
    "OrderStream._poll_for_ever",
    "OrderStream._run",
    "following orders",
    "looking for unknown outcomes",
}
"""Where the tasks of a desk at rest wait."""
UNTOLD = {"ServerClock.sleep"}
"""A wait that breaks is over, for whoever gave it to ``within``."""


class Planted(Exception):
    """A defect of the test."""


def own_tasks() -> list[asyncio.Task[Any]]:
    """Every task of this loop that runs code of the desk."""
    found = []
    for task in asyncio.all_tasks():
        coroutine: Any = task.get_coro()
        if any(place in coroutine.cr_code.co_filename for place in OURS):
            found.append(task)
    return found


def kill(task: asyncio.Task[Any], words: str) -> bool:
    """Raise a defect where the task waits; False where it waits for another task of the desk."""
    waits: Any = getattr(task, "_fut_waiter", None)
    if waits is None or isinstance(waits, asyncio.Task) or waits.done():
        return False
    waits.set_exception(Planted(words))
    return True


async def until(clock: ManualClock, condition: Callable[[], object]) -> None:
    await manual_time.until(clock, condition, lambda: [_place(task) for task in own_tasks()])


@pytest.fixture
async def desk(trade: World, tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk that follows its orders at the service over loopback."""
    opened = Desk.open(load_settings({}, Home.at(tmp_path / "home")), clock=trade.clock)
    async with trade.served(works=True) as url:
        await opened.connect(Connection(url, FIRST_KEY, "alice"))
        yield opened
        await opened.close()


async def test_each_task_is_killed_told_and_started_again(trade: World, desk: Desk) -> None:
    clock = trade.clock
    told: list[Defect] = []
    desk.background.on_defect = told.append
    tracker = desk.link.tracker

    def live() -> bool:
        return tracker.stream_state == "live"

    await until(clock, live)
    created = await desk.link.exchange.create(await trade.quoted())
    assert isinstance(created, Created)
    service_id = created.order.service_id

    def display() -> str | None:
        found = tracker.get(service_id)
        return display_of(found.order) if found is not None else None

    await until(clock, display)
    # Every place where a task waits, once; what a killed one was part of is started again.
    # A ping or a write that is under way is over before.
    await until(clock, lambda: {_place(task) for task in own_tasks()} - UNTOLD == PLACES)
    for place in sorted(PLACES):
        told.clear()
        await until(clock, lambda place=place: kill_at(place))
        await until(clock, lambda: told)
        assert all(defect.task in KEPT and defect.again for defect in told), told
        await until(clock, live)
    # An event that makes a defect stops no other.
    told.clear()
    bad = OrderMissing([], clock.now())  # type: ignore[arg-type]
    await desk.link.stream._events.put(bad)
    trade.venue.move(f"{service_id}:in", LegStatus.CONFIRMING)
    await until(clock, lambda: display() == DisplayStatus.DEPOSIT_DETECTED)
    assert [defect.task for defect in told] == ["following orders"]
    running = {task.get_name() for task in own_tasks()}
    assert {"following orders", "looking for unknown outcomes"} <= running


def _place(task: asyncio.Task[Any]) -> str:
    coroutine: Any = task.get_coro()
    return task.get_name() if task.get_name() in KEPT else str(coroutine.__qualname__)


def kill_at(place: str) -> bool:
    killed = [kill(task, place) for task in own_tasks() if _place(task) == place]
    return any(killed)


async def test_a_task_is_started_later_and_later_and_told_once() -> None:
    clock, told = ManualClock(), []
    background = BackgroundTasks(clock, told.append)
    began: list[float] = []

    async def work() -> None:
        began.append(clock.monotonic())
        if len(began) == 3:
            # Something within was cancelled, and not the task.
            raise asyncio.CancelledError
        raise Planted

    task = background.start("the work", work)
    await manual_time.until(clock, lambda: len(began) == 9)
    waited = [round(later - before) for before, later in pairwise(began)]
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [type(defect.error) for defect in told] == [Planted, asyncio.CancelledError]
    assert str(told[0]) == "A defect stopped the work: Planted. It is started again."
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
