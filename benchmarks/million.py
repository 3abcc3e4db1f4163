"""A store with a million finished orders, made by statements that both databases take."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.postgres_server import database, run_alone, server
from benchmarks.service_world import orders_in
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.store import postgres, sqlite
from swapdesk.service.store.database import Place, Transaction, micros
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.timestamps import rfc3339

ORDERS = 1_000_000
DATABASES = {"SQLite": sqlite.TYPES, "PostgreSQL": postgres.TYPES}
_AT_ONCE = 5_000
"""In a transaction, which the service's own settings give five seconds."""


@asynccontextmanager
async def filled(name: str, since: datetime, days: int, partners: int = 1) -> AsyncIterator[Store]:
    """A store that got its orders evenly over so many days; one in ``partners`` is the caller's
    own."""
    async with contextlib.AsyncExitStack() as held:
        if name == "SQLite":
            scratch = held.enter_context(tempfile.TemporaryDirectory())
            store, url = Store.open(Path(scratch) / "service.db"), None
        else:
            url = await database(held.enter_context(server()), "filled")
            store = await Store.connect(Place(url))
        held.push_async_callback(store.close)
        tokens = build_tokens(build_chains(), since)
        await orders_in(store, [one for one in tokens if one.has_cex], 1, since)
        statement = await _insertion(store, DATABASES[name].amount, partners)
        for day in range(days):
            first, end = (ORDERS * each // days for each in (day, day + 1))
            for start in range(first, end, _AT_ONCE):
                values = _values(since, day, start, min(end, start + _AT_ONCE), days)
                await store.database.write(partial(_add, statement=statement, values=values))
        if url is not None:
            # What the server does by itself, sooner or later.
            await run_alone(url, "VACUUM ANALYZE")
        yield store


def _values(since: datetime, day: int, start: int, end: int, days: int) -> dict[str, Any]:
    """Of the orders from ``start`` to before ``end``, all of one day."""
    finished = since + timedelta(days=day)
    return {
        "start": start,
        "end": end,
        "since": micros(since),
        "step": timedelta(days=days) // timedelta(microseconds=1) // ORDERS,
        "day": f"{finished:%Y-%m-%d}",
        "month": f"{finished:%Y-%m}",
        "booked": micros(finished),
        "detail": f'{{"finished":"{rfc3339(finished)}"}}',
    }


async def _insertion(store: Store, amount: str, partners: int) -> str:
    """Copies of the one order there is, each at a time and of a value of its own."""
    (row,) = await store.database.look("SELECT * FROM orders")
    number = "substr(CAST(100000000000000000 + n AS TEXT), 2)"
    made = ":since + n * :step"
    whose = f"CASE WHEN n % {partners} = 0 THEN partner_id ELSE 'partner' || (n % {partners}) END"
    earned = "'0.' || substr(CAST(100000000 + n % 99999989 AS TEXT), 2)"
    usd = "(n % 9973) || '.' || substr(CAST(1000000 + n % 999983 AS TEXT), 2)"
    changed = {
        "service_id": f"'order' || {number}",
        "record_id": f"'0000000' || {number}",
        "quote_id": f"'0000000' || {number}",
        "partner_id": whose,
        "created": made,
        "modified": made,
        "status": "4",
        "rank": "8",
        "amount_in_usd": f"CAST({usd} AS {amount})",
        "commission": f"CAST({earned} AS {amount})",
        "detail": "CAST(:detail AS TEXT)",
        "finished_day": "CAST(:day AS TEXT)",
    }
    columns = [name for name in row.keys() if name != "number"]  # noqa: SIM118 - not of a mapping
    values = ", ".join(changed.get(name, name) for name in columns)
    return (
        f"INSERT INTO orders ({', '.join(columns)})"  # noqa: S608 - our own names
        " WITH RECURSIVE counted (n) AS (SELECT CAST(:start AS BIGINT)"
        "  UNION ALL SELECT n + 1 FROM counted WHERE n < :end - 1),"
        " one AS MATERIALIZED (SELECT * FROM orders WHERE status <> 4)"
        f" SELECT {values} FROM counted CROSS JOIN one"
    )


async def _add(db: Transaction, statement: str, values: dict[str, Any]) -> None:
    await db.run(statement, values)
    await db.run(
        "INSERT INTO commissions (partner_id, kind, month, day, booked, amount, service_id)"
        " SELECT partner_id, 'earned', CAST(:month AS TEXT), finished_day, CAST(:booked AS BIGINT),"
        " commission, service_id FROM orders"
        " WHERE service_id >= 'order' || substr(CAST(100000000000000000 + :start AS TEXT), 2)"
        " AND service_id < 'order' || substr(CAST(100000000000000000 + :end AS TEXT), 2)",
        values,
    )
