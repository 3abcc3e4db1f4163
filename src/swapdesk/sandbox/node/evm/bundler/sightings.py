"""What became of an operation, read from the chain: the EntryPoint's event and its surroundings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.user_operation.entry_point import (
    BEFORE_EXECUTION_EVENT,
    HANDLE_OPS,
    REVERT_REASON_EVENT,
    USER_OPERATION_EVENT,
    OperationOutcome,
    read_outcome,
    read_revert_reason,
)
from swapdesk.chain.user_operation.hashing import user_operation_hash
from swapdesk.chain.user_operation.operation import OperationError, UserOperation
from swapdesk.chain.user_operation.packing import PackedUserOperation, unpack
from swapdesk.sandbox.node.evm.bundler.validation import ENTRY_POINT_OCTETS
from swapdesk.sandbox.node.evm.index import LogFilter
from swapdesk.sandbox.node.evm.live_chain import LiveChain

_EVENT = bytes.fromhex(USER_OPERATION_EVENT[2:])


@dataclass(frozen=True)
class Sighting:
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
