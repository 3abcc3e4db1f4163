"""Writes to a SQLite file with durable commits, because nothing is sent or signed before its record
is on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


def durable(connection: sqlite3.Connection) -> None:
    """Makes every later commit of this connection durable once the commit returns. On macOS an
    ordinary flush leaves data in the drive's cache, which is lost without power; SQLite's fullfsync
    settings use F_FULLFSYNC instead. They have no effect on other systems."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commits everything done inside the ``with`` block, or nothing. Takes the write lock before
    anything is read."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield connection
