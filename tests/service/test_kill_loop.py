"""An acknowledged order is never lost, whenever the service is killed (contract 17.1, 17.2)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import databases
from databases import OwnServer
from manual_time import rest
from patience import PATIENCE, eventually
from service.kill_loop import forking, run, run_processes, verify, verify_processes
from service.new_store import changed, found, stores_of, url_at
from service.orders_fixtures import Floor, row_of, venues_at
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.wire.orders import LegStatus


@pytest.mark.timeout(600)
async def test_kill_nine_at_random_moments(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """8 cycles, 100 with ``--full``; nothing acknowledged is lost, nothing exists twice."""
    cycles = 100 if request.config.getoption("--full", default=False) else 8
    with stores_of("sqlite"):
        tally = await run(tmp_path, cycles=cycles, seed=20261120)
        assert len(tally.restart_seconds) == cycles
        assert await verify(tmp_path, tally) == []
    assert len(tally.acknowledged) > 10 * cycles, "the load was real"
    assert len(tally.groups) > cycles // 2, "and there were groups in it"


@pytest.mark.timeout(1800)
async def test_processes_and_their_database_are_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """6 seconds, ten minutes of a full load with ``--full``: every create is definite or found,
    none is lost or doubled, no order goes back, and no window lets more through than its limit."""
    full = request.config.getoption("--full", default=False)
    with OwnServer.started() as own:
        tally, service, callers, minutes = await run_processes(
            own,
            tmp_path,
            count=64 if full else 24,
            seconds=600 if full else 6,
            kills=20 if full else 10,
            restarts=3 if full else 1,
            rest=0 if full else 2,
            seed=20261128,
        )
        assert await verify_processes(own, tmp_path, tally, minutes) == []
    sys.stdout.write(
        f"{len(tally.acknowledged)} orders of {len(tally.sent)} creates, {callers.refused} refused"
        f" by the limit, {service.kills} processes killed\n"
    )
    assert service.kills > (20 if full else 10), "they were killed"
    assert len(tally.acknowledged) > 100, "the load was real"
    assert callers.refused > 0, "and the limit was reached"


async def test_the_order_of_a_killed_worker_is_taken_within_ten_seconds(
    engine: databases.Name, tmp_path: Path
) -> None:
    """By the time of another worker, which goes on only while that has nothing to do: how quick the
    machine is decides nothing."""
    path, venues = tmp_path / "service.db", tmp_path / "v.db"
    clock = ManualClock(SystemClock().now())
    floor = Floor(path, clock, venues_at(venues))
    order = await floor.create()
    where = {"store": str(path)} if engine == "sqlite" else {"database": url_at(path)}
    asked = {**where, "venues": str(venues), "role": "WORKS", "silent": "yes"}
    async with forking() as nursery:
        nursery.stdin.write(json.dumps(asked).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            pid = json.loads(await nursery.stdout.readline())["pid"]
            os.kill(pid, signal.SIGSTOP)
            while await lease_of(floor) is None:
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(0.01)
                os.kill(pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not runs(pid))
    gone = SystemClock().now()
    # Waits for what the database still undoes of it.
    await changed(floor.store, "UPDATE orders SET attempt = attempt")
    for venue in floor.adapters:
        for key in venue.keys:
            venue.move(key, LegStatus.CONFIRMING)
    clock.advance((gone - clock.now()).total_seconds())
    working = asyncio.create_task(floor.worker.run())
    await rest()
    while (await row_of(floor, order)).status == 0:
        assert clock.now() - gone <= timedelta(seconds=10)
        clock.advance_to_next()
        await rest()
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    await floor.store.close()


def runs(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def lease_of(floor: Floor) -> int | None:
    ((until,),) = await found(floor.store, "SELECT lease_until FROM orders")
    return None if until is None else int(until)
