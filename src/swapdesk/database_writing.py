"""Writing a SQLite file whose commits are promises: nothing is sent or signed before one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


def durable(connection: sqlite3.Connection) -> None:
    """Have every commit of this connection on the disk when it returns.

    On macOS a flush leaves what was written in the cache of the drive, from which a loss of power
    takes it, unless F_FULLFSYNC is asked for; SQLite does so by its own settings alone. Elsewhere
    they change nothing.
    """
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All that is done inside or nothing. The lock is taken before anything is read."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield connection
