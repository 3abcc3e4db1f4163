"""What is committed is on the disk, on macOS too, whichever of the stores it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import swapdesk
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.webhooks import TakenLog
from swapdesk.sandbox.node import mined_log
from swapdesk.sandbox.node.database import Database
from swapdesk.service.store.sqlite import connect


def journal(place: Path) -> sqlite3.Connection | None:
    return Journal.open(place / "journal.db", ManualClock())._file._connection


def journal_of_a_thread(place: Path) -> sqlite3.Connection | None:
    return Journal.open(place / "journal.db", ManualClock()).order_writer()._file._connection


def service(place: Path) -> sqlite3.Connection:
    return connect(place / "service.db", writes=True)


STORES: dict[str, Callable[[Path], sqlite3.Connection | None]] = {
    "journal": journal,
    "journal of a thread": journal_of_a_thread,
    "transactions of the wallet": lambda place: RecordsFile(place, writable=True)._connection,
    "webhooks": lambda place: TakenLog(place / "webhooks.db", "http://127.0.0.1/")._db,
    "service": service,
    "exchanges": lambda place: Database(place / "node.db").connection,
}


@pytest.mark.parametrize("store", STORES)
def test_a_commit_waits_for_the_disk(store: str, tmp_path: Path) -> None:
    connection = STORES[store](tmp_path)
    assert connection is not None
    with closing(connection):
        told = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "fullfsync", "checkpoint_fullfsync")
        }
    assert told == {"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1}


def test_a_log_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(mined_log, "FULL_FLUSH", 51)
    monkeypatch.setattr("fcntl.fcntl", lambda file, command: asked.append(command))
    log = mined_log.MinedLog(tmp_path, "chain")
    log.read()
    log.append(b"mined")
    assert asked == [51]
    log.replace(b"everything")
    assert asked == [51, 51]
    log.close()


def test_no_store_asks_for_it_by_itself() -> None:
    """Where it is asked for twice, one of them is forgotten. The cache of tokens promises less."""
    sources = Path(swapdesk.__file__).parent
    asking = {
        str(file.relative_to(sources))
        for file in sources.rglob("*.py")
        if "PRAGMA synchronous" in file.read_text(encoding="utf-8")
    }
    assert asking == {"database_writing.py", "flows/catalog/catalog_file.py"}
