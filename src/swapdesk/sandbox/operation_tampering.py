"""What a dishonest service would have a wallet sign for a group: its operations, changed.

The hash told beside each is that of what was changed, so that only a wallet that recomputes it
from the operation, and reads what is in it, can tell.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.user_operation.batch import InnerCall, decode_batch, encode_batch
from swapdesk.chain.user_operation.hashing import user_operation_hash
from swapdesk.chain.user_operation.operation import EntryPointVersion, UserOperation
from swapdesk.chain.user_operation.rpc_form import operation_json, read_operation
from swapdesk.sandbox.tampering import ATTACKER, elsewhere

Json = dict[str, Any]


class Part(StrEnum):
    """What of an operation is another one."""

    RECIPIENT = "recipient"
    AMOUNT = "amount"
    CALL = "call"
    """One more call."""
    NONCE = "nonce"
    ENTRY_POINT = "entry_point"
    CHAIN = "chain"


def tampered_operations(part: Part, answer: Json) -> Json | None:
    """The build answer with this part of every operation changed; None where there is none."""
    changed = copy.deepcopy(answer)
    told = [each["txData"] for each in changed["transactions"]]
    operations = [each for each in told if "userOperation" in each]
    for each in operations:
        _tamper(part, each)
    return changed if operations else None


def _tamper(part: Part, told: Json) -> None:
    version = EntryPointVersion(told["entryPointVersion"])
    operation = read_operation(told["userOperation"], signed=False)
    if part is Part.ENTRY_POINT:
        told["entryPoint"] = ATTACKER
    elif part is Part.CHAIN:
        told["chainId"] = elsewhere(told["chainId"])
    elif part is Part.NONCE:
        operation = replace(operation, nonce=operation.nonce + 1)
    else:
        operation = _recalled(operation, version, _CHANGES[part])
    told["userOperation"] = operation_json(operation, with_signature=False)
    hashed = user_operation_hash(operation, told["entryPoint"], int(told["chainId"]), version)
    told["userOpHash"] = "0x" + hashed.hex()


def _recalled(
    operation: UserOperation,
    version: EntryPointVersion,
    change: Callable[[list[InnerCall]], list[InnerCall]],
) -> UserOperation:
    calls = change(list(decode_batch(operation.call_data, version)))
    return replace(operation, call_data=encode_batch(calls, version))


def _other_recipient(calls: list[InnerCall]) -> list[InnerCall]:
    first, *others = calls
    units = _units(first)
    if units is None:
        return [replace(first, to=ATTACKER), *others]
    return [replace(first, data=erc20.TRANSFER.call(ATTACKER, units)), *others]


def _twice(calls: list[InnerCall]) -> list[InnerCall]:
    first, *others = calls
    units = _units(first)
    if units is None:
        return [replace(first, value=2 * first.value), *others]
    receiver = erc20.TRANSFER.read(first.data)["to"]
    return [replace(first, data=erc20.TRANSFER.call(receiver, 2 * units)), *others]


def _one_more(calls: list[InnerCall]) -> list[InnerCall]:
    first = calls[0]
    units = _units(first)
    if units is None:
        return [*calls, InnerCall(ATTACKER, 1)]
    return [*calls, replace(first, data=erc20.TRANSFER.call(ATTACKER, 1))]


def _units(call: InnerCall) -> int | None:
    """What a call moves of a token; None for a payment in the chain's coin."""
    try:
        return int(erc20.TRANSFER.read(call.data)["amount"])
    except CalldataError:
        return None


_CHANGES: dict[Part, Callable[[list[InnerCall]], list[InnerCall]]] = {
    Part.RECIPIENT: _other_recipient,
    Part.AMOUNT: _twice,
    Part.CALL: _one_more,
}
