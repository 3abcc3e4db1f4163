"""How much gas an operation needs, found by executing its parts on the newest block."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.user_operation.entry_point import VALIDATE_USER_OP
from swapdesk.chain.user_operation.hashing import user_operation_hash
from swapdesk.chain.user_operation.operation import UserOperation
from swapdesk.chain.user_operation.packing import pack
from swapdesk.sandbox.evm_world.genesis import SENDER_CREATOR
from swapdesk.sandbox.node.evm.bundler.codes import BundlerCode
from swapdesk.sandbox.node.evm.bundler.validation import least_pre_verification_gas
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.problem import Problem

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
    (simulated,) = await chain.reading.simulate(
        chain.head.header, {"blockStateCalls": [block], "validation": False}
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
