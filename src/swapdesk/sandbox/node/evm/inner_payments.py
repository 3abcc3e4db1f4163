"""Coins that smart accounts pay out: read from the operations of a bundle and their events.

A block does not tell what a contract paid in coins. What our own account pays stands in the
calldata of its operation, and the EntryPoint's event says whether its calls were made: all of
them were, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.user_operation.batch import MOST_CALLS, decode_batch
from swapdesk.chain.user_operation.entry_point import HANDLE_OPS, read_outcome
from swapdesk.chain.user_operation.operation import OperationError, UserOperation
from swapdesk.chain.user_operation.packing import PackedUserOperation, unpack

_FIRST = 1_000_000
"""Positions below are those of logs."""

_PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")
"""Code of an account that is ours (EIP-1167); what another one makes of a call is its own."""

CodeAt = Callable[[str], bytes]


@dataclass(frozen=True)
class InnerPayment:
    """``position`` tells payments of one transaction apart; ``units`` in wei."""

    position: int
    sender: str
    receiver: str
    units: int


def inner_payments(document: Any, receipt: Any, code_at: CodeAt) -> Iterator[InnerPayment]:
    """What the operations of this transaction paid in coins; nothing for other transactions."""
    if document["to"] is None or document["to"].lower() != ENTRY_POINT.lower():
        return
    done = _executed(receipt)
    for number, operation in enumerate(_operations(document)):
        key = operation.sender, operation.nonce
        if key not in done or code_at(operation.sender) != _PROXY:
            continue
        try:
            calls = decode_batch(operation.call_data)
        except CalldataError:
            continue
        for place, call in enumerate(calls):
            if call.value:
                position = _FIRST + number * MOST_CALLS + place
                yield InnerPayment(position, operation.sender, call.to, call.value)


def _executed(receipt: Any) -> set[tuple[str, int]]:
    """Sender and nonce of the operations whose calls were made."""
    found = set()
    for log in receipt["logs"]:
        if log["address"].lower() != ENTRY_POINT.lower():
            continue
        outcome = read_outcome(tuple(log["topics"]), bytes.fromhex(log["data"][2:]))
        if outcome is not None and outcome.success:
            found.add((outcome.sender, outcome.nonce))
    return found


def _operations(document: Any) -> list[UserOperation]:
    try:
        call = HANDLE_OPS.read(bytes.fromhex(document["input"][2:]))
        return [unpack(PackedUserOperation(*packed)) for packed in call["operations"]]
    except (CalldataError, OperationError):
        return []
