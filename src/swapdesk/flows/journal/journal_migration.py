"""A journal of an older version becomes one of this version, step by step, or stays as it is.

Before the first step the file is copied as it is, beside it. A step and its number are one
transaction, so that a kill leaves the file before or after it. Two processes may begin at once:
one takes the write lock, the other waits for it and finds nothing left to do.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

from swapdesk.flows.journal.journal_schema import SCHEMA_VERSION, STEPS

PATIENCE_SECONDS = 30.0
"""How long another process may hold the file before this one gives up."""


class JournalRefused(Exception):
    """The journal is of a kind that this program must not use, and was left as it is. The text
    is one sentence: what is wrong, and what to do. ``code`` is for scripts."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


def refuse_others(db: sqlite3.Connection, name: str) -> None:
    """Raise JournalRefused for a file of a newer version, or for one that is no journal. Nothing
    is written to it."""
    version = _version(db)
    if version > SCHEMA_VERSION:
        raise JournalRefused(
            "JOURNAL_NEWER",
            f"{name} was written by a newer swapdesk (its version {version}, this one knows"
            f" {SCHEMA_VERSION}); start that swapdesk again: every order stands in the file, and"
            " nothing was changed.",
            "you: start the newer swapdesk",
        )
    strange = version == 0 and not _shape(db).keys() <= _shape_of(SCHEMA_VERSION).keys()
    if version < 0 or strange:
        raise _unknown(name, version)


def bring_up(db: sqlite3.Connection, path: Path) -> None:
    """Make the file behind ``db`` one of this version. Raises JournalRefused where that fails,
    then it is of the version that the last whole step made; of a new file also sqlite3.Error."""
    before = _version(db)
    try:
        while _version(db) < SCHEMA_VERSION:
            _next_step(db, path, before)
    except (OSError, sqlite3.Error) as error:
        if not before:
            raise
        raise JournalRefused(
            "JOURNAL_NOT_MOVED",
            f"{path.name} could not be brought up to this version ({error}); see to that and start"
            " again: every order stands in the file, which is as it was.",
            "you: make room, or end what holds the file, and start again",
        ) from error


def _next_step(db: sqlite3.Connection, path: Path, before: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        # Whoever had the lock may have done it, or gone further than this program knows.
        refuse_others(db, path.name)
        version = _version(db)
        if version < SCHEMA_VERSION:
            if version == before and _shape(db):
                _copy(path, version)
            _run(db, STEPS[version])
            # Whatever stood there under these names, no statement may fail on it later.
            if not _shape_of(version + 1).items() <= _shape(db).items():
                raise _unknown(path.name, version)
            db.execute(f"PRAGMA user_version={version + 1}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def copy_name(path: Path, version: int) -> Path:
    """Where the file stands as it was in ``version``: ``journal-version-1.db``."""
    return path.with_name(f"{path.stem}-version-{version}{path.suffix}")


def _run(db: sqlite3.Connection, step: str) -> None:
    for statement in step.split(";"):
        if statement.strip():
            db.execute(statement)


def _copy(path: Path, version: int) -> None:
    """Write the last commit beside the file, whole or not at all; the caller has the lock, so
    that nothing is written after it."""
    kept = copy_name(path, version)
    part = kept.with_name(f".{kept.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR
    handle = os.open(part, flags, 0o600)
    try:
        with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(part)) as copy:
            now.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        os.fsync(handle)
    finally:
        os.close(handle)
    part.replace(kept)
    folder = os.open(kept.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _shape(db: sqlite3.Connection) -> dict[str, str]:
    """What was created in the file, by name."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
    return dict(rows)


@cache
def _shape_of(version: int) -> Mapping[str, str]:
    """The same of a new file of a version."""
    with closing(sqlite3.connect(":memory:")) as db:
        for step in STEPS[:version]:
            _run(db, step)
        return _shape(db)


def _unknown(name: str, version: int) -> JournalRefused:
    return JournalRefused(
        "JOURNAL_UNKNOWN",
        f"{name} is not as any swapdesk writes it (its version {version}); move it to another"
        " place, or start the swapdesk that wrote it: whatever stands in the file is still there,"
        " and nothing was changed.",
        "you: find out who wrote the file before anything is paid",
    )
