"""Journals as earlier versions of the desk wrote them, and what those desks said of them.

``everything.sql`` has every state of everything that version 7 could hold; a file of a version
before holds of it what that version had. ``answers.json`` has what the code of version 7 answered
to each of its reading methods, of each of these files and of the two that older code wrote; of all
but the first only what is not as in the first. An order or intent stands there with a digest of
its JSON.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "journals"
FIRST, SECOND = _FOLDER / "version_1.sql", _FOLDER / "version_2.sql"
EVERYTHING = _FOLDER / "everything.sql"

_BUNDLES = ("withdrawal", "bundle", "bundle_payment", "batch_payer")
_BATCHES = (*_BUNDLES, "batch", "batch_group", "batch_row")
FILES: Mapping[str, tuple[int, tuple[str, ...]]] = {
    **{str(version): (version, ()) for version in range(1, 8)},
    "1 without withdrawals": (1, ("withdrawal",)),
    "1 without bundles": (1, _BUNDLES),
    "1 without batches": (1, _BATCHES),
    "1 of the first day": (1, (*_BATCHES, "accepted_output", "call")),
}
"""Version and missing tables: version 1 grew without another number."""


def written(path: Path, dump: Path = FIRST) -> Path:
    """The file that ``dump`` was taken from, made anew at ``path`` as a desk leaves it."""
    with closing(_connected(path)) as db:
        db.executescript(dump.read_text())
    return path


def everything(path: Path, name: str = "7") -> Path:
    """The file of :data:`FILES`, made anew at ``path``."""
    version, missing = FILES[name]
    with closing(_connected(path)) as db, closing(sqlite3.connect(":memory:")) as whole:
        for step in _steps():
            whole.executescript(step)
        whole.executescript(EVERYTHING.read_text())
        for step in _steps()[:version]:
            db.executescript(step)
        db.execute(f"PRAGMA user_version={version}")
        if "accepted_output" in missing:
            db.execute("DROP VIEW order_row")
        db.execute("BEGIN")
        for table, columns in _tables(db).items():
            if table in missing:
                db.execute(f"DROP TABLE {table}")
                continue
            names, places = ", ".join(columns), ", ".join("?" * len(columns))
            db.executemany(
                f"INSERT INTO {table} VALUES ({places})",  # noqa: S608
                whole.execute(f"SELECT {names} FROM {table} ORDER BY rowid"),  # noqa: S608
            )
        db.execute("COMMIT")
    return path


@cache
def answers(name: str) -> dict[str, Any]:
    """What the old code says of a file of :data:`FILES`, or of the first (``written 1``) or the
    second dump."""
    told: dict[str, dict[str, Any]] = json.loads((_FOLDER / "answers.json").read_text())
    if name.startswith("written"):
        return told[name]
    own = told[name]
    gone = own.pop("gone", [])
    return {
        question: answer
        for question, answer in {**told["7"], **own}.items()
        if question.split()[0] not in gone
    }


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Everything that stands in a journal, by table; without its empty tables."""
    with closing(sqlite3.connect(path)) as db:
        found = {
            name: db.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()  # noqa: S608
            for name in _tables(db)
        }
    return {name: told for name, told in found.items() if told}


def shape(path: Path) -> set[tuple[str, str, str | None]]:
    """What was created in a file, in the words it was created with."""
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute("SELECT type, name, sql FROM sqlite_master"))


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(0o600)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    return db


def _tables(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Names of columns by table."""
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    return {
        name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
        for (name,) in names.fetchall()
    }


@cache
def _steps() -> list[str]:
    """What each version added to the one before, from the first one on."""
    return (_FOLDER / "versions.sql").read_text().split("-- a version\n")[1:]
