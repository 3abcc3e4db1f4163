"""Journals as earlier versions of the desk wrote them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

_DUMPS = Path(__file__).parent / "journals"
FIRST, SECOND = _DUMPS / "version_1.sql", _DUMPS / "version_2.sql"


def written(path: Path, dump: Path = FIRST) -> Path:
    """The file that ``dump`` was taken from, made anew at ``path`` as a desk leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(dump.read_text())
    return path


def stepped(path: Path, steps: Iterable[str]) -> Path:
    """The same file after these steps of a program that was killed before the next one."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for step in steps:
            (before,) = db.execute("PRAGMA user_version").fetchone()
            db.executescript(f"{step}PRAGMA user_version={before + 1}")
    return path


def rows(path: Path, *, ledger: bool = False) -> dict[str, list[tuple[object, ...]]]:
    """Everything that stands in a journal, by table; columns that a later version added and that
    are empty are left out, as are its empty tables, and without ``ledger`` what was made of the
    others."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = {
            name: db.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()  # noqa: S608
            for (name,) in tables
        }
    if not ledger:
        found.pop("operation", None)
    return {name: [_trimmed(row) for row in told] for name, told in found.items() if told}


def _trimmed(row: tuple[object, ...]) -> tuple[object, ...]:
    last = len(row)
    while row[last - 1] is None:
        last -= 1
    return row[:last]


def shape(path: Path) -> set[tuple[str, str, str | None]]:
    """What was created in a file, in the words it was created with."""
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute("SELECT type, name, sql FROM sqlite_master"))


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
