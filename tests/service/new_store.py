"""Stores of tests that begin empty, over whichever database the test is run with."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from databases import Cluster, Name
from patience import PATIENCE
from swapdesk.service.store.database import Place
from swapdesk.service.store.records import OutboxRow
from swapdesk.service.store.sqlite import SqliteDatabase
from swapdesk.service.store.store import Store

_engine: Name | None = None
_databases: dict[Path, str] = {}


@cache
def _empty() -> bytes:
    """The file of a store right after it was created: a copy of one that has its tables does not
    wait for the disk."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        SqliteDatabase.open(path).end()
        assert [each.name for each in path.parent.iterdir()] == [path.name]
        return path.read_bytes()


@contextlib.contextmanager
def stores_of(engine: Name) -> Iterator[None]:
    """Stores that are opened from here on stand over this database."""
    global _engine
    _engine = engine
    try:
        yield
    finally:
        _engine = None
        _databases.clear()


def open_new(path: Path) -> Store:
    """The store at a path, which is new or was left by an earlier one of the same test."""
    asks = os.environ.get("PYTEST_CURRENT_TEST", "")
    # Elsewhere the desk is tested, and the embedded database does.
    assert _engine or not asks.startswith("tests/service/"), "take the fixture ``engine``"
    if _engine != "postgres":
        if not path.exists():
            path.write_bytes(_empty())
        return Store.open(path)
    if path not in _databases:
        _databases[path] = Cluster.of_run().empty_database(len(_databases))
    return Cluster.of_run().store(_databases[path])


def url_at(path: Path) -> str:
    """Of the PostgreSQL database behind the stores at a path."""
    return Cluster.of_run().url(_databases[path])


async def changed(store: Store, statement: str, **values: Any) -> int:
    """What somebody else did to the rows: how many."""
    return await store.database.write(lambda db: db.run(statement, values))


async def found(store: Store, query: str, **values: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await store.database.look(query, values)]


async def announced(store: Store, after: int = 0) -> list[OutboxRow]:
    """What the outbox tells, once it tells all that was committed: other tests write in the same
    server, and what is younger than one of their transactions is told after it."""
    (count,) = (await found(store, _BEYOND, after=after))[0]
    async with asyncio.timeout(PATIENCE):
        while True:
            rows = await store.outbox.after(after, 10_000)
            if len(rows) >= count:
                return rows
            await asyncio.sleep(0.001)


_BEYOND = "SELECT COUNT(*) FROM outbox WHERE sequence > :after"


async def open_again(path: Path, world: Mapping[str, str] | None = None) -> Store:
    """The same as a service opens it that starts: its schema and its world are looked at."""
    await open_new(path).close()
    if _engine != "postgres":
        return Store.open(path, world)
    return await Store.connect(Place(url_at(path)), world)
