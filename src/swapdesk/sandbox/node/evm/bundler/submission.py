"""Takes operations, sends them in bundles, and follows the bundles until they are in a block.

What was taken is written down before anybody hears of it. What became of it is told by the
EntryPoint's event and what surrounds it in the block.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import msgspec

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import (
    BEFORE_EXECUTION_EVENT,
    MOST_OPERATIONS,
    REVERT_REASON_EVENT,
    USER_OPERATION_EVENT,
    read_outcome,
    read_revert_reason,
)
from swapdesk.chain.user_operation import (
    UserOperation,
    operation_json,
    read_operation,
    user_operation_hash,
)
from swapdesk.sandbox.node.evm.beginning import chains_in
from swapdesk.sandbox.node.evm.bundler.operations import (
    ENTRY_POINT_OCTETS,
    MOST_GAS,
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
from swapdesk.sandbox.node.evm.serialize import Document, data, quantity
from swapdesk.sandbox.node.mined_log import MinedLog

logger = logging.getLogger(__name__)

_EVENT = bytes.fromhex(USER_OPERATION_EVENT[2:])
_Entry = list[tuple[bytes, dict[str, Any] | None]]
"""Operations that were taken, and without a document those that came to an end."""


async def sighted(chain: LiveChain, operation_hash: bytes) -> Document | None:
    """The receipt of an operation (ERC-7769); None while it is in no block. Raises Problem."""
    words = (ENTRY_POINT_OCTETS, _EVENT, operation_hash)
    found = await chain.logs(0, chain.head.number, [frozenset({word}) for word in words])
    if not found:
        return None
    receipt = chain.receipt(bytes.fromhex(found[-1]["transactionHash"][2:]))
    return None if receipt is None else _receipt(receipt, operation_hash)


def _receipt(receipt: Document, operation_hash: bytes) -> Document | None:
    """Of one operation out of that of its bundle: with the logs of its own calls, and what they
    said when they failed."""
    own: list[Document] = []
    reason = b""
    for log in receipt["logs"]:
        topics, octets = tuple(log["topics"]), bytes.fromhex(log["data"][2:])
        entry_point = log["address"].lower() == ENTRY_POINT.lower()
        outcome = read_outcome(topics, octets) if entry_point else None
        if outcome is not None:
            if outcome.hash == operation_hash:
                return {
                    "userOpHash": data(outcome.hash),
                    "entryPoint": ENTRY_POINT,
                    "sender": outcome.sender,
                    "nonce": quantity(outcome.nonce),
                    "paymaster": outcome.paymaster,
                    "actualGasCost": quantity(outcome.actual_gas_cost),
                    "actualGasUsed": quantity(outcome.actual_gas_used),
                    "success": outcome.success,
                    "logs": [*own, log],
                    "receipt": receipt,
                    **({} if outcome.success else {"reason": data(reason)}),
                }
            own, reason = [], b""
        elif entry_point and topics[0] == BEFORE_EXECUTION_EVENT:
            own = []
        else:
            own.append(log)
            if entry_point and topics[0] == REVERT_REASON_EVENT:
                reason = read_revert_reason(octets)
    return None


MIN_BUMP_PERCENT = 10
"""By how much both fees of a replacement must be higher."""


class TakenOperations:
    """Operations of one chain that were taken and came to no end yet, oldest first. They are on
    the disk before anybody hears of them."""

    def __init__(self, directory: Path, chain: str) -> None:
        self._log = MinedLog(chains_in(directory), f"bundler-{chain}")
        self._held: dict[bytes, UserOperation] = {}
        snapshot, entries = self._log.read()
        for entry in ([] if snapshot is None else [snapshot]) + entries:
            for operation_hash, document in msgspec.msgpack.decode(entry, type=_Entry):
                if document is None:
                    self._held.pop(operation_hash, None)
                else:
                    self._held[operation_hash] = read_operation(document)
        if entries:
            held = [(each, operation_json(one)) for each, one in self._held.items()]
            self._log.replace(msgspec.msgpack.encode(held))

    def __len__(self) -> int:
        return len(self._held)

    def close(self) -> None:
        self._log.close()

    def get(self, operation_hash: bytes) -> UserOperation | None:
        return self._held.get(operation_hash)

    def items(self) -> list[tuple[bytes, UserOperation]]:
        return list(self._held.items())

    def of_sender(self, sender: str) -> dict[bytes, UserOperation]:
        return {each: one for each, one in self._held.items() if one.sender == sender}

    def take(
        self, operation_hash: bytes, operation: UserOperation, replaced: bytes | None = None
    ) -> None:
        """``replaced`` gives way to it. Raises OSError, and then nothing has changed."""
        gone = [] if replaced is None else [(replaced, None)]
        entry = [*gone, (operation_hash, operation_json(operation))]
        self._log.append(msgspec.msgpack.encode(entry))
        self._held.pop(replaced or b"", None)
        self._held[operation_hash] = operation

    def end(self, operation_hashes: Collection[bytes]) -> None:
        """They were executed, or never can be."""
        self._log.append(msgspec.msgpack.encode([(each, None) for each in operation_hashes]))
        for each in operation_hashes:
            self._held.pop(each, None)


class ChainBundler:
    """The bundler of one chain, paid for by ``account``; ``included`` hears the hash of each
    operation that came into a block, once or again after a restart.

    What is in a bundle is kept in memory alone: after a crash nobody has the bundle, and the
    EntryPoint executes no operation twice.
    """

    def __init__(
        self,
        chain: LiveChain,
        account: ChainAccount,
        taken: TakenOperations,
        included: Callable[[str], None],
    ) -> None:
        self._included = included
        self.chain = chain
        self.taken = taken
        self._bundle: bytes | None = None
        """The hash of the transaction that is to come into a block."""
        self._bundled: frozenset[bytes] = frozenset()
        self._account = account
        self._wake = asyncio.Event()
        self._taking = asyncio.Lock()
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """What was taken is taken up at the next start."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        self.taken.close()

    def hash_of(self, operation: UserOperation) -> bytes:
        return user_operation_hash(operation, ENTRY_POINT, self.chain.terms.chain_id)

    async def take(self, operation: UserOperation) -> bytes:
        """Take a signed operation; its hash. One that is taken or executed already is taken.
        Raises Problem."""
        operation_hash = self.hash_of(operation)
        async with self._taking:
            if self.taken.get(operation_hash) is not None:
                return operation_hash
            if await sighted(self.chain, operation_hash) is not None:
                return operation_hash
            check_numbers(self.chain, operation)
            self._replaced(operation)
            # One that makes the account goes before those that need it.
            others = self.taken.of_sender(operation.sender).values()
            makers = [one for one in others if one.factory is not None]
            before = [] if self._stands(operation.sender) else makers
            before = [one for one in before if one.nonce != operation.nonce]
            await check(self.chain, self._account.address, [*before, operation])
            # Meanwhile the other one may have been sent.
            self.taken.take(operation_hash, operation, self._replaced(operation))
        self._wake.set()
        return operation_hash

    async def _run(self) -> None:
        """Send and follow bundles, for ever."""
        for operation_hash, _ in self.taken.items():
            if await sighted(self.chain, operation_hash) is not None:
                self._landed([operation_hash])
        while True:
            changed = self.chain.changed
            self._wake.clear()
            try:
                await self._step()
            except Problem as problem:
                logger.info("%s sends no bundle now: %s", self.chain.terms.short_name, problem)
            except Exception:
                # The boundary of a bundle: what was taken is taken up at the next look.
                logger.exception("%s: a bundle failed", self.chain.terms.short_name)
            if self.taken:
                await _first_of(changed.wait(), self._wake.wait())
            else:
                await self._wake.wait()

    def _replaced(self, operation: UserOperation) -> bytes | None:
        """The operation that this one takes the nonce of. Raises Problem."""
        for operation_hash, other in self.taken.of_sender(operation.sender).items():
            if other.nonce != operation.nonce:
                continue
            if operation_hash in self._bundled:
                raise fields("nonce: another operation with it is being executed")
            fees = (
                (operation.max_fee_per_gas, other.max_fee_per_gas),
                (operation.max_priority_fee_per_gas, other.max_priority_fee_per_gas),
            )
            if any(new * 100 < old * (100 + MIN_BUMP_PERCENT) for new, old in fees):
                raise fields("replacement underpriced: both fees must be 10 % higher")
            return operation_hash
        return None

    def _stands(self, sender: str) -> bool:
        return bool(self.chain.accounts.get_code(bytes.fromhex(sender[2:])))

    async def _step(self) -> None:
        if self._bundle is not None:
            found = self.chain.chain.find(self._bundle)
            if found is None and self.chain.pool.get(self._bundle) is not None:
                return
            # Of one that failed, or fell out of the pool, nothing was executed.
            if found is not None and found[0].transactions[found[1]].succeeded:
                self._landed(self._bundled)
            self._bundle, self._bundled = None, frozenset()
        await self._send()

    def _landed(self, operation_hashes: Collection[bytes]) -> None:
        for each in operation_hashes:
            self._included("0x" + each.hex())
        self.taken.end(operation_hashes)

    async def _send(self) -> None:
        chosen = await self._chosen()
        if not chosen:
            return
        operations = list(chosen.values())
        self._bundled = frozenset(chosen)
        try:
            raw = await self._account.sign(
                ENTRY_POINT_OCTETS,
                payload=bundle_data(operations, "0x" + self._account.address.hex()),
                gas=bundle_gas(operations),
            )
            self._bundle = self.chain.submit(raw, faulty=False)
        finally:
            if self._bundle is None:
                self._bundled = frozenset()

    async def _chosen(self) -> dict[bytes, UserOperation]:
        """What goes into the next bundle; what can be executed no more is given up."""
        chosen: dict[bytes, UserOperation] = {}
        for operation_hash, operation in self.taken.items():
            if len(chosen) == MOST_OPERATIONS:
                break
            if bundle_gas([*chosen.values(), operation]) > MOST_GAS:
                break
            sender = operation.sender
            made = any(one.sender == sender for one in chosen.values())
            if operation.factory is not None or made or self._stands(sender):
                chosen[operation_hash] = operation
            elif not any(one.factory for one in self.taken.of_sender(sender).values()):
                self._give_up(operation_hash, "the sender does not stand")
        while chosen:
            bad = await tried(self.chain, self._account.address, list(chosen.values()))
            if not bad:
                break
            operation_hash = list(chosen)[min(bad)]
            del chosen[operation_hash]
            self._give_up(operation_hash, str(bad[min(bad)]))
        # Another one may have taken a place meanwhile.
        return {each: one for each, one in chosen.items() if self.taken.get(each) is not None}

    def _give_up(self, operation_hash: bytes, reason: str) -> None:
        logger.info("0x%s is given up: %s", operation_hash.hex(), reason)
        self.taken.end([operation_hash])


async def _first_of(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(one) for one in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
