"""Takes operations, sends them in bundles, and follows the bundles until they count.

A bundle is written down with its signed bytes before the chain sees it. After a crash the same
bytes are handed in again; what is in no block and can never be is let go, and its operations wait
for another bundle. What became of an operation is told by the EntryPoint's event and what
surrounds it in the block.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import (
    BEFORE_EXECUTION_EVENT,
    HANDLE_OPS,
    MOST_OPERATIONS,
    REVERT_REASON_EVENT,
    USER_OPERATION_EVENT,
    OperationOutcome,
    read_outcome,
    read_revert_reason,
)
from swapdesk.chain.user_operation import (
    OperationError,
    PackedUserOperation,
    UserOperation,
    unpack,
    user_operation_hash,
)
from swapdesk.sandbox.node.evm.bundler.operations import (
    ENTRY_POINT_OCTETS,
    MOST_GAS,
    BundleRow,
    OperationNonceTaken,
    OperationRow,
    OperationRows,
    State,
    bundle_data,
    bundle_gas,
    check,
    check_numbers,
    fields,
    tried,
)
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.node import ChainAccount
from swapdesk.sandbox.node.evm.state_trie import read_code
from swapdesk.sandbox.node.evm.storage import LogFilter

_EVENT = bytes.fromhex(USER_OPERATION_EVENT[2:])


class Sighting(Struct, frozen=True):
    """An operation in a block: its outcome, the receipt of its transaction, the logs of its own
    calls, and what they said when they failed."""

    outcome: OperationOutcome
    receipt: dict[str, Any]
    logs: list[dict[str, Any]]
    reason: bytes


async def sighted(chain: LiveChain, operation_hash: bytes) -> Sighting | None:
    """None while the operation is in no published block. Raises Problem."""
    topics = (frozenset({_EVENT}), frozenset({operation_hash}))
    wanted = LogFilter(0, chain.head.number, frozenset({ENTRY_POINT_OCTETS}), topics)
    found = await chain.reading.logs(wanted)
    if not found:
        return None
    event = json.loads(found[-1])
    stored = chain.index.receipt(bytes.fromhex(event["transactionHash"][2:]))
    if stored is None:
        return None
    return _read(json.loads(stored[1]), operation_hash)


def _read(receipt: dict[str, Any], operation_hash: bytes) -> Sighting | None:
    own: list[dict[str, Any]] = []
    reason = b""
    for log in receipt["logs"]:
        topics, data = tuple(log["topics"]), bytes.fromhex(log["data"][2:])
        entry_point = log["address"].lower() == ENTRY_POINT.lower()
        outcome = read_outcome(topics, data) if entry_point else None
        if outcome is not None:
            if outcome.hash == operation_hash:
                return Sighting(outcome, receipt, [*own, log], reason)
            own, reason = [], b""
        elif entry_point and topics[0] == BEFORE_EXECUTION_EVENT:
            own = []
        else:
            own.append(log)
            if entry_point and topics[0] == REVERT_REASON_EVENT:
                reason = read_revert_reason(data)
    return None


def operation_of(
    chain: LiveChain, transaction_hash: str, operation_hash: bytes
) -> UserOperation | None:
    """The operation with this hash out of a bundle's own calldata."""
    found = chain.index.transaction(bytes.fromhex(transaction_hash[2:]))
    if found is None:
        return None
    try:
        call = HANDLE_OPS.read(bytes.fromhex(json.loads(found[1])["input"][2:]))
        for packed in call["operations"]:
            operation = unpack(PackedUserOperation(*packed))
            told = user_operation_hash(operation, ENTRY_POINT, chain.terms.chain_id)
            if told == operation_hash:
                return operation
    except (CalldataError, OperationError):
        return None
    return None


MIN_BUMP_PERCENT = 10
"""By how much both fees of a replacement must be higher."""

logger = logging.getLogger(__name__)


class ChainBundler:
    """The bundler of one chain, paid for by ``account``; ``included`` hears the hash of each
    operation that came into a block, once or again after a restart."""

    def __init__(
        self,
        chain: LiveChain,
        account: ChainAccount,
        rows: OperationRows,
        included: Callable[[str], None],
    ) -> None:
        self._included = included
        self._told: set[int] = set()
        self.chain = chain
        self.rows = rows
        self._name = chain.terms.short_name
        self._account = account
        self._wake = asyncio.Event()
        self._taking = asyncio.Lock()

    def hash_of(self, operation: UserOperation) -> bytes:
        return user_operation_hash(operation, ENTRY_POINT, self.chain.terms.chain_id)

    async def take(self, operation: UserOperation) -> bytes:
        """Take a signed operation; its hash. One that is taken or executed already is taken.
        Raises Problem."""
        operation_hash = self.hash_of(operation)
        async with self._taking:
            row = self.rows.find(self._name, operation_hash)
            if row is not None and row.state is not State.DROPPED:
                return operation_hash
            if await sighted(self.chain, operation_hash) is not None:
                return operation_hash
            check_numbers(self.chain, operation)
            others = self.rows.of_sender(self._name, operation.sender)
            replaced = self._replaced(operation, others)
            # One that makes the account goes before those that need it.
            makers = [one.operation for one in others if one.operation.factory is not None]
            before = makers if not self._stands(operation.sender) else []
            if replaced is not None:
                before = [one for one in before if one.nonce != operation.nonce]
            await check(self.chain, self._account.address, [*before, operation])
            try:
                self.rows.accept(
                    self._name,
                    operation_hash,
                    operation,
                    None if replaced is None else replaced.hash,
                )
            except OperationNonceTaken:
                raise fields("nonce: another operation with it is being executed") from None
        self._wake.set()
        return operation_hash

    async def run(self) -> None:
        """Send and follow bundles, for ever."""
        while True:
            changed = self.chain.changed
            self._wake.clear()
            try:
                await self._step()
            except Problem as problem:
                logger.info("%s sends no bundle now: %s", self._name, problem)
            except Exception:
                # The boundary of a bundle: what is written down is taken up at the next look.
                logger.exception("%s: a bundle failed", self._name)
            if self.rows.busy(self._name):
                await _first_of(changed.wait(), self._wake.wait())
            else:
                await self._wake.wait()

    def _replaced(
        self, operation: UserOperation, others: Sequence[OperationRow]
    ) -> OperationRow | None:
        """The operation that this one takes the nonce of. Raises Problem."""
        for other in others:
            if other.operation.nonce != operation.nonce:
                continue
            if other.state is not State.WAITING:
                raise fields("nonce: another operation with it is being executed")
            fees = (
                (operation.max_fee_per_gas, other.operation.max_fee_per_gas),
                (operation.max_priority_fee_per_gas, other.operation.max_priority_fee_per_gas),
            )
            if any(new * 100 < old * (100 + MIN_BUMP_PERCENT) for new, old in fees):
                raise fields("replacement underpriced: both fees must be 10 % higher")
            return other
        return None

    def _stands(self, sender: str) -> bool:
        root = bytes(self.chain.head.header.state_root)
        return bool(read_code(self.chain.state, root, bytes.fromhex(sender[2:])))

    async def _step(self) -> None:
        outstanding = [self._outstanding(one) for one in self.rows.open_bundles(self._name)]
        if not any(outstanding):
            await self._send()

    def _outstanding(self, bundle: BundleRow) -> bool:
        """Whether a bundle still has to come into a block; follows it."""
        chain = self.chain
        found = chain.index.receipt(bundle.hash)
        if found is not None and found[0] <= chain.head.number:
            if json.loads(found[1])["status"] != "0x1":
                # An operation could not be executed any more; the others wait again.
                self.rows.release(bundle)
                return False
            self._tell(bundle)
            if chain.head.number - found[0] + 1 >= chain.terms.confirmations:
                self.rows.finish(bundle)
                self._told.discard(bundle.id)
            return False
        if chain.pool.get(bundle.hash) is not None:
            return True
        try:
            chain.submit(bundle.raw, faulty=False)
        except Problem as problem:
            if "nonce too low" in str(problem):
                self.rows.release(bundle)
                return False
            logger.info("%s takes a bundle later: %s", self._name, problem)
        return True

    def _tell(self, bundle: BundleRow) -> None:
        if bundle.id not in self._told:
            self._told.add(bundle.id)
            for operation_hash in self.rows.hashes_of(bundle):
                self._included("0x" + operation_hash.hex())

    async def _send(self) -> None:
        rows = await self._chosen()
        if not rows:
            return
        operations = [row.operation for row in rows]
        data = bundle_data(operations, "0x" + self._account.address.hex())
        signed = await self._account.sign(
            ENTRY_POINT_OCTETS, payload=data, gas=bundle_gas(operations)
        )
        if self.rows.bundle(self._name, signed.hash, signed.raw, [row.hash for row in rows]):
            self.chain.submit(signed.raw, faulty=False)

    async def _chosen(self) -> list[OperationRow]:
        """What goes into the next bundle; what can be executed no more is given up."""
        chosen: list[OperationRow] = []
        for row in self.rows.waiting(self._name):
            if len(chosen) == MOST_OPERATIONS:
                break
            if bundle_gas([one.operation for one in (*chosen, row)]) > MOST_GAS:
                break
            sender = row.operation.sender
            made = any(one.operation.sender == sender for one in chosen)
            if row.operation.factory is not None or made or self._stands(sender):
                chosen.append(row)
            elif not any(
                one.operation.factory is not None for one in self.rows.of_sender(self._name, sender)
            ):
                self.rows.drop(self._name, row.hash, "the sender does not stand")
        while chosen:
            operations = [one.operation for one in chosen]
            trial = await tried(self.chain, self._account.address, operations)
            bad = (
                trial.refused.index if trial.refused is not None else min(trial.failing, default=-1)
            )
            problem = trial.problem(bad)
            if problem is None:
                break
            row = chosen.pop(min(bad, len(chosen) - 1))
            self.rows.drop(self._name, row.hash, str(problem))
        return chosen


async def _first_of(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(one) for one in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
