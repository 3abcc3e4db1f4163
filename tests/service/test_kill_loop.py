"""An acknowledged order is never lost, whenever the service is killed (contract 17.1, 17.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

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
