"""What is asked about blocks that are durable: by number, by hash, by transaction, by log.

Every thread that reads has an ``Index`` of its own. Answers are JSON texts, as they were
written when the block was made.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.schema import read_chain_file
from swapdesk.sandbox.node.evm.storage import decode_header

MOST_LOGS = 10_000
_HEADERS_KEPT = 512


class TooManyLogs(Exception):
    """More logs match than one answer may hold."""


@dataclass(frozen=True)
class LogFilter:
    """``topics``: per place the values that match, or None for any. ``last`` is included."""

    first: int
    last: int
    addresses: frozenset[bytes]
    topics: Sequence[frozenset[bytes] | None]


class Index:
    """Reads one chain's file over a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._connection: sqlite3.Connection = read_chain_file(path)
        self.header_by_hash = lru_cache(maxsize=_HEADERS_KEPT)(self._header_by_hash)

    def close(self) -> None:
        self._connection.close()

    def header_at(self, number: int) -> BlockHeader | None:
        return self._header("SELECT header FROM blocks WHERE number = ?", number)

    def forget(self) -> None:
        """After a reorganisation: nothing read before counts."""
        self.header_by_hash.cache_clear()

    def block(self, number: int, *, whole: bool) -> dict[str, Any] | None:
        """A block's document with its transactions' hashes, or with all of them (``whole``)."""
        row = self._connection.execute(
            "SELECT document FROM blocks WHERE number = ?", (number,)
        ).fetchone()
        if row is None:
            return None
        document: dict[str, Any] = json.loads(row[0])
        found = self._connection.execute(
            "SELECT hash, document FROM transactions WHERE number = ? ORDER BY position", (number,)
        )
        document["transactions"] = [
            json.loads(text) if whole else "0x" + bytes(block_hash).hex()
            for block_hash, text in found
        ]
        return document

    def transaction(self, transaction_hash: bytes) -> tuple[int, str] | None:
        """Block number and document."""
        return self._text("document", transaction_hash)

    def receipt(self, transaction_hash: bytes) -> tuple[int, str] | None:
        """Block number and receipt."""
        return self._text("receipt", transaction_hash)

    def transaction_at(self, number: int, position: int) -> str | None:
        row = self._connection.execute(
            "SELECT document FROM transactions WHERE number = ? AND position = ?",
            (number, position),
        ).fetchone()
        return None if row is None else str(row[0])

    def receipts(self, number: int) -> list[dict[str, Any]]:
        """Of one block, in its order."""
        rows = self._connection.execute(
            "SELECT receipt FROM transactions WHERE number = ? ORDER BY position", (number,)
        )
        return [json.loads(row[0]) for row in rows]

    def transactions(self, first: int, last: int) -> list[tuple[str, str]]:
        """Documents and receipts of what is in these blocks, in the order of the chain."""
        rows = self._connection.execute(
            "SELECT document, receipt FROM transactions WHERE number BETWEEN ? AND ?"
            " ORDER BY number, position",
            (first, last),
        )
        return [(str(document), str(receipt)) for document, receipt in rows]

    def logs(self, wanted: LogFilter) -> list[str]:
        """Documents of the logs that match, in the order of the chain. Raises TooManyLogs."""
        query = "SELECT topics, document FROM logs WHERE number BETWEEN ? AND ?"
        values: list[Any] = [wanted.first, wanted.last]
        if wanted.addresses:
            query += f" AND address IN ({','.join('?' * len(wanted.addresses))})"
            values += sorted(wanted.addresses)
        found: list[str] = []
        rows = self._connection.execute(query + " ORDER BY number, position", values)
        for topics, document in rows:
            if _matches(topics, wanted.topics):
                if len(found) == MOST_LOGS:
                    raise TooManyLogs
                found.append(document)
        return found

    def _text(self, column: str, transaction_hash: bytes) -> tuple[int, str] | None:
        row = self._connection.execute(
            f"SELECT number, {column} FROM transactions WHERE hash = ?",  # noqa: S608 (ours)
            (transaction_hash,),
        ).fetchone()
        return None if row is None else (int(row[0]), str(row[1]))

    def _header_by_hash(self, block_hash: bytes) -> BlockHeader | None:
        return self._header("SELECT header FROM blocks WHERE hash = ?", block_hash)

    def _header(self, query: str, key: int | bytes) -> BlockHeader | None:
        row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else decode_header(row[0])


def _matches(topics: bytes, wanted: Sequence[frozenset[bytes] | None]) -> bool:
    if len(topics) < 32 * len(wanted):
        return False
    return all(
        values is None or topics[32 * place : 32 * place + 32] in values
        for place, values in enumerate(wanted)
    )
