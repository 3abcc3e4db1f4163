"""The file behind the journal: SQLite, WAL, ``synchronous=FULL``, mode 0600, shared by processes.

Without a journal there are no side effects: every write raises JournalUnavailable if the file
cannot take it, and nothing may be sent then. A file of an older version is migrated when opened; a
newer or unknown one is refused.

Only one process works on an operation; another process may take the operation over when that
process has ended. A process is identified by pid and start time, because a pid may be reused.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from swapdesk.database_writing import durable, transaction
from swapdesk.flows.journal.journal_migration import PATIENCE_SECONDS, bring_up, refuse_others
from swapdesk.paths import make_directories


class JournalUnavailable(Exception):
    """Raised if the journal cannot be written or read. The caller must then send nothing that has a
    side effect."""


class JournalFile:
    """A connection to the journal file. ``problem`` says why it cannot be written; None if it
    can."""

    def __init__(
        self, connection: sqlite3.Connection | None, problem: str | None, path: Path | None = None
    ) -> None:
        self._connection = connection
        self.problem = problem
        self._path = path
        self._one_at_a_time = threading.RLock()

    @classmethod
    def open(cls, path: Path) -> JournalFile:
        """Opens, creates or migrates the file. If that fails, the file stays untouched and
        ``problem`` says why. Raises JournalRefused if the file is not a journal or has a newer
        version."""
        try:
            return cls(_opened(path), None, path)
        except JournalUnavailable as problem:
            return cls(None, str(problem))
        except (OSError, sqlite3.Error) as error:
            return cls(None, f"{path.name}: {error}")

    def second_connection(self) -> JournalFile:
        """Returns another connection for another thread. If it cannot be opened, its ``problem``
        says why."""
        if self._path is None or self._connection is None:
            return JournalFile(None, self.problem)
        try:
            connection = _connection(self._path, _BUSY_SECONDS, check_same_thread=False)
            durable(connection)
        except sqlite3.Error as error:
            return JournalFile(None, f"{self._path.name}: {error}")
        return JournalFile(connection, None, self._path)

    def close(self) -> None:
        with self._one_at_a_time:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self.problem = "the journal is closed"

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Returns a context manager whose block is one transaction, or a part of the transaction of
        an enclosing ``write`` block. May raise JournalUnavailable."""
        with self._one_at_a_time:
            if self._connection is None:
                raise JournalUnavailable(self.problem or "the journal is closed")
            if self._connection.in_transaction:
                yield self._connection
                return
            try:
                with transaction(self._connection):
                    yield self._connection
            except sqlite3.Error as error:
                raise JournalUnavailable(str(error)) from error

    def version(self) -> tuple[int, int] | None:
        """Returns a value that changes with each commit by any process; None if the file cannot be
        read."""
        if self._connection is None:
            return None
        try:
            (others,) = self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return None
        return others, self._connection.total_changes

    def read(self, query: str, values: tuple[Any, ...]) -> list[sqlite3.Row]:
        """Returns the rows of a query; empty if the journal could not be opened. Raises
        JournalUnavailable if the query fails."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise JournalUnavailable(str(error)) from error


_BUSY_SECONDS = 0.5
"""Seconds that a statement waits for another process's lock. Opening waits longer."""


def _connection(path: Path, patience: float, **how: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(
        path, timeout=patience, isolation_level=None, **how
    )
    connection.row_factory = sqlite3.Row
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    make_directories(path.parent)
    # Another process may have been quicker. A link is there as well, wherever it leads.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR, 0o600))
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise JournalUnavailable(f"{path.name} must be a plain file of mode 0600")
    db = _connection(path, PATIENCE_SECONDS)
    try:
        # One moment of the file: another process may be bringing it up.
        db.execute("BEGIN")
        with db:
            refuse_others(db, path.name)
        if db.execute("PRAGMA quick_check").fetchone()[0] != "ok":
            raise JournalUnavailable(f"{path.name} is damaged; it is kept as it is")
        _log_ahead(db)
        durable(db)
        bring_up(db, path)
        db.execute(f"PRAGMA busy_timeout={round(1000 * _BUSY_SECONDS)}")
    except BaseException:
        db.close()
        raise
    return db


def _log_ahead(db: sqlite3.Connection) -> None:
    """Switches the database to SQLite's write-ahead log. Tries several times, because SQLite
    refuses while another process does the same."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


class ProcessIdentity(Struct, frozen=True):
    """A process by pid and start time, because pids are reused. ``started`` is in clock ticks since
    boot; 0 if unknown."""

    pid: int
    started: int

    @classmethod
    def current(cls) -> ProcessIdentity:
        pid = os.getpid()
        return cls(pid, _start_ticks(pid) or 0)

    def may_take_over(self, owner: ProcessIdentity) -> bool:
        """Returns True if ``owner`` is this process or has ended, so that its work may be
        continued."""
        return owner == self or not owner.alive()

    def alive(self) -> bool:
        """Returns True if this process still runs; another with its pid does not count."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        ticks = _start_ticks(self.pid)
        return ticks is None or self.started in (0, ticks)


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets; fields count from its closing one.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not looked yet.
    return -1 if fields[0] == "Z" else int(fields[19])
