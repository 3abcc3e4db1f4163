"""Several calls in one operation: ``executeBatch`` of the smart account, there and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.chain.calldata.method import CalldataError, method
from swapdesk.chain.user_operation.operation import EntryPointVersion

MOST_CALLS = 50
"""In one operation."""
MAX_CALL_DATA = 16_384
"""Bytes of ``callData`` that the EntryPoint of the sandbox takes."""
MAX_INNER_DATA = 1_024
"""Bytes of each call inside that the account of the sandbox takes."""

EXECUTE_BATCH = method("executeBatch(address[],uint256[],bytes[])", "targets values payloads")
"""Of accounts for EntryPoint v0.7; no values at all means that no call carries coins."""
EXECUTE_CALLS = method("executeBatch((address,uint256,bytes)[])", "calls")
"""Of accounts for EntryPoint v0.8."""


@dataclass(frozen=True)
class InnerCall:
    """A call that the account makes: ``value`` in wei."""

    to: str
    value: int = 0
    data: bytes = b""


def encode_batch(
    calls: Sequence[InnerCall], version: EntryPointVersion = EntryPointVersion.V07
) -> bytes:
    """The account's calldata. Raises CalldataError for no calls, too many, or too large ones."""
    if not 1 <= len(calls) <= MOST_CALLS:
        raise CalldataError(f"an operation has 1 to {MOST_CALLS} calls, not {len(calls)}")
    if any(len(one.data) > MAX_INNER_DATA for one in calls):
        raise CalldataError(f"a call in an operation has at most {MAX_INNER_DATA} bytes")
    if version is EntryPointVersion.V08:
        data = EXECUTE_CALLS.call([(one.to, one.value, one.data) for one in calls])
    else:
        values = [one.value for one in calls] if any(one.value for one in calls) else []
        data = EXECUTE_BATCH.call([one.to for one in calls], values, [one.data for one in calls])
    if len(data) > MAX_CALL_DATA:
        raise CalldataError(f"the calls of an operation have at most {MAX_CALL_DATA} bytes")
    return data


def decode_batch(
    data: bytes, version: EntryPointVersion = EntryPointVersion.V07
) -> tuple[InnerCall, ...]:
    """The calls in their order. Raises CalldataError unless the data is what ``encode_batch``
    gives for some calls, ``values`` written out or left away."""
    if len(data) > MAX_CALL_DATA:
        raise CalldataError("the calls of an operation are too many bytes")
    if version is EntryPointVersion.V08:
        calls = tuple(InnerCall(*one) for one in EXECUTE_CALLS.read(data)["calls"])
    else:
        read = EXECUTE_BATCH.read(data)
        targets, values, payloads = read["targets"], read["values"], read["payloads"]
        if len(payloads) != len(targets) or len(values) not in (0, len(targets)):
            raise CalldataError("the lists of an executeBatch have different lengths")
        calls = tuple(
            InnerCall(to, value, payload)
            for to, value, payload in zip(
                targets, values or (0,) * len(targets), payloads, strict=True
            )
        )
    if not 1 <= len(calls) <= MOST_CALLS:
        raise CalldataError(f"an operation has 1 to {MOST_CALLS} calls, not {len(calls)}")
    return calls
