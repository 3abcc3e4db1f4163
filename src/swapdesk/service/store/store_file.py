"""The file of the embedded store: SQLite in WAL mode, one writer, separate connections to read."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from swapdesk.service.store.protocol import StoreUnavailable
from swapdesk.service.store.schema import configure
from swapdesk.service.store.writer import Writer

T = TypeVar("T")


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
