"""The smart account of an owner: its address, computed without a node, and its ``executeBatch``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import CalldataError, method
from swapdesk.chain.deployments import SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.user_operation.operation import EntryPointVersion

CREATE_ACCOUNT = method("createAccount(address,uint256)", "owner salt")
NO_SALT = 0
"""An owner has one account here."""
GET_ADDRESS = method("getAddress(address,uint256)", "owner salt")
OWNER = method("owner()")

# EIP-1167: the code that makes a proxy, around the address of what it stands for.
_BEFORE = bytes.fromhex("602d3d8160093d39f3363d3d373d3d3d363d73")
_AFTER = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")


def account_address(
    owner: str,
    salt: int = 0,
    *,
    factory: str = SANDBOX_ACCOUNT_FACTORY,
    implementation: str = SANDBOX_ACCOUNT,
) -> str:
    """The account that the factory makes for this owner (CREATE2), whether it stands or not."""
    made = keccak(_BEFORE + _octets(implementation) + _AFTER)
    mixed = keccak(_octets(owner).rjust(32, b"\0") + salt.to_bytes(32, "big"))
    place = keccak(b"\xff" + _octets(factory) + mixed + made)
    return checksummed("0x" + place[12:].hex())


def _octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])


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
    if any(len(call.data) > MAX_INNER_DATA for call in calls):
        raise CalldataError(f"a call in an operation has at most {MAX_INNER_DATA} bytes")
    if version is EntryPointVersion.V08:
        data = EXECUTE_CALLS.call([(call.to, call.value, call.data) for call in calls])
    else:
        values = [call.value for call in calls] if any(call.value for call in calls) else []
        data = EXECUTE_BATCH.call(
            [call.to for call in calls], values, [call.data for call in calls]
        )
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
        calls = tuple(InnerCall(*call) for call in EXECUTE_CALLS.read(data)["calls"])
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
