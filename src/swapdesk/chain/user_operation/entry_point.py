"""Calls, events and errors of the EntryPoint (v0.7), read as what they are or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import method
from swapdesk.chain.user_operation.operation import TUPLE

MOST_OPERATIONS = 4
"""In one ``handleOps`` of the sandbox's EntryPoint: more would make every bundle dear."""

HANDLE_OPS = method(f"handleOps({TUPLE}[],address)", "operations beneficiary")
GET_USER_OP_HASH = method(f"getUserOpHash({TUPLE})", "operation")
GET_NONCE = method("getNonce(address,uint192)", "sender key")
DEPOSIT_OF = method("balanceOf(address)", "account")
DEPOSIT_TO = method("depositTo(address)", "account", payable=True)
WITHDRAW_TO = method("withdrawTo(address,uint256)", "payee amount")
"""Of what the caller has prepaid for gas."""
VALIDATE_USER_OP = method(
    f"validateUserOp({TUPLE},bytes32,uint256)", "operation hash missingAccountFunds"
)
"""Of accounts; the EntryPoint alone may call it."""
GET_SENDER_ADDRESS = method("getSenderAddress(bytes)", "initCode")


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


@dataclass(frozen=True)
class OperationOutcome:
    """What ``UserOperationEvent`` says. ``success`` is whether the calls inside were made; the
    transaction around them succeeds either way, and the gas is paid either way."""

    hash: bytes
    sender: str
    paymaster: str
    nonce: int
    success: bool
    actual_gas_cost: int
    actual_gas_used: int


@dataclass(frozen=True)
class FailedOp:
    """Why ``handleOps`` takes a whole bundle back. ``inner`` is what an account's code said."""

    index: int
    reason: str
    inner: bytes = b""

    @property
    def code(self) -> str:
        """``AA24`` of ``AA24 signature error``; empty where there is none."""
        head = self.reason[:4]
        return head if head.startswith("AA") and head[2:].isdigit() else ""


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
