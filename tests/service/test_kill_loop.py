"""An acknowledged order is never lost, whenever the service is killed (contract 17.1, 17.2)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from databases import OwnServer
from service import process_kills
from service.kill_loop import run, verify
from service.new_store import stores_of


@pytest.mark.timeout(600)
async def test_kill_nine_at_random_moments(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """10 cycles, 100 with ``--full``; nothing acknowledged is lost, nothing exists twice."""
    cycles = 100 if request.config.getoption("--full", default=False) else 10
    with stores_of("sqlite"):
        tally = await run(tmp_path, cycles=cycles, seed=20261120)
        assert tally.cycles == cycles
        assert await verify(tmp_path, tally) == []
    assert len(tally.acknowledged) > 10 * cycles, "the load was real"
    assert len(tally.groups) > cycles // 2, "and there were groups in it"


@pytest.mark.timeout(1800)
async def test_processes_and_their_database_are_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """20 seconds, ten minutes of a full load with ``--full``: every create is definite or found,
    none is lost or doubled, no order goes back, and no window lets more through than its limit."""
    full = request.config.getoption("--full", default=False)
    with OwnServer.started() as own:
        tally, service, callers = await process_kills.run(
            own,
            tmp_path,
            seconds=600 if full else 20,
            restarts=3 if full else 1,
            rest=0 if full else 2,
            seed=20261128,
        )
        assert await process_kills.verify(own, tmp_path, tally, callers.minutes) == []
    sys.stdout.write(
        f"{len(tally.acknowledged)} orders of {len(tally.sent)} creates, {callers.refused} refused"
        f" by the limit, {service.kills} processes killed\n"
    )
    assert service.kills > 20, "they were killed"
    assert len(tally.acknowledged) > 100, "the load was real"
    assert callers.refused > 0, "and the limit was reached"
