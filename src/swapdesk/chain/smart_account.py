"""The smart account of an owner, and the EntryPoint (v0.7) that has it execute an operation.

The account's address is computed without a node. Calls, events and errors of the EntryPoint are
read as what they are or not at all. Pure, and needs ``eth_abi``; the desk never imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import CalldataError, method
from swapdesk.chain.deployments import SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.user_operation import (
    TUPLE,
    EntryPointVersion,
    OperationError,
    PackedUserOperation,
    UserOperation,
    unpack,
)

CREATE_ACCOUNT = method("createAccount(address,uint256)", "owner salt")
NO_SALT = 0
"""An owner has one account here."""
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


class InnerCall(Struct, frozen=True):
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


MOST_OPERATIONS = 4
"""In one ``handleOps`` of the sandbox's EntryPoint: more would make every bundle dear."""

HANDLE_OPS = method(f"handleOps({TUPLE}[],address)", "operations beneficiary")
GET_NONCE = method("getNonce(address,uint192)", "sender key")
DEPOSIT_OF = method("balanceOf(address)", "account")
DEPOSIT_TO = method("depositTo(address)", "account", payable=True)
WITHDRAW_TO = method("withdrawTo(address,uint256)", "payee amount")
"""Of what the caller has prepaid for gas."""
VALIDATE_USER_OP = method(
    f"validateUserOp({TUPLE},bytes32,uint256)", "operation hash missingAccountFunds"
)
"""Of accounts; the EntryPoint alone may call it."""


def _topic(signature: str) -> str:
    return "0x" + keccak(signature.encode()).hex()


USER_OPERATION_EVENT = _topic(
    "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)"
)
REVERT_REASON_EVENT = _topic("UserOperationRevertReason(bytes32,address,uint256,bytes)")
BEFORE_EXECUTION_EVENT = _topic("BeforeExecution()")
FAILED_OP = keccak(b"FailedOp(uint256,string)")[:4]
FAILED_OP_WITH_REVERT = keccak(b"FailedOpWithRevert(uint256,string,bytes)")[:4]
SENDER_ADDRESS_RESULT = keccak(b"SenderAddressResult(address)")[:4]


class OperationOutcome(Struct, frozen=True):
    """What ``UserOperationEvent`` says. ``success`` is whether the calls inside were made; the
    transaction around them succeeds either way, and the gas is paid either way."""

    hash: bytes
    sender: str
    paymaster: str
    nonce: int
    success: bool
    actual_gas_cost: int
    actual_gas_used: int


class FailedOp(Struct, frozen=True):
    """Why ``handleOps`` takes a whole bundle back. ``inner`` is what an account's code said."""

    index: int
    reason: str
    inner: bytes = b""

    @property
    def code(self) -> str:
        """``AA24`` of ``AA24 signature error``; empty where there is none."""
        head = self.reason[:4]
        return head if head.startswith("AA") and head[2:].isdigit() else ""


def handled_operations(data: bytes) -> list[UserOperation]:
    """Those in the calldata of a bundle; none in any other."""
    try:
        return [unpack(PackedUserOperation(*one)) for one in HANDLE_OPS.read(data)["operations"]]
    except (CalldataError, OperationError):
        return []


def read_outcome(topics: tuple[str, ...], data: bytes) -> OperationOutcome | None:
    """The event of an EntryPoint's log; None for any other log."""
    if len(topics) != 4 or topics[0] != USER_OPERATION_EVENT or len(data) != 128:
        return None
    nonce, success, cost, used = (int.from_bytes(data[i : i + 32], "big") for i in (0, 32, 64, 96))
    return OperationOutcome(
        hash=bytes.fromhex(topics[1][2:]),
        sender=checksummed("0x" + topics[2][-40:]),
        paymaster=checksummed("0x" + topics[3][-40:]),
        nonce=nonce,
        success=success == 1,
        actual_gas_cost=cost,
        actual_gas_used=used,
    )


def read_revert_reason(data: bytes) -> bytes:
    """What the calls inside said, from the data of ``UserOperationRevertReason``."""
    decoded = _decoded(["uint256", "bytes"], data)
    return b"" if decoded is None else bytes(decoded[1])


def read_failed_op(data: bytes) -> FailedOp | None:
    """The error of ``handleOps``; None for other data."""
    if data[:4] == FAILED_OP:
        decoded = _decoded(["uint256", "string"], data[4:])
    elif data[:4] == FAILED_OP_WITH_REVERT:
        decoded = _decoded(["uint256", "string", "bytes"], data[4:])
    else:
        return None
    return None if decoded is None else FailedOp(*decoded)


def _decoded(types: list[str], data: bytes) -> tuple[Any, ...] | None:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    try:
        return tuple(decode(types, data))
    except (DecodingError, UnicodeDecodeError, ValueError, OverflowError):
        return None
