"""Seconds from a service that was killed under load to one that answers again, on its files."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Case

KILLS = 5
"""In each round."""
MOST_SECONDS = 2.0
_TESTS = Path(__file__).resolve().parent.parent / "tests"


def run(rounds: int) -> list[Case]:
    """``rounds`` stores, each of which a service is killed over several times.

    The kills are those of the tests. Its first start, on an empty store, is none of the figures.
    """
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    from service import kill_loop

    times: list[float] = []
    for seed in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            tally = asyncio.run(kill_loop.run(Path(place), cycles=KILLS + 1, seed=seed))
        times += tally.restart_seconds[1:]
    median = statistics.median(times)
    return [
        Case(
            "restart after kill -9", "restart", "limit", median, MOST_SECONDS, 1.0, count=len(times)
        )
    ]
