"""Writes to a SQLite file so that commits survive a loss of power. Nothing is sent or signed before
its record is on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


def durable(connection: sqlite3.Connection) -> None:
    """Configures the connection so that a commit returns only when its data is on disk. On macOS
    this includes the drive's cache."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Yields the connection in a transaction that holds the write lock. Commits at the end of the
    block; after an error, nothing is committed."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield connection
