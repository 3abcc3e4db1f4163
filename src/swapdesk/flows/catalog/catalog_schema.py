"""The tables of the token catalogue, and a connection to a file that has them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_VERSION = 3
"""3: version 2 lost every token of a chain with a member it did not know, without a word, so that
its lists are read anew; and a list knows how many tokens it lacks."""
_SCHEMA = """
CREATE TABLE token (
    generation INTEGER NOT NULL, id TEXT NOT NULL, chain TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, id)
) STRICT;
CREATE TABLE listing (
    generation INTEGER NOT NULL, field INTEGER NOT NULL, part INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (generation, field, part)
) STRICT;
CREATE TABLE chain (
    generation INTEGER NOT NULL, short_name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, short_name)
) STRICT;
CREATE TABLE provider (
    generation INTEGER NOT NULL, place INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, place)
) STRICT;
CREATE TABLE generation (
    number INTEGER PRIMARY KEY AUTOINCREMENT, begun REAL NOT NULL, finished REAL,
    skipped INTEGER NOT NULL DEFAULT 0
) STRICT;
"""


def connect(path: Path) -> sqlite3.Connection:
    """The file at ``path``, made when absent, mode 0600. Raises sqlite3.DatabaseError for one that
    is damaged or of another version."""
    connection = sqlite3.connect(path, timeout=2.0)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"catalogue of version {version}")
    except BaseException:
        connection.close()
        raise
    path.chmod(0o600)
    return connection
