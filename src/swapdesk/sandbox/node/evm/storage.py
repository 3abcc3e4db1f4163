"""One chain on disk: every block is one durable transaction with the state it made.

What a block adds to the state is one row: a row for each key would touch a page of the file for
each of them, as hashes lie anywhere. The writer thread owns a ``ChainStore``. Every thread that
reads has an ``Index`` of its own, which finds blocks by number, by hash, by transaction and by
log. Answers are JSON texts, as they were written when the block was made.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import rlp
from eth.db.backends.memory import MemoryDB
from eth.vm.forks.prague.blocks import PragueBlockHeader
from msgspec import Struct

from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.schema import read_chain_file

_KEY, _LENGTH = 32, 4


def packed(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Keys with their values, one after the other."""
    parts = []
    for key, value in entries:
        if len(key) != _KEY:
            raise ValueError(f"a key of {len(key)} bytes is no hash")
        parts += [key, len(value).to_bytes(_LENGTH, "big"), value]
    return b"".join(parts)


def unpacked(row: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a row. Raises ValueError when it is cut short."""
    at = 0
    while at < len(row):
        begin = at + _KEY + _LENGTH
        end = begin + int.from_bytes(row[at + _KEY : begin], "big")
        if end > len(row):
            raise ValueError("a row of the state is cut short")
        yield row[at : at + _KEY], row[begin:end]
        at = end


class LogRecord(Struct, frozen=True):
    """One log for the index. ``topics`` are 32 bytes each, joined; ``document`` its JSON."""

    position: int
    address: bytes
    topics: bytes
    document: str


class TransactionRecord(Struct, frozen=True):
    """One mined transaction with its answers for ``eth_getTransactionByHash`` and
    ``eth_getTransactionReceipt`` as JSON texts."""

    position: int
    hash: bytes
    sender: bytes
    nonce: int
    raw: bytes
    document: str
    receipt: str


class BlockRecord(Struct, frozen=True):
    """One sealed block. ``slot`` is the interval of world time it was made in, ``awaited`` how
    many more blocks shall follow it even if nothing is sent."""

    header: BlockHeader
    slot: int
    awaited: int
    document: str
    transactions: tuple[TransactionRecord, ...] = ()
    logs: tuple[LogRecord, ...] = ()

    @property
    def number(self) -> int:
        return int(self.header.block_number)


class ChainHead(Struct, frozen=True):
    """What clients may know: the newest block that is durable."""

    header: BlockHeader
    slot: int
    awaited: int

    @property
    def number(self) -> int:
        return int(self.header.block_number)


_ERA = "era"


class StateKeys(MemoryDB):
    """The state of a chain in memory; what was added since the last commit is noted.

    Keys are hashes of their values, so a key never changes its value: readers in other threads
    see a key or do not see it yet.
    """

    def __init__(self, kept: dict[bytes, bytes]) -> None:
        super().__init__(kept)
        self.unsaved: dict[bytes, bytes] = {}

    def __setitem__(self, key: bytes, value: bytes) -> None:
        if key not in self.kv_store:
            self.kv_store[key] = value
            self.unsaved[key] = value


class ChainStore:
    """The file of one chain as its writer uses it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        kept: dict[bytes, bytes] = {}
        for (entries,) in connection.execute("SELECT entries FROM state ORDER BY id"):
            kept.update(unpacked(entries))
        self.state = StateKeys(kept)

    def close(self) -> None:
        self._connection.close()

    def meta(self, name: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    @property
    def era(self) -> int:
        """How often blocks were unwound."""
        return int(self.meta(_ERA) or 0)

    def begin(self, block: BlockRecord, meta: dict[str, str]) -> None:
        """Store block 0 with what says whose chain this is."""
        with self._transaction() as connection:
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            self._save_state(connection)
            _insert(connection, block)

    def append(self, blocks: Iterable[BlockRecord]) -> None:
        """Make blocks durable; only after this returns may anybody hear of them."""
        with self._transaction() as connection:
            self._save_state(connection)
            for block in blocks:
                _insert(connection, block)

    def unwind(self, number: int) -> list[bytes]:
        """Forget every block above ``number``; returns their transactions, oldest first."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT raw FROM transactions WHERE number > ? ORDER BY number, position", (number,)
            ).fetchall()
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (_ERA, str(self.era + 1))
            )
            for table in ("logs", "transactions", "blocks"):
                connection.execute(f"DELETE FROM {table} WHERE number > ?", (number,))  # noqa: S608
        return [bytes(row[0]) for row in rows]

    def drop_state(self, kept: set[bytes]) -> int:
        """Remove state that is not ``kept``; returns how many keys went."""
        gone = [key for key in list(self.state.kv_store) if key not in kept]
        rest = packed((key, self.state.kv_store[key]) for key in kept)
        with self._transaction() as connection:
            connection.execute("DELETE FROM state")
            connection.execute("INSERT INTO state (entries) VALUES (?)", (rest,))
        for key in gone:
            del self.state.kv_store[key]
        return len(gone)

    def roots(self, last: int) -> list[bytes]:
        """State roots of the newest blocks, each once."""
        rows = self._connection.execute(
            "SELECT header FROM blocks ORDER BY number DESC LIMIT ?", (last,)
        )
        return list(dict.fromkeys(decode_header(row[0]).state_root for row in rows))

    def head(self) -> ChainHead | None:
        row = self._connection.execute(
            "SELECT header, slot, awaited FROM blocks ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return None if row is None else ChainHead(decode_header(row[0]), row[1], row[2])

    def header_by_hash(self, block_hash: bytes) -> BlockHeader | None:
        row = self._connection.execute(
            "SELECT header FROM blocks WHERE hash = ?", (block_hash,)
        ).fetchone()
        return None if row is None else decode_header(row[0])

    def header_at(self, number: int) -> BlockHeader | None:
        row = self._connection.execute(
            "SELECT header FROM blocks WHERE number = ?", (number,)
        ).fetchone()
        return None if row is None else decode_header(row[0])

    def _save_state(self, connection: sqlite3.Connection) -> None:
        if self.state.unsaved:
            row = packed(self.state.unsaved.items())
            connection.execute("INSERT INTO state (entries) VALUES (?)", (row,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        # Not before: what a failed commit left unsaved goes with the next block.
        self.state.unsaved.clear()


def decode_header(encoded: bytes) -> BlockHeader:
    return rlp.decode(encoded, PragueBlockHeader)


def _insert(connection: sqlite3.Connection, block: BlockRecord) -> None:
    connection.execute(
        "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?)",
        (
            block.number,
            block.header.hash,
            rlp.encode(block.header),
            block.slot,
            block.awaited,
            block.document,
        ),
    )
    connection.executemany(
        "INSERT INTO transactions (hash, number, position, sender, nonce, raw, document, receipt)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                each.hash,
                block.number,
                each.position,
                each.sender,
                each.nonce,
                each.raw,
                each.document,
                each.receipt,
            )
            for each in block.transactions
        ),
    )
    connection.executemany(
        "INSERT INTO logs VALUES (?, ?, ?, ?, ?)",
        (
            (block.number, each.position, each.address, each.topics, each.document)
            for each in block.logs
        ),
    )


MOST_LOGS = 10_000
_HEADERS_KEPT = 512


class TooManyLogs(Exception):
    """More logs match than one answer may hold."""


class LogFilter(Struct, frozen=True):
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
