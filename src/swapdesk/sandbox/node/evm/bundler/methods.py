"""The bundler's JSON-RPC methods (ERC-7769) for each chain, and its estimates of gas."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec.structs import replace

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import VALIDATE_USER_OP, handled_operations
from swapdesk.chain.user_operation import (
    FEE_FIELDS,
    GAS_FIELDS,
    OperationError,
    UserOperation,
    operation_json,
    pack,
    read_operation,
    user_operation_hash,
)
from swapdesk.sandbox.evm_world.genesis import SENDER_CREATOR
from swapdesk.sandbox.node.evm.bundler.operations import (
    BundlerCode,
    fields,
    least_pre_verification_gas,
)
from swapdesk.sandbox.node.evm.bundler.submission import ChainBundler, sighted
from swapdesk.sandbox.node.evm.json_rpc import Problem, read_bytes
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.methods import Table
from swapdesk.sandbox.node.evm.serialize import Document, data, quantity

VERIFICATION_AROUND = 120_000
"""What the EntryPoint itself takes of the verification's gas, the prefund's payment included.
What is left of it is given back whole."""
_PART_GAS = 8_000_000
_SAMPLE = bytes.fromhex(
    "fffffffffffffffffffffffffffffff000000000000000000000000000000000"
    "7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c"
)
"""A signature of the right form by nobody, so that checking it costs what a good one's does."""


class _Part(StrEnum):
    """What is executed one after the other; the value is the EntryPoint's word for its failure."""

    CREATE = "AA13 initCode failed or OOG"
    VERIFY = "AA23 reverted"
    CALL = "execution"


async def estimate(
    chain: LiveChain, operation: UserOperation, overrides: Any
) -> tuple[int, int, int]:
    """Pre-verification, verification and call gas. Raises Problem."""
    if len(operation.signature) != len(_SAMPLE):
        operation = operation.signed(_SAMPLE)
    told = user_operation_hash(operation, ENTRY_POINT, chain.terms.chain_id)
    validates = VALIDATE_USER_OP.call(tuple(pack(operation)), told, 0)
    parts = {_Part.VERIFY: _call(ENTRY_POINT, operation.sender, validates)}
    if operation.factory is not None:
        creates = _call(SENDER_CREATOR, operation.factory, operation.factory_data)
        parts = {_Part.CREATE: creates, **parts}
    if operation.call_data:
        parts[_Part.CALL] = _call(ENTRY_POINT, operation.sender, operation.call_data)
    block: dict[str, Any] = {"calls": list(parts.values())}
    if overrides is not None:
        block["stateOverrides"] = overrides
    (simulated,) = await chain.simulate(
        chain.head, {"blockStateCalls": [block], "validation": False}
    )
    used = {
        part: _used(part, outcome) for part, outcome in zip(parts, simulated["calls"], strict=True)
    }
    inside = used.pop(_Part.CALL, 0)
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
    if part is _Part.CALL:
        raise Problem(error["message"], BundlerCode.EXECUTION, data)
    raise Problem(f"{part}: {error['message']}", BundlerCode.REJECTED, data)


_MISSING_GAS = dict.fromkeys((*GAS_FIELDS, *FEE_FIELDS), "0x0")


class BundlerMethods:
    """What one chain's bundler answers."""

    def __init__(self, bundler: ChainBundler) -> None:
        self._bundler = bundler
        self.table: Table = {
            "eth_sendUserOperation": (self._send, 2, 2),
            "eth_estimateUserOperationGas": (self._estimate, 2, 3),
            "eth_getUserOperationByHash": (self._operation, 1, 1),
            "eth_getUserOperationReceipt": (self._receipt, 1, 1),
            "eth_supportedEntryPoints": (self._entry_points, 0, 0),
        }

    async def _entry_points(self) -> list[str]:
        return [ENTRY_POINT]

    async def _send(self, document: Any, entry_point: Any) -> str:
        _require_ours(entry_point)
        return data(await self._bundler.take(_read(document)))

    async def _estimate(
        self, document: Any, entry_point: Any, overrides: Any = None
    ) -> dict[str, str]:
        _require_ours(entry_point)
        operation = _read(document, estimated=True)
        pre, verification, call = await estimate(self._bundler.chain, operation, overrides)
        return {
            "preVerificationGas": quantity(pre),
            "verificationGasLimit": quantity(verification),
            "callGasLimit": quantity(call),
        }

    async def _operation(self, operation_hash: Any) -> Document | None:
        wanted = _hash(operation_hash)
        chain = self._bundler.chain
        operation, place = self._bundler.taken.get(wanted), {}
        found = await sighted(chain, wanted)
        if found is not None:
            place = found["receipt"]
            mined = chain.chain.find(bytes.fromhex(place["transactionHash"][2:]))
            calldata = b"" if mined is None else mined[0].transactions[mined[1]].signed.data
            hashes = {self._bundler.hash_of(one): one for one in handled_operations(calldata)}
            operation = hashes.get(wanted)
        if operation is None:
            return None
        return {
            "userOperation": operation_json(operation),
            "entryPoint": ENTRY_POINT,
            **{name: place.get(name) for name in ("transactionHash", "blockHash", "blockNumber")},
        }

    async def _receipt(self, operation_hash: Any) -> Document | None:
        return await sighted(self._bundler.chain, _hash(operation_hash))


def _read(document: Any, *, estimated: bool = False) -> UserOperation:
    try:
        if estimated:
            return read_operation(document, absent=_MISSING_GAS, signed=False)
        return read_operation(document)
    except OperationError as error:
        raise fields(str(error)) from None


def _require_ours(entry_point: Any) -> None:
    if not isinstance(entry_point, str) or entry_point.lower() != ENTRY_POINT.lower():
        raise fields("this EntryPoint is not supported")


def _hash(value: Any) -> bytes:
    return read_bytes(value, "the hash of the operation", 32)
