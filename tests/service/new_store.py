"""Stores of tests that begin empty, as copies of one empty file.

Creating the tables waits for the disk many times; a copy of a file that has them does not.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import TypeVar

from swapdesk.service.store.database import configure, prepare
from swapdesk.service.store.sqlite import SqliteStore

Kind = TypeVar("Kind", bound=SqliteStore)


@cache
def _empty() -> bytes:
    """The file of a store right after it was created and first opened for writing."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            prepare(connection)
            configure(connection, writes=True)
        assert [each.name for each in path.parent.iterdir()] == [path.name]
        return path.read_bytes()


def open_new(path: Path, kind: type[Kind] = SqliteStore) -> Kind:  # type: ignore[assignment]
    """The store at a path, which is new or was left by an earlier one."""
    if not path.exists():
        path.write_bytes(_empty())
    opened = kind.open(path)
    assert isinstance(opened, kind)
    return opened
