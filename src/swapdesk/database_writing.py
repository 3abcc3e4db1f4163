"""Writing a SQLite file whose commits are promises: nothing is sent or signed before one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


def durable(connection: sqlite3.Connection) -> None:
    """Makes every commit of this connection durable when it returns. On macOS a flush leaves data
    in the drive's cache, which a loss of power empties, unless F_FULLFSYNC is used; only SQLite's
    own settings do so. Elsewhere they change nothing."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commits everything done inside, or nothing. The lock is taken before anything is read."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield connection
