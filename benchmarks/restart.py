"""Seconds from a service that was killed under load to one that answers again, on its files."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.report import Case
from swapdesk.service.store.sqlite import connect

KILLS = 5
"""In each round."""
ORDERS = 100_000
MOST_SECONDS = 2.0
_TESTS = Path(__file__).resolve().parent.parent / "tests"


def run(rounds: int) -> list[Case]:
    """``rounds`` stores, each of which a service is killed over several times; and as many whose
    store has 100,000 orders, all of which wait for their deposit and are due.

    The kills are those of the tests. A first start, on an empty store, is none of the figures.
    """
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    from service import kill_loop

    few: list[float] = []
    many: list[float] = []
    for seed in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            tally = asyncio.run(kill_loop.run(place, cycles=KILLS + 1, seed=seed))
            few += tally.restart_seconds[1:]
            _multiply(place / "s.db")
            tally = asyncio.run(kill_loop.run(place, cycles=KILLS, seed=seed))
            many += tally.restart_seconds
            if tally.contradictions:
                raise RuntimeError(f"not as it was: {tally.contradictions[0]}")
    return [
        _case("restart after kill -9", few),
        _case("the same with 100,000 orders", many),
    ]


def _case(name: str, times: list[float]) -> Case:
    median = statistics.median(times)
    return Case(name, "restart", "limit", median, MOST_SECONDS, 1.0, count=len(times))


def _multiply(path: Path) -> None:
    """Copies of one order that waits, until there are ``ORDERS``; each has its announcement."""
    changed = {
        "service_id": "printf('order%017d', n)",
        "record_id": "printf('%024x', n)",
        "quote_id": "printf('%024x', n)",
    }
    with closing(connect(path, writes=True)) as db:
        named = (row["name"] for row in db.execute("PRAGMA table_info(orders)"))
        columns = [name for name in named if name != "number"]
        values = ", ".join(changed.get(name, name) for name in columns)
        db.execute("BEGIN")
        db.execute(
            "WITH RECURSIVE counted(n) AS"  # noqa: S608 - our own names
            f" (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {ORDERS})"
            f" INSERT INTO orders ({', '.join(columns)}) SELECT {values} FROM counted,"
            " (SELECT * FROM orders WHERE status = 0 AND due_at IS NOT NULL LIMIT 1)"
        )
        db.execute(
            "INSERT INTO outbox (service_id, partner_id, version, status, rank, committed)"
            " SELECT service_id, partner_id, version, status, rank, modified FROM orders"
            " WHERE service_id LIKE 'order%'"
        )
        db.execute("COMMIT")
