"""The form of an operation that contracts take: two numbers of 128 bits in one word.

In both packed words the high half stands first by name: ``verificationGasLimit | callGasLimit``
and ``maxPriorityFeePerGas | maxFeePerGas``.
"""

from __future__ import annotations

from typing import NamedTuple

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.user_operation.operation import OperationError, Paymaster, UserOperation

TUPLE = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
"""``PackedUserOperation`` in signatures."""
_PAYMASTER_FIELDS = 20 + 16 + 16


class PackedUserOperation(NamedTuple):
    """The struct of EntryPoint v0.7 and v0.8, in its order."""

    sender: str
    nonce: int
    init_code: bytes
    call_data: bytes
    account_gas_limits: bytes
    pre_verification_gas: int
    gas_fees: bytes
    paymaster_and_data: bytes
    signature: bytes


def pack(operation: UserOperation) -> PackedUserOperation:
    return PackedUserOperation(
        sender=operation.sender,
        nonce=operation.nonce,
        init_code=_joined(operation.factory, operation.factory_data),
        call_data=operation.call_data,
        account_gas_limits=_halves(operation.verification_gas_limit, operation.call_gas_limit),
        pre_verification_gas=operation.pre_verification_gas,
        gas_fees=_halves(operation.max_priority_fee_per_gas, operation.max_fee_per_gas),
        paymaster_and_data=_paymaster_and_data(operation.paymaster),
        signature=operation.signature,
    )


def unpack(packed: PackedUserOperation) -> UserOperation:
    """Raises OperationError for a word, an address or bytes that are too short."""
    verification, call = _split("accountGasLimits", packed.account_gas_limits)
    priority, fee = _split("gasFees", packed.gas_fees)
    factory: str | None = None
    if packed.init_code:
        factory = _leading_address("initCode", packed.init_code)
    return UserOperation(
        sender=checksummed(packed.sender),
        nonce=packed.nonce,
        call_data=packed.call_data,
        call_gas_limit=call,
        verification_gas_limit=verification,
        pre_verification_gas=packed.pre_verification_gas,
        max_fee_per_gas=fee,
        max_priority_fee_per_gas=priority,
        factory=factory,
        factory_data=packed.init_code[20:],
        paymaster=_paymaster(packed.paymaster_and_data),
        signature=packed.signature,
    )


def _paymaster_and_data(paymaster: Paymaster | None) -> bytes:
    if paymaster is None:
        return b""
    limits = _halves(paymaster.verification_gas_limit, paymaster.post_op_gas_limit)
    return _joined(paymaster.address, limits + paymaster.data)


def _paymaster(data: bytes) -> Paymaster | None:
    if not data:
        return None
    if len(data) < _PAYMASTER_FIELDS:
        raise OperationError("paymasterAndData", "it is too short")
    verification, post_op = _split("paymasterAndData", data[20:_PAYMASTER_FIELDS])
    address = _leading_address("paymasterAndData", data)
    return Paymaster(address, verification, post_op, data[_PAYMASTER_FIELDS:])


def _joined(address: str | None, data: bytes) -> bytes:
    return b"" if address is None else bytes.fromhex(address[2:]) + data


def _leading_address(field: str, data: bytes) -> str:
    if len(data) < 20:
        raise OperationError(field, "it begins with no address")
    return checksummed("0x" + data[:20].hex())


def _halves(high: int, low: int) -> bytes:
    return high.to_bytes(16, "big") + low.to_bytes(16, "big")


def _split(field: str, word: bytes) -> tuple[int, int]:
    if len(word) != 32:
        raise OperationError(field, "it is no word of 32 bytes")
    return int.from_bytes(word[:16], "big"), int.from_bytes(word[16:], "big")
