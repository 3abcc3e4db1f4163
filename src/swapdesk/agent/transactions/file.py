"""``transactions.db``: a SQLite file (WAL, ``synchronous=FULL``, mode 0600) that one process
writes.

It also has the count of everything that was signed, in the order of signing. The count is written
in one database transaction with its signature, before the signature is given out. After a crash a
signature that nobody received may be counted, but none that somebody received is missing. Time
never runs back here: if the clock is set back, no limit becomes free again. A clock that was set
forward is not detected.
"""

from __future__ import annotations

import math
import os
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from swapdesk.agent.spending.limits import Counted, Past, Spend, Spending, SpendSums
from swapdesk.database_writing import durable, transaction
from swapdesk.paths import UnsafePlace, read_private
from swapdesk.wallet.accounts import RECORDS
from swapdesk.wallet.protocol import Refused
from swapdesk.wallet.spending import SECONDS, SpendWindow

FILE = RECORDS
SCHEMA_VERSION = 6
_SCHEMA = """
CREATE TABLE IF NOT EXISTS chain(
  name TEXT PRIMARY KEY,
  chain_id INTEGER,
  genesis TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS tx(
  hash TEXT PRIMARY KEY,
  intent TEXT NOT NULL,
  purpose TEXT NOT NULL,
  chain TEXT NOT NULL,
  account TEXT NOT NULL,
  content BLOB NOT NULL,
  raw BLOB NOT NULL,
  nonce INTEGER,
  fee TEXT,
  priority TEXT,
  last_valid INTEGER,
  state TEXT NOT NULL,
  confirmations INTEGER NOT NULL DEFAULT 0,
  replaces TEXT REFERENCES tx(hash),
  problem TEXT,
  created TEXT NOT NULL,
  asked TEXT,
  code TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS tx_intent ON tx(intent);
CREATE INDEX IF NOT EXISTS tx_account ON tx(chain, account, nonce);
CREATE TABLE IF NOT EXISTS given(
  seq INTEGER PRIMARY KEY,
  intent TEXT NOT NULL,
  content BLOB NOT NULL,
  act TEXT NOT NULL,
  quote TEXT,
  chain_id INTEGER,
  owner TEXT NOT NULL,
  token TEXT,
  contract TEXT,
  key TEXT,
  step INTEGER,
  total INTEGER,
  complete INTEGER NOT NULL,
  hash TEXT REFERENCES tx(hash),
  at TEXT NOT NULL,
  taking TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS given_intent ON given(intent);
CREATE TABLE IF NOT EXISTS spent(
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  chain_id INTEGER,
  token TEXT,
  units TEXT,
  account TEXT NOT NULL,
  taker TEXT NOT NULL,
  grants INTEGER NOT NULL,
  once TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS spent_at ON spent(at);
CREATE INDEX IF NOT EXISTS spent_content ON spent(content);
CREATE TABLE IF NOT EXISTS paid_call(
  chain_id INTEGER,
  token TEXT,
  payee TEXT NOT NULL,
  UNIQUE(chain_id, token, payee)
) STRICT;
CREATE TABLE IF NOT EXISTS policy(digest BLOB PRIMARY KEY) STRICT;
"""


class RecordsFile:
    """The open records file in ``directory``. If ``writable`` is False, the file need not exist.
    The constructor raises Refused (code ``records``), and changes nothing, if the file cannot be
    used."""

    def __init__(self, directory: Path, *, writable: bool) -> None:
        path = directory / FILE
        try:
            self._connection = _opened(path, writable)
            self._copy: sqlite3.Connection | None = None
            self._copied = 0
            self._current()
        except (OSError, sqlite3.Error) as error:
            raise Refused("records", f"{FILE} cannot be used: {error}") from None

    def _current(self) -> sqlite3.Connection:
        if _version(self._connection) == SCHEMA_VERSION:
            return self._connection
        commits = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if self._copy is None or commits != self._copied:
            copy = _database(":memory:")
            self._connection.backup(copy)
            _take_on(copy)
            self._copy, self._copied = copy, commits
        return self._copy

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection inside a database transaction. All changes are written to disk at its
        end, or undone if an exception is raised. Raises Refused if the file cannot be written."""
        try:
            with transaction(self._connection) as connection:
                yield connection
        except sqlite3.Error as error:
            raise Refused("records", f"{FILE} cannot be written: {error}") from None

    def read(self, sql: str, *values: object) -> list[sqlite3.Row]:
        try:
            return self._current().execute(sql, values).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise Refused("records", f"{FILE} cannot be read: {error}") from None

    def close(self) -> None:
        self._connection.close()


def _database(place: str, **how: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(place, isolation_level=None, **how)
    connection.row_factory = sqlite3.Row
    return connection


def _opened(path: Path, writable: bool) -> sqlite3.Connection:
    exists = path.exists() or path.is_symlink()
    if not writable and not exists:
        connection = _database(":memory:")
        _take_on(connection)
        return connection
    if not exists:
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR
        os.close(os.open(path, flags, 0o600))
    # The size of a database is no reason to refuse it; mode, owner and links are.
    _check(path)
    mode = "rw" if writable else "ro"
    connection = _database(f"{path.as_uri()}?mode={mode}", timeout=0.5, uri=True)
    try:
        _version(connection)
        if writable:
            connection.execute("PRAGMA journal_mode=WAL")
            durable(connection)
            connection.execute("PRAGMA foreign_keys=ON")
            if connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                raise UnsafePlace("it is damaged")
            _take_on(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise UnsafePlace("it was written by a newer swapdesk")
    return version


_FIVE_STATES = """
UPDATE tx SET
  code = CASE WHEN state IN ('mined', 'failed', 'replaced', 'lost', 'abandoned')
    THEN upper(state) END,
  state = CASE state
    WHEN 'signed' THEN 'prepared'
    WHEN 'sending' THEN 'unknown'
    WHEN 'mined' THEN 'sent'
    WHEN 'succeeded' THEN 'done'
    WHEN 'failed' THEN 'refused'
    WHEN 'replaced' THEN 'refused'
    WHEN 'lost' THEN 'refused'
    WHEN 'abandoned' THEN 'refused'
    ELSE state END
"""


def _take_on(connection: sqlite3.Connection) -> None:
    if _version(connection) == SCHEMA_VERSION:
        return
    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA}")
    columns = {
        str(row["name"])
        for table in ("tx", "given")
        for row in connection.execute(f"PRAGMA table_info({table})")
    }
    if "asked" not in columns:
        # Transactions of that release have no record of what was asked for.
        connection.execute("ALTER TABLE tx ADD COLUMN asked TEXT")
    if "taking" not in columns:
        # Nor of what a signature lets be taken, so each counts for all of it.
        connection.execute("ALTER TABLE given ADD COLUMN taking TEXT")
    if "code" not in columns:
        connection.execute("ALTER TABLE tx ADD COLUMN code TEXT")
        connection.execute(_FIVE_STATES)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _check(path: Path) -> None:
    try:
        read_private(path, 0)
    except UnsafePlace as unsafe:
        if "larger than" not in str(unsafe):
            raise


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def count(connection: sqlite3.Connection, spending: Spending | None, at: datetime) -> None:
    """Adds what can leave because of a signature to the count, unless it was added before. Uses the
    caller's database transaction. ``at`` is a time from ``SpentRecord.now``."""
    if spending is None or not spending.all:
        return
    row = connection.execute(
        "SELECT 1 FROM spent WHERE content=? AND once=?", (spending.content, spending.once)
    ).fetchone()
    if row is not None:
        return
    when = _microseconds(at)
    connection.executemany(
        "INSERT INTO spent(at, chain_id, token, units, account, taker, grants, once, content)"
        " VALUES(?,?,?,?,?,?,?,?,?)",
        [
            (
                when,
                spend.token[0],
                spend.token[1],
                None if spend.units == math.inf else str(spend.units),
                spend.account,
                spend.taker,
                int(spend.grants),
                spending.once,
                spending.content,
            )
            for spend in spending.all
        ],
    )


class SpentRecord:
    """The count of everything that was signed, for the limits of the policy. ``monotonic`` returns
    seconds that never run backward. Methods may raise Refused if the file fails."""

    def __init__(self, file: RecordsFile, monotonic: Callable[[], float]) -> None:
        self._file = file
        self._monotonic = monotonic
        self._seen: tuple[datetime, float] | None = None
        self._times: list[int] = []
        """For each entry of ``_rows``, the time when it was counted, in microseconds since 1970.
        The times never decrease."""
        self._rows: list[Counted] = []
        self._last = 0
        self._dropped = 0
        self._ledgers: dict[SpendWindow, tuple[int, int, SpendSums]] = {}
        """For each window: the number of its first row, the number after its last row, and the sums
        of its rows. The numbers count all rows that were ever read, including those dropped
        since."""

    def now(self, now: datetime) -> datetime:
        """Returns the time to use for counting: ``now``, or the time of the last counted signature
        if that is later. Setting the clock back thus frees no limit."""
        ticked = self._monotonic()
        if self._seen is not None:
            seen, at = self._seen
            now = max(now, seen + timedelta(seconds=ticked - at))
        [row] = self._file.read("SELECT COALESCE(MAX(at), 0) FROM spent")
        now = max(now, _EPOCH + timedelta(microseconds=row[0]))
        self._seen = (now, ticked)
        return now

    def has(self, spending: Spending) -> bool:
        """True if this payload was counted already, or if nothing can leave because of it."""
        return not spending.all or bool(
            self._file.read(
                "SELECT 1 FROM spent WHERE content=? AND once=? LIMIT 1",
                spending.content,
                spending.once,
            )
        )

    def past(self, now: datetime, spending: Spending | None = None) -> Past:
        """Returns what was counted in each window up to ``now``, and whether ``spending`` itself
        was counted."""
        end = _microseconds(self.now(now))
        self._read(end - max(SECONDS.values()) * _SECOND)
        windows = {
            window: self._ledger(window, bisect_right(self._times, end - seconds * _SECOND))
            for window, seconds in SECONDS.items()
        }
        return Past(windows, spending is not None and self.has(spending))

    def _read(self, longest: int) -> None:
        rows = self._file.read(
            "SELECT seq, at, chain_id, token, units, account, taker, grants, once FROM spent"
            " WHERE seq>? AND at>? ORDER BY seq",
            self._last,
            longest,
        )
        for row in rows:
            self._times.append(row["at"])
            self._rows.append(_counted(row))
            self._last = row["seq"]
        over = bisect_right(self._times, longest)
        del self._times[:over], self._rows[:over]
        self._dropped += over

    def _ledger(self, window: SpendWindow, start: int) -> SpendSums:
        first, end = self._dropped + start, self._dropped + len(self._rows)
        known = self._ledgers.get(window)
        if known is not None and known[0] == first:
            if known[1] < end:
                known[2].add(self._rows[known[1] - self._dropped :])
            ledger = known[2]
        else:
            ledger = SpendSums(self._rows[start:])
        self._ledgers[window] = (first, end, ledger)
        return ledger

    # The policy's file

    def policies(self) -> frozenset[bytes]:
        """Returns the digests that the policy file may have: none if there is no policy, two only
        while a new file is being written."""
        return frozenset(bytes(row["digest"]) for row in self._file.read("SELECT * FROM policy"))

    def expect_policy(self, digest: bytes) -> None:
        """Accepts the digest of a new policy file that is about to be written, beside the old
        digest until ``keep_policy`` is called."""
        with self._file.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO policy(digest) VALUES(?)", (digest,))

    def keep_policy(self, digest: bytes) -> None:
        """Records that the new policy file was written, so that only its digest is accepted."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM policy WHERE digest<>?", (digest,))


def _counted(row: sqlite3.Row) -> Counted:
    units = row["units"]
    return (
        Spend(
            (row["chain_id"], row["token"]),
            math.inf if units is None else int(units),
            row["account"],
            row["taker"],
            bool(row["grants"]),
        ),
        row["once"],
    )
