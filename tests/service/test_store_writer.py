"""The thread that writes: nobody hears of a change before it is committed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE
from swapdesk.service.store.database import Writer
from swapdesk.service.store.records import StoreUnavailable


class HeldCommit(sqlite3.Connection):
    """A connection whose commit waits for ``released``, and fails when ``broken``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.began, self.released = threading.Event(), threading.Event()
        self.broken = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.began.set()
            assert self.released.wait(PATIENCE)
            if self.broken:
                raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE paid (units INTEGER)")
    return path


@pytest.fixture
def held(path: Path) -> HeldCommit:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=HeldCommit)


@pytest.fixture
def writer(held: HeldCommit) -> Iterator[Writer]:
    made = Writer(held, lambda: None)
    yield made
    held.released.set()
    made.close()


def insert(connection: sqlite3.Connection) -> str:
    connection.execute("INSERT INTO paid VALUES (7)")
    return "written"


def kept(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [units for (units,) in connection.execute("SELECT units FROM paid")]


async def begun(writer: Writer, held: HeldCommit) -> asyncio.Task[str]:
    """Something that is written, at the moment at which its commit has begun."""
    task = asyncio.create_task(writer.submit(insert))
    await asyncio.to_thread(held.began.wait, PATIENCE)
    # What the thread handed over before has its turn now.
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_an_answer_follows_the_commit(writer: Writer, held: HeldCommit, path: Path) -> None:
    task = await begun(writer, held)
    assert not task.done()
    assert kept(path) == []
    held.released.set()
    assert await task == "written"
    assert kept(path) == [7]


async def test_what_was_not_committed_is_not_told_as_done(
    writer: Writer, held: HeldCommit, path: Path
) -> None:
    task = await begun(writer, held)
    held.broken = True
    held.released.set()
    with pytest.raises(StoreUnavailable):
        await task
    assert kept(path) == []
