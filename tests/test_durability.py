"""What is committed is on the disk, on macOS too, whichever of the stores it is."""

from __future__ import annotations

import fcntl
import os
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
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.mined_log import MinedLog
from swapdesk.service.store.database import configure


def journal(place: Path) -> sqlite3.Connection | None:
    return Journal.open(place / "journal.db", ManualClock())._file._connection


def journal_of_a_thread(place: Path) -> sqlite3.Connection | None:
    return Journal.open(place / "journal.db", ManualClock()).order_writer()._file._connection


def service(place: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(place / "service.db", isolation_level=None)
    configure(connection, writes=True)
    return connection


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


@pytest.mark.parametrize("full", [(), (51,)])
def test_what_was_mined_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: tuple[int, ...]
) -> None:
    """On macOS by another call, here in its place."""
    log = MinedLog(tmp_path, "chain")
    log.read()
    waited: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "fsync", lambda *given: waited.append(given))
    monkeypatch.setattr(fcntl, "fcntl", lambda *given: waited.append(given))
    for command in full:
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", command, raising=False)
    log.append(b"a block")
    assert [given[1:] for given in waited] == [full]
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
