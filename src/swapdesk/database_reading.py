"""Reads a SQLite file without changing anything on disk, even while another process writes to the
file. An ordinary connection may create files beside the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yields a connection that reads the database at ``path``, including its write-ahead log.
    Raises sqlite3.Error, or OSError if the file is missing."""
    path.stat()
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if index.exists():
        # Somebody has the file open, or was killed.
        with _connection(path, "mode=ro&readonly_shm=1") as connection:
            yield connection
    elif log.exists() and log.stat().st_size:
        import shutil
        from tempfile import TemporaryDirectory

        # A log without its index was copied here: nobody writes, and reading makes an index.
        with TemporaryDirectory() as place:
            for file in (path, log):
                shutil.copyfile(file, Path(place, file.name))
            with _connection(Path(place, path.name), "mode=ro") as connection:
                yield connection
    else:
        with _connection(path, "immutable=1") as connection:
            yield connection


@contextmanager
def _connection(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    address = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        yield connection
