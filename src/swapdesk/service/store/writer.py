"""The file of the embedded store, and its one writer thread with group commit.

SQLite in WAL mode, separate connections to read. Whatever is queued shares one flush to disk.
Each piece of work has its own savepoint, so that one refusal does not sink its neighbours.
A future is resolved only after the commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from swapdesk.service.store.protocol import StoreUnavailable
from swapdesk.service.store.schema import configure

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BATCH = 64


@dataclass
class _Item:
    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """Owns the writing connection, which only its thread touches.

    ``after_commit`` is called in the writer's thread after every commit.
    """

    def __init__(self, connection: sqlite3.Connection, after_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._after_commit = after_commit
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T]) -> T:
        """Run ``work`` in a transaction and return its result after the commit.

        Raises what ``work`` raised (its changes undone), or StoreUnavailable.
        """
        loop = asyncio.get_running_loop()
        item = _Item(work, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._queue.put(item)
        result: T = await item.future
        return result

    def close(self) -> None:
        """Finish what is queued and end the thread. Blocks."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = self._connection
        try:
            while (first := self._queue.get()) is not None:
                batch, more = self._gather(first)
                self._commit(connection, batch)
                self._resolve(batch)
                self._after_commit()
                if not more:
                    return
        finally:
            connection.close()

    def _gather(self, first: _Item) -> tuple[list[_Item], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, False
            batch.append(item)
        return batch, True

    def _commit(self, connection: sqlite3.Connection, batch: list[_Item]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for item in batch:
                self._attempt(connection, item)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            log.error("store: a commit of %d items failed: %s", len(batch), error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for item in batch:
                item.error = StoreUnavailable(str(error))

    @staticmethod
    def _attempt(connection: sqlite3.Connection, item: _Item) -> None:
        connection.execute("SAVEPOINT item")
        try:
            item.result = item.work(connection)
        # Whatever it is, it belongs to the caller of this item and must not end the thread.
        except Exception as error:
            if not connection.in_transaction:
                # SQLite itself gave the whole transaction up: disk full, input or output error.
                raise sqlite3.OperationalError(str(error)) from error
            connection.execute("ROLLBACK TO item")
            item.error = (
                StoreUnavailable(str(error))
                if isinstance(error, sqlite3.OperationalError)
                else error
            )
        connection.execute("RELEASE item")

    @staticmethod
    def _resolve(batch: list[_Item]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
        for item in batch:
            by_loop.setdefault(item.loop, []).append(item)
        for loop, items in by_loop.items():
            try:
                loop.call_soon_threadsafe(_deliver, items)
            except RuntimeError:
                log.info("store: %d results came after their loop had ended", len(items))


def _deliver(items: list[_Item]) -> None:
    for item in items:
        if item.future.done():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)


class StoreFile:
    """Its connections; the file is there and of the newest shape."""

    def __init__(self, path: Path) -> None:
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        self._reading = _connect(path, writes=False)
        self._looking = _connect(path, writes=False)
        self._grown: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._writer = Writer(_connect(path, writes=True), self._wake)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.shutdown(wait=True)
        self._reading.close()
        self._looking.close()

    def look(self, query: str, values: tuple[str, str]) -> sqlite3.Row | None:
        """One row by its key, on the event loop: it takes less time than a thread's turn.

        A reader never waits for the writer in WAL mode. Raises StoreUnavailable.
        """
        try:
            row: sqlite3.Row | None = self._looking.execute(query, values).fetchone()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        return row

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work`` once it is durable. Raises StoreUnavailable and what it
        raises."""
        return await self._writer.submit(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, work, self._reading)
        except (sqlite3.Error, RuntimeError) as error:
            raise StoreUnavailable(str(error)) from error

    @contextlib.contextmanager
    def growth(self) -> Iterator[asyncio.Event]:
        """An event that is set with every commit."""
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event)
        self._grown.add(listener)
        try:
            yield event
        finally:
            self._grown.discard(listener)

    def _wake(self) -> None:
        """Tell who listens, from the writer's thread, that there may be something new."""
        for loop, event in tuple(self._grown):
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)


def _connect(path: Path, *, writes: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    configure(connection, writes=writes)
    return connection
