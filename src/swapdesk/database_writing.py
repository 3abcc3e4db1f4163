"""Writes to a SQLite file so that commits survive a loss of power. Nothing is sent or signed before
its record is on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


def durable(connection: sqlite3.Connection) -> None:
    """Sets the connection so that a commit is on disk when it returns. On macOS an ordinary flush
    leaves data in the drive's cache, where it is lost without power. There the fullfsync settings
    make SQLite flush that cache too; on other systems they have no effect."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")
    connection.execute("PRAGMA checkpoint_fullfsync=ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Begins a transaction, yields the connection, and commits at the end of the ``with`` block;
    after an error, nothing is committed. The write lock is taken at the beginning."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield connection
