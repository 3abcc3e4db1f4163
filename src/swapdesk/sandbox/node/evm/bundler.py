"""The bundler of an embedded EVM chain (ERC-4337, ERC-7769), at the same address as the chain.

Operations are simulated and stored before they are accepted. Their outcome is read from the
EntryPoint's event, never from the transaction's status. There are no paymasters, aggregators,
delegated accounts (EIP-7702) or opcode rules (ERC-7562).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm import revert_words
from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.chain.smart_account import (
    BEFORE_EXECUTION_EVENT,
    FEE_FIELDS,
    GAS_FIELDS,
    HANDLE_OPS,
    MOST_OPERATIONS,
    REVERT_REASON_EVENT,
    USER_OPERATION_EVENT,
    VALIDATE_USER_OP,
    FailedOp,
    OperationError,
    UserOperation,
    handled_operations,
    operation_json,
    pack,
    read_failed_op,
    read_operation,
    read_outcome,
    read_revert_reason,
    user_operation_hash,
)
from swapdesk.sandbox.evm_world.genesis import SENDER_CREATOR
from swapdesk.sandbox.node.evm.blocks import Document, data, quantity
from swapdesk.sandbox.node.evm.json_rpc import Problem, bad_params, read_bytes
from swapdesk.sandbox.node.evm.methods import Table, constant
from swapdesk.sandbox.node.evm.node import ChainAccount, LiveChain
from swapdesk.sandbox.node.mined_log import MinedLog, chains_in
from swapdesk.sandbox.tables import GAS_LIMIT

logger = logging.getLogger(__name__)


class BundlerCode(IntEnum):
    REJECTED = -32500
    """Code of the error for an operation that the EntryPoint or the account rejects."""
    PAYMASTER = -32501
    DEADLINE = -32503
    SIGNATURE = -32507
    EXECUTION = -32521
    """Code of the error for an operation whose calls would fail."""


_CODES = {"AA22": BundlerCode.DEADLINE, "AA24": BundlerCode.SIGNATURE}


def refused(failed: FailedOp) -> Problem:
    """Returns the bundler's JSON-RPC error for an operation that the EntryPoint refused."""
    code = _CODES.get(failed.code, BundlerCode.REJECTED)
    if failed.code.startswith("AA3"):
        code = BundlerCode.PAYMASTER
    inner = f": {revert_words(failed.inner)}" if failed.inner else ""
    returned = "0x" + failed.inner.hex() if failed.inner else None
    return Problem(f"{failed.reason}{inner}", code, returned)


ENTRY_POINT_OCTETS = bytes.fromhex(ENTRY_POINT[2:])
OVERHEAD = 60_000
"""Gas that a bundle needs in addition to the limits of its operations and to the gas for its
bytes."""
MOST_GAS = GAS_LIMIT * 2 // 3
"""Largest gas limit of one bundle. It leaves room in a block for other transactions."""
_NOBODY = "the sender does not stand"
"""Error message if the EntryPoint fails without data, because the sending account has no code."""
MOST_DATA = 16_384
MOST_SIGNATURE = 1_024
MOST_FACTORY_DATA = 1_004


def bundle_data(operations: Sequence[UserOperation], beneficiary: str) -> bytes:
    return HANDLE_OPS.call([tuple(pack(operation)) for operation in operations], beneficiary)


def bundle_gas(operations: Sequence[UserOperation]) -> int:
    """Returns a gas limit for a bundle. It suffices for the gas limits of all operations, although
    every nested call withholds 1/64 of the gas."""
    promised = sum(
        operation.verification_gas_limit + operation.call_gas_limit for operation in operations
    )
    around = sum(operation.pre_verification_gas for operation in operations)
    return promised + promised // 16 + around + 200_000


def least_pre_verification_gas(operation: UserOperation) -> int:
    """Returns the gas that a bundle of only this operation needs in addition to the operation's
    limits for verification and calls."""
    payload = bundle_data([operation], ENTRY_POINT)
    zeros = payload.count(0)
    return 21_000 + 4 * zeros + 16 * (len(payload) - zeros) + OVERHEAD


def check_numbers(chain: LiveChain, operation: UserOperation) -> None:
    """Raises Problem if an operation's sizes, gas or fees are outside the limits of this
    bundler."""
    sizes = (
        (operation.call_data, MOST_DATA, "callData"),
        (operation.signature, MOST_SIGNATURE, "signature"),
        (operation.factory_data, MOST_FACTORY_DATA, "factoryData"),
    )
    for value, most, name in sizes:
        if len(value) > most:
            raise bad_params(f"{name}: at most {most} bytes are taken")
    least = least_pre_verification_gas(operation)
    if operation.pre_verification_gas < least:
        raise bad_params(f"preVerificationGas: at least {least:#x} is needed")
    if bundle_gas([operation]) > MOST_GAS:
        raise bad_params("callGasLimit: the operation does not fit into a bundle")
    fee, tip = operation.max_fee_per_gas, operation.max_priority_fee_per_gas
    if tip > fee:
        raise bad_params("maxPriorityFeePerGas: it is above maxFeePerGas")
    if fee < chain.next_base_fee:
        raise bad_params(f"maxFeePerGas: at least {chain.next_base_fee:#x} is needed")


async def tried(
    chain: LiveChain, bundler: bytes, operations: Sequence[UserOperation]
) -> dict[int, Problem]:
    """Simulates a bundle. Returns the errors of the operations that would fail, by position in
    ``operations``. If the EntryPoint refuses an operation, all later operations get the same error.
    Raises Problem if the failure names no operation."""
    beneficiary = "0x" + bundler.hex()
    call = {
        "from": beneficiary,
        "to": ENTRY_POINT,
        "gas": hex(bundle_gas(operations)),
        "data": "0x" + bundle_data(operations, beneficiary).hex(),
    }
    (block,) = await chain.simulate(
        chain.head, {"blockStateCalls": [{"calls": [call]}], "validation": False}
    )
    (outcome,) = block["calls"]
    if outcome["status"] == "0x1":
        return _failing(outcome["logs"])
    error = outcome["error"]
    returned = error.get("data")
    output = bytes.fromhex(returned[2:]) if isinstance(returned, str) else b""
    failed = read_failed_op(output)
    if failed is None:
        words = error["message"] if output or error["code"] != RpcCode.REVERTED else _NOBODY
        raise Problem(words, BundlerCode.REJECTED, returned)
    return dict.fromkeys(range(failed.index, len(operations)), refused(failed))


def _failing(logs: list[dict[str, Any]]) -> dict[int, Problem]:
    failing: dict[int, Problem] = {}
    place, output = 0, b""
    for log in logs:
        if log["address"].lower() != ENTRY_POINT.lower():
            continue
        topics, payload = tuple(log["topics"]), bytes.fromhex(log["data"][2:])
        outcome = read_outcome(topics, payload)
        if outcome is None:
            output = read_revert_reason(payload) if topics[0] == REVERT_REASON_EVENT else output
            continue
        if not outcome.success:
            words = revert_words(output)
            message = f"execution reverted: {words}" if words else "execution reverted"
            failing[place] = Problem(message, BundlerCode.EXECUTION, "0x" + output.hex())
        place, output = place + 1, b""
    return failing


_EVENT = bytes.fromhex(USER_OPERATION_EVENT[2:])
_Entry = list[tuple[bytes, dict[str, Any] | None]]


async def sighted(chain: LiveChain, operation_hash: bytes) -> Document | None:
    """Returns the receipt of an operation (ERC-7769); None while the operation is in no block.

    Raises Problem.
    """
    words = (ENTRY_POINT_OCTETS, _EVENT, operation_hash)
    logs = await chain.logs(0, chain.head.number, [frozenset({word}) for word in words])
    if not logs:
        return None
    receipt = chain.receipt(bytes.fromhex(logs[-1]["transactionHash"][2:]))
    return None if receipt is None else _receipt(receipt, operation_hash)


def _receipt(receipt: Document, operation_hash: bytes) -> Document | None:
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
"""Percent by which both fees of a replacement must at least exceed those of the operation that it
replaces."""


class TakenOperations:
    """Operations that the bundler of a chain accepted and that are not executed yet, the oldest
    first. They survive a crash once their sender has an answer."""

    def __init__(self, directory: Path, chain: str) -> None:
        self._log = MinedLog(chains_in(directory), f"bundler-{chain}")
        self.held: dict[bytes, UserOperation] = {}
        snapshot, entries = self._log.read()
        for entry in ([] if snapshot is None else [snapshot]) + entries:
            for operation_hash, document in msgspec.msgpack.decode(entry, type=_Entry):
                if document is None:
                    self.held.pop(operation_hash, None)
                else:
                    self.held[operation_hash] = read_operation(document)
        if entries:
            held = [
                (operation_hash, operation_json(operation))
                for operation_hash, operation in self.held.items()
            ]
            self._log.replace(msgspec.msgpack.encode(held))

    def close(self) -> None:
        self._log.close()

    def of_sender(self, sender: str) -> dict[bytes, UserOperation]:
        return {
            operation_hash: operation
            for operation_hash, operation in self.held.items()
            if operation.sender == sender
        }

    def take(
        self, operation_hash: bytes, operation: UserOperation, replaced: bytes | None = None
    ) -> None:
        """Stores an accepted operation. If ``replaced`` is given, removes the operation with that
        hash. An OSError means that nothing has changed."""
        gone = [] if replaced is None else [(replaced, None)]
        entry = [*gone, (operation_hash, operation_json(operation))]
        self._log.append(msgspec.msgpack.encode(entry))
        self.held.pop(replaced or b"", None)
        self.held[operation_hash] = operation

    def end(self, operation_hashes: Collection[bytes]) -> None:
        """Removes operations that were executed or can never be executed."""
        self._log.append(
            msgspec.msgpack.encode([(operation_hash, None) for operation_hash in operation_hashes])
        )
        for operation_hash in operation_hashes:
            self.held.pop(operation_hash, None)


class ChainBundler:
    """The bundler of one chain; ``account`` pays for its transactions. ``included`` is called with
    the hash of each operation that got into a block. After a restart it may be called again for the
    same operation."""

    def __init__(
        self,
        chain: LiveChain,
        account: ChainAccount,
        taken: TakenOperations,
        included: Callable[[str], None],
    ) -> None:
        self.methods: Table = {
            "eth_sendUserOperation": (self._take_read, 2, 2),
            "eth_estimateUserOperationGas": (self._estimate, 2, 3),
            "eth_getUserOperationByHash": (self._operation, 1, 1),
            "eth_getUserOperationReceipt": (self._receipt, 1, 1),
            "eth_supportedEntryPoints": (constant([ENTRY_POINT]), 0, 0),
        }
        self._included = included
        self.chain = chain
        self.taken = taken
        self._bundle: bytes | None = None
        """Hash of the bundle's pending transaction; None if there is none."""
        self._bundled: frozenset[bytes] = frozenset()
        self._account = account
        self._wake = asyncio.Event()
        self._taking = asyncio.Lock()
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        self.taken.close()

    def hash_of(self, operation: UserOperation) -> bytes:
        return user_operation_hash(operation, ENTRY_POINT, self.chain.terms.chain_id)

    async def take(self, operation: UserOperation) -> bytes:
        """Accepts a signed operation and returns its hash. Accepting the same operation again only
        returns the hash. Raises Problem."""
        operation_hash = self.hash_of(operation)
        async with self._taking:
            if operation_hash in self.taken.held:
                return operation_hash
            if await sighted(self.chain, operation_hash) is not None:
                return operation_hash
            check_numbers(self.chain, operation)
            self._replaced(operation)
            # One that makes the account goes before those that need it.
            others = self.taken.of_sender(operation.sender).values()
            makers = [other for other in others if other.factory is not None]
            before = [] if self._stands(operation.sender) else makers
            before = [other for other in before if other.nonce != operation.nonce]
            bad = await tried(self.chain, self._account.address, [*before, operation])
            if len(before) in bad:
                raise bad[len(before)]
            # Meanwhile the other one may have been sent.
            self.taken.take(operation_hash, operation, self._replaced(operation))
        self._wake.set()
        return operation_hash

    async def _run(self) -> None:
        for operation_hash in list(self.taken.held):
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
            if self.taken.held:
                await _first_of(changed.wait(), self._wake.wait())
            else:
                await self._wake.wait()

    def _replaced(self, operation: UserOperation) -> bytes | None:
        for operation_hash, other in self.taken.of_sender(operation.sender).items():
            if other.nonce != operation.nonce:
                continue
            if operation_hash in self._bundled:
                raise bad_params("nonce: another operation with it is being executed")
            fees = (
                (operation.max_fee_per_gas, other.max_fee_per_gas),
                (operation.max_priority_fee_per_gas, other.max_priority_fee_per_gas),
            )
            if any(new * 100 < old * (100 + MIN_BUMP_PERCENT) for new, old in fees):
                raise bad_params("replacement underpriced: both fees must be 10 % higher")
            return operation_hash
        return None

    def _stands(self, sender: str) -> bool:
        return bool(self.chain.accounts.get_code(bytes.fromhex(sender[2:])))

    async def _step(self) -> None:
        if self._bundle is not None:
            place = self.chain.chain.find(self._bundle)
            if place is None and self.chain.pool.get(self._bundle) is not None:
                return
            # Of one that failed, or fell out of the pool, nothing was executed.
            if place is not None and place[0].transactions[place[1]].succeeded:
                self._landed(self._bundled)
            self._bundle, self._bundled = None, frozenset()
        await self._send()

    def _landed(self, operation_hashes: Collection[bytes]) -> None:
        for operation_hash in operation_hashes:
            self._included("0x" + operation_hash.hex())
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
        chosen: dict[bytes, UserOperation] = {}
        for operation_hash, operation in list(self.taken.held.items()):
            if len(chosen) == MOST_OPERATIONS:
                break
            if bundle_gas([*chosen.values(), operation]) > MOST_GAS:
                break
            sender = operation.sender
            made = any(other.sender == sender for other in chosen.values())
            if operation.factory is not None or made or self._stands(sender):
                chosen[operation_hash] = operation
            elif not any(other.factory for other in self.taken.of_sender(sender).values()):
                self._give_up(operation_hash, "the sender does not stand")
        while chosen:
            bad = await tried(self.chain, self._account.address, list(chosen.values()))
            if not bad:
                break
            operation_hash = list(chosen)[min(bad)]
            del chosen[operation_hash]
            self._give_up(operation_hash, str(bad[min(bad)]))
        # Another one may have taken a place meanwhile.
        return {
            operation_hash: operation
            for operation_hash, operation in chosen.items()
            if operation_hash in self.taken.held
        }

    def _give_up(self, operation_hash: bytes, reason: str) -> None:
        logger.info("0x%s is given up: %s", operation_hash.hex(), reason)
        self.taken.end([operation_hash])

    # What it answers

    async def _take_read(self, document: Any, entry_point: Any) -> str:
        _require_ours(entry_point)
        return data(await self.take(_read(document)))

    async def _estimate(
        self, document: Any, entry_point: Any, overrides: Any = None
    ) -> dict[str, str]:
        _require_ours(entry_point)
        operation = _read(document, estimated=True)
        pre, verification, call = await estimate(self.chain, operation, overrides)
        return {
            "preVerificationGas": quantity(pre),
            "verificationGasLimit": quantity(verification),
            "callGasLimit": quantity(call),
        }

    async def _operation(self, operation_hash: Any) -> Document | None:
        wanted = _hash(operation_hash)
        chain = self.chain
        operation, place = self.taken.held.get(wanted), {}
        receipt = await sighted(chain, wanted)
        if receipt is not None:
            place = receipt["receipt"]
            mined = chain.chain.find(bytes.fromhex(place["transactionHash"][2:]))
            calldata = b"" if mined is None else mined[0].transactions[mined[1]].signed.data
            hashes = {self.hash_of(handled): handled for handled in handled_operations(calldata)}
            operation = hashes.get(wanted)
        if operation is None:
            return None
        return {
            "userOperation": operation_json(operation),
            "entryPoint": ENTRY_POINT,
            **{name: place.get(name) for name in ("transactionHash", "blockHash", "blockNumber")},
        }

    async def _receipt(self, operation_hash: Any) -> Document | None:
        return await sighted(self.chain, _hash(operation_hash))


async def _first_of(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


VERIFICATION_AROUND = 120_000
"""Gas added to the verification limit for the EntryPoint's own work. Unused gas is refunded."""
_PART_GAS = 8_000_000
_SAMPLE = bytes.fromhex(
    "fffffffffffffffffffffffffffffff000000000000000000000000000000000"
    "7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c"
)
"""A well-formed signature that belongs to nobody; checking it costs as much as checking a valid
one."""


_Part = Literal["AA13 initCode failed or OOG", "AA23 reverted", "execution"]
"""A part of an operation that is simulated separately: its deployment or validation, named by their
error messages, or its calls."""


async def estimate(
    chain: LiveChain, operation: UserOperation, overrides: Any
) -> tuple[int, int, int]:
    """Simulates an operation and returns the gas that it needs: pre-verification gas, verification
    gas and call gas. ``overrides`` changes the state for the simulation. Raises Problem."""
    if len(operation.signature) != len(_SAMPLE):
        operation = operation.signed(_SAMPLE)
    operation_hash = user_operation_hash(operation, ENTRY_POINT, chain.terms.chain_id)
    validates = VALIDATE_USER_OP.call(tuple(pack(operation)), operation_hash, 0)
    parts: dict[_Part, dict[str, str]] = {
        "AA23 reverted": _call(ENTRY_POINT, operation.sender, validates)
    }
    if operation.factory is not None:
        creates = _call(SENDER_CREATOR, operation.factory, operation.factory_data)
        parts = {"AA13 initCode failed or OOG": creates, **parts}
    if operation.call_data:
        parts["execution"] = _call(ENTRY_POINT, operation.sender, operation.call_data)
    block: dict[str, Any] = {"calls": list(parts.values())}
    if overrides is not None:
        block["stateOverrides"] = overrides
    (simulated,) = await chain.simulate(
        chain.head, {"blockStateCalls": [block], "validation": False}
    )
    used = {
        part: _used(part, outcome) for part, outcome in zip(parts, simulated["calls"], strict=True)
    }
    inside = used.pop("execution", 0)
    # The widest numbers there are, so that what is filled in later costs no more bytes.
    widest = (1 << 120) - 1
    whole = replace(
        operation,
        call_gas_limit=max(operation.call_gas_limit, 1 << 24),
        verification_gas_limit=max(operation.verification_gas_limit, 1 << 24),
        pre_verification_gas=max(operation.pre_verification_gas, 1 << 24),
        max_fee_per_gas=operation.max_fee_per_gas or widest,
        max_priority_fee_per_gas=operation.max_priority_fee_per_gas or widest,
        signature=b"\xff" * len(operation.signature),
    )
    pre = least_pre_verification_gas(whole)
    verification = sum(used.values()) * 115 // 100 + VERIFICATION_AROUND
    return pre + pre // 50, verification, inside * 5 // 4


def _call(sender: str, to: str, data: bytes) -> dict[str, str]:
    return {"from": sender, "to": to, "data": "0x" + data.hex(), "gas": hex(_PART_GAS)}


def _used(part: _Part, outcome: dict[str, Any]) -> int:
    if outcome["status"] == "0x1":
        return int(outcome["gasUsed"], 16)
    error = outcome["error"]
    data = error.get("data")
    if part == "execution":
        raise Problem(error["message"], BundlerCode.EXECUTION, data)
    raise Problem(f"{part}: {error['message']}", BundlerCode.REJECTED, data)


_MISSING_GAS = dict.fromkeys((*GAS_FIELDS, *FEE_FIELDS), "0x0")


def _read(document: Any, *, estimated: bool = False) -> UserOperation:
    try:
        if estimated:
            return read_operation(document, absent=_MISSING_GAS, signed=False)
        return read_operation(document)
    except OperationError as error:
        if error.field == "paymaster":
            raise Problem("paymasters are not supported", BundlerCode.PAYMASTER) from None
        raise bad_params(str(error)) from None


def _require_ours(entry_point: Any) -> None:
    if not isinstance(entry_point, str) or entry_point.lower() != ENTRY_POINT.lower():
        raise bad_params("this EntryPoint is not supported")


def _hash(value: Any) -> bytes:
    return read_bytes(value, "the hash of the operation", 32)
