"""Which UserOperations the bundler takes, and its rows of them and of the bundles it sent.

An operation's numbers are checked and it is tried on the chain; error codes are those of ERC-7769.
Every change of a row is by compare-and-set: an operation that waits is put into one bundle, and of
one sender's nonce one operation waits. Whole before anybody hears of it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm_answers import revert_words
from swapdesk.chain.smart_account import (
    HANDLE_OPS,
    REVERT_REASON_EVENT,
    FailedOp,
    read_failed_op,
    read_outcome,
    read_revert_reason,
)
from swapdesk.chain.user_operation import UserOperation, operation_json, pack, read_operation
from swapdesk.database_writing import durable
from swapdesk.sandbox.chain_rows import GAS_LIMIT
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.evm.live_chain import LiveChain


class BundlerCode(IntEnum):
    REJECTED = -32500
    """By the EntryPoint or the account."""
    PAYMASTER = -32501
    OPCODE = -32502
    DEADLINE = -32503
    BANNED = -32504
    STAKE = -32505
    AGGREGATOR = -32506
    SIGNATURE = -32507
    EXECUTION = -32521
    """The calls inside would fail."""
    FIELDS = -32602


_CODES = {"AA22": BundlerCode.DEADLINE, "AA24": BundlerCode.SIGNATURE}


def refused(failed: FailedOp) -> Problem:
    """The EntryPoint's own words under the code that stands for them."""
    code = _CODES.get(failed.code, BundlerCode.REJECTED)
    if failed.code.startswith("AA3"):
        code = BundlerCode.PAYMASTER
    inner = f": {revert_words(failed.inner)}" if failed.inner else ""
    data = "0x" + failed.inner.hex() if failed.inner else None
    return Problem(f"{failed.reason}{inner}", code, data)


def fields(words: str) -> Problem:
    return Problem(words, BundlerCode.FIELDS)


ENTRY_POINT_OCTETS = bytes.fromhex(ENTRY_POINT[2:])
OVERHEAD = 60_000
"""Gas of a bundle around its operations that no limit of theirs covers, its bytes left out."""
MOST_GAS = GAS_LIMIT * 2 // 3
"""Of one bundle: others want into the block too."""
_NOBODY = "the sender does not stand"
"""The EntryPoint says nothing of a sender without code."""
MOST_DATA = 16_384
MOST_SIGNATURE = 1_024
MOST_FACTORY_DATA = 1_004


def bundle_data(operations: Sequence[UserOperation], beneficiary: str) -> bytes:
    return HANDLE_OPS.call([tuple(pack(one)) for one in operations], beneficiary)


def bundle_gas(operations: Sequence[UserOperation]) -> int:
    """A limit with which no operation is short of the gas it was promised: of what is left at a
    call one part in 64 stays behind."""
    promised = sum(one.verification_gas_limit + one.call_gas_limit for one in operations)
    around = sum(one.pre_verification_gas for one in operations)
    return promised + promised // 16 + around + 200_000


def least_pre_verification_gas(operation: UserOperation) -> int:
    """What a bundle of this operation alone costs before and around its own limits."""
    data = bundle_data([operation], ENTRY_POINT)
    zeros = data.count(0)
    return 21_000 + 4 * zeros + 16 * (len(data) - zeros) + OVERHEAD


def check_numbers(chain: LiveChain, operation: UserOperation) -> None:
    """Raises Problem for what no bundler would take."""
    if operation.paymaster is not None:
        raise Problem("paymasters are not supported", BundlerCode.PAYMASTER)
    sizes = (
        (operation.call_data, MOST_DATA, "callData"),
        (operation.signature, MOST_SIGNATURE, "signature"),
        (operation.factory_data, MOST_FACTORY_DATA, "factoryData"),
    )
    for data, most, name in sizes:
        if len(data) > most:
            raise fields(f"{name}: at most {most} bytes are taken")
    least = least_pre_verification_gas(operation)
    if operation.pre_verification_gas < least:
        raise fields(f"preVerificationGas: at least {least:#x} is needed")
    if bundle_gas([operation]) > MOST_GAS:
        raise fields("callGasLimit: the operation does not fit into a bundle")
    fee, tip = operation.max_fee_per_gas, operation.max_priority_fee_per_gas
    if tip > fee:
        raise fields("maxPriorityFeePerGas: it is above maxFeePerGas")
    if fee < chain.next_base_fee:
        raise fields(f"maxFeePerGas: at least {chain.next_base_fee:#x} is needed")


class Trial(Struct, frozen=True):
    """What came of a bundle that was tried. ``refused`` is the operation that the EntryPoint
    would not take; ``failing`` are places of operations whose calls would fail, with what they
    said."""

    refused: FailedOp | None
    failing: Mapping[int, bytes]

    def problem(self, place: int) -> Problem | None:
        """Why the operation at this place is not good as it is."""
        if self.refused is not None:
            return refused(self.refused)
        if place in self.failing:
            said = self.failing[place]
            words = revert_words(said)
            return Problem(
                f"execution reverted: {words}" if words else "execution reverted",
                BundlerCode.EXECUTION,
                "0x" + said.hex(),
            )
        return None


async def tried(chain: LiveChain, bundler: bytes, operations: Sequence[UserOperation]) -> Trial:
    """Execute a bundle on the newest block, and leave nothing behind. Raises Problem for one that
    fails without a word for any of its operations."""
    beneficiary = "0x" + bundler.hex()
    call = {
        "from": beneficiary,
        "to": ENTRY_POINT,
        "gas": hex(bundle_gas(operations)),
        "data": "0x" + bundle_data(operations, beneficiary).hex(),
    }
    (block,) = await chain.reading.simulate(
        chain.head.header, {"blockStateCalls": [{"calls": [call]}], "validation": False}
    )
    (outcome,) = block["calls"]
    if outcome["status"] == "0x1":
        return Trial(None, _failing(outcome["logs"]))
    error = outcome["error"]
    data = error.get("data")
    said = bytes.fromhex(data[2:]) if isinstance(data, str) else b""
    failed = read_failed_op(said)
    if failed is None:
        words = error["message"] if said or error["code"] != Code.REVERTED else _NOBODY
        raise Problem(words, BundlerCode.REJECTED, data)
    return Trial(failed, {})


def _failing(logs: list[dict[str, Any]]) -> dict[int, bytes]:
    failing: dict[int, bytes] = {}
    place, said = 0, b""
    for log in logs:
        if log["address"].lower() != ENTRY_POINT.lower():
            continue
        topics, data = tuple(log["topics"]), bytes.fromhex(log["data"][2:])
        outcome = read_outcome(topics, data)
        if outcome is None:
            said = read_revert_reason(data) if topics[0] == REVERT_REASON_EVENT else said
            continue
        if not outcome.success:
            failing[place] = said
        place, said = place + 1, b""
    return failing


async def check(chain: LiveChain, bundler: bytes, operations: Sequence[UserOperation]) -> None:
    """Raises Problem unless the last operation can follow those before it in one bundle."""
    trial = await tried(chain, bundler, operations)
    problem = trial.problem(len(operations) - 1)
    if problem is not None:
        raise problem


VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS bundles (
  id INTEGER PRIMARY KEY, chain TEXT NOT NULL, hash BLOB NOT NULL, raw BLOB NOT NULL,
  state TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS bundle_open ON bundles (chain, id) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS operations (
  id INTEGER PRIMARY KEY, chain TEXT NOT NULL, hash BLOB NOT NULL, sender TEXT NOT NULL,
  nonce TEXT NOT NULL, document TEXT NOT NULL, state TEXT NOT NULL,
  bundle INTEGER REFERENCES bundles, reason TEXT NOT NULL DEFAULT '',
  UNIQUE (chain, hash)
);
CREATE UNIQUE INDEX IF NOT EXISTS operation_of_nonce ON operations (chain, sender, nonce)
  WHERE state IN ('waiting', 'sent');
CREATE INDEX IF NOT EXISTS operation_waiting ON operations (chain, id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS operation_of_bundle ON operations (bundle);
"""


class State(StrEnum):
    """Of an operation."""

    WAITING = "waiting"
    SENT = "sent"
    """In a bundle that was signed."""
    LANDED = "landed"
    """In a block that counts."""
    DROPPED = "dropped"
    """It cannot be executed any more, or another took its nonce."""


class OperationNonceTaken(Exception):
    """Another operation with this sender and nonce waits or was sent: ``existing``."""

    def __init__(self, existing: OperationRow) -> None:
        super().__init__("another operation has this nonce")
        self.existing = existing


class OperationRow(Struct, frozen=True):
    hash: bytes
    operation: UserOperation
    state: State
    reason: str


class BundleRow(Struct, frozen=True):
    id: int
    hash: bytes
    raw: bytes


class OperationRows:
    """Opens ``path`` with mode 0600. One connection, used on the event loop."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        durable(self._connection)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def find(self, chain: str, operation_hash: bytes) -> OperationRow | None:
        row = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND hash = ?", (chain, operation_hash)
        ).fetchone()
        return None if row is None else _row(row)

    def of_sender(self, chain: str, sender: str) -> list[OperationRow]:
        """Those that wait or were sent, oldest first."""
        rows = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND sender = ?"
            " AND state IN ('waiting', 'sent') ORDER BY id",
            (chain, sender),
        )
        return [_row(row) for row in rows]

    def busy(self, chain: str) -> bool:
        """Whether anything waits or was sent and does not count yet."""
        found = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM operations WHERE chain = ? AND state = 'waiting')"
            " OR EXISTS (SELECT 1 FROM bundles WHERE chain = ? AND state = 'open')",
            (chain, chain),
        ).fetchone()
        return bool(found[0])

    def accept(
        self,
        chain: str,
        operation_hash: bytes,
        operation: UserOperation,
        replaces: bytes | None = None,
    ) -> None:
        """Take an operation; one that is taken already stays as it is. ``replaces`` is one that
        waits and gives way. Raises OperationNonceTaken."""
        with self._transaction() as connection:
            existing = self.find(chain, operation_hash)
            if existing is not None and existing.state is not State.DROPPED:
                return
            if replaces is not None:
                connection.execute(
                    "UPDATE operations SET state = 'dropped', reason = 'replaced'"
                    " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                    (chain, replaces),
                )
            for other in self.of_sender(chain, operation.sender):
                if other.operation.nonce == operation.nonce:
                    raise OperationNonceTaken(other)
            connection.execute(
                "DELETE FROM operations WHERE chain = ? AND hash = ? AND state = 'dropped'",
                (chain, operation_hash),
            )
            connection.execute(
                "INSERT INTO operations (chain, hash, sender, nonce, document, state)"
                " VALUES (?, ?, ?, ?, ?, 'waiting')",
                (
                    chain,
                    operation_hash,
                    operation.sender,
                    hex(operation.nonce),
                    json.dumps(operation_json(operation)),
                ),
            )

    def waiting(self, chain: str) -> list[OperationRow]:
        rows = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND state = 'waiting' ORDER BY id", (chain,)
        )
        return [_row(row) for row in rows]

    def bundle(
        self, chain: str, transaction_hash: bytes, raw: bytes, operations: Sequence[bytes]
    ) -> bool:
        """Write a signed bundle down with all of its operations, or nothing: False when one of
        them does not wait any more, and then the bytes are thrown away."""
        try:
            with self._transaction() as connection:
                cursor = connection.execute(
                    "INSERT INTO bundles (chain, hash, raw, state) VALUES (?, ?, ?, 'open')",
                    (chain, transaction_hash, raw),
                )
                for operation_hash in operations:
                    taken = connection.execute(
                        "UPDATE operations SET state = 'sent', bundle = ?"
                        " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                        (cursor.lastrowid, chain, operation_hash),
                    )
                    if taken.rowcount != 1:
                        raise _Overtaken
        except _Overtaken:
            return False
        return True

    def open_bundles(self, chain: str) -> list[BundleRow]:
        rows = self._connection.execute(
            "SELECT * FROM bundles WHERE chain = ? AND state = 'open' ORDER BY id", (chain,)
        )
        return [BundleRow(row["id"], bytes(row["hash"]), bytes(row["raw"])) for row in rows]

    def hashes_of(self, bundle: BundleRow) -> list[bytes]:
        """The operations of a bundle."""
        rows = self._connection.execute(
            "SELECT hash FROM operations WHERE bundle = ? ORDER BY id", (bundle.id,)
        )
        return [bytes(row["hash"]) for row in rows]

    def finish(self, bundle: BundleRow) -> None:
        """The bundle is in a block that counts."""
        with self._transaction() as connection:
            connection.execute("UPDATE bundles SET state = 'done' WHERE id = ?", (bundle.id,))
            connection.execute(
                "UPDATE operations SET state = 'landed' WHERE bundle = ? AND state = 'sent'",
                (bundle.id,),
            )

    def release(self, bundle: BundleRow) -> None:
        """Nothing of the bundle was executed, and nothing ever will be: its operations wait."""
        with self._transaction() as connection:
            connection.execute("UPDATE bundles SET state = 'failed' WHERE id = ?", (bundle.id,))
            connection.execute(
                "UPDATE operations SET state = 'waiting', bundle = NULL"
                " WHERE bundle = ? AND state = 'sent'",
                (bundle.id,),
            )

    def drop(self, chain: str, operation_hash: bytes, reason: str) -> None:
        """Give an operation up that waits."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE operations SET state = 'dropped', reason = ?"
                " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                (reason, chain, operation_hash),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


class _Overtaken(Exception):
    """An operation of a bundle does not wait any more."""


def _row(row: sqlite3.Row) -> OperationRow:
    return OperationRow(
        bytes(row["hash"]),
        read_operation(json.loads(row["document"])),
        State(row["state"]),
        row["reason"],
    )
