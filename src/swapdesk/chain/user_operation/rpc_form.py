"""An operation as JSON-RPC writes it (ERC-7769): unpacked, numbers and bytes in hexadecimal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.user_operation.operation import (
    OperationError,
    Paymaster,
    UserOperation,
    is_address,
)

MAX_BYTES = 65_536
"""Of each field of bytes."""
GAS_FIELDS = ("callGasLimit", "verificationGasLimit", "preVerificationGas")
FEE_FIELDS = ("maxFeePerGas", "maxPriorityFeePerGas")
_REQUIRED = ("sender", "nonce", "callData", *GAS_FIELDS, *FEE_FIELDS)
_PAYMASTER = (
    "paymaster",
    "paymasterVerificationGasLimit",
    "paymasterPostOpGasLimit",
    "paymasterData",
)
_OPTIONAL = ("factory", "factoryData", *_PAYMASTER, "signature")
_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})")
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*")


def operation_json(operation: UserOperation, *, with_signature: bool = True) -> dict[str, str]:
    """Fields that an operation does not have are absent."""
    told = {
        "sender": operation.sender,
        "nonce": hex(operation.nonce),
        "callData": _data(operation.call_data),
        "callGasLimit": hex(operation.call_gas_limit),
        "verificationGasLimit": hex(operation.verification_gas_limit),
        "preVerificationGas": hex(operation.pre_verification_gas),
        "maxFeePerGas": hex(operation.max_fee_per_gas),
        "maxPriorityFeePerGas": hex(operation.max_priority_fee_per_gas),
    }
    if operation.factory is not None:
        told |= {"factory": operation.factory, "factoryData": _data(operation.factory_data)}
    if operation.paymaster is not None:
        paymaster = operation.paymaster
        told |= {
            "paymaster": paymaster.address,
            "paymasterVerificationGasLimit": hex(paymaster.verification_gas_limit),
            "paymasterPostOpGasLimit": hex(paymaster.post_op_gas_limit),
            "paymasterData": _data(paymaster.data),
        }
    if with_signature:
        told["signature"] = _data(operation.signature)
    return told


def read_operation(
    document: object, *, absent: Mapping[str, str] | None = None, signed: bool = True
) -> UserOperation:
    """The operation of a JSON object, read strictly. Raises OperationError.

    ``absent`` are values for fields that may be left out; ``signed`` asks for a signature. Null
    is absent. A field that is not known, or is written otherwise than JSON-RPC does, is refused:
    it would be shown to nobody and signed by nobody.
    """
    if not isinstance(document, Mapping):
        raise OperationError("userOperation", "it is no object")
    given = {**(absent or {}), **{k: v for k, v in document.items() if v is not None}}
    unknown = set(given) - set(_REQUIRED) - set(_OPTIONAL)
    if unknown:
        raise OperationError(str(min(unknown, key=str))[:40], "the field is not known")
    for name in (*_REQUIRED, *(("signature",) if signed else ())):
        if name not in given:
            raise OperationError(name, "it is missing")
    return UserOperation(
        sender=_address(given, "sender"),
        nonce=_quantity(given, "nonce"),
        call_data=_bytes(given, "callData"),
        call_gas_limit=_quantity(given, "callGasLimit"),
        verification_gas_limit=_quantity(given, "verificationGasLimit"),
        pre_verification_gas=_quantity(given, "preVerificationGas"),
        max_fee_per_gas=_quantity(given, "maxFeePerGas"),
        max_priority_fee_per_gas=_quantity(given, "maxPriorityFeePerGas"),
        factory=_address(given, "factory") if "factory" in given else None,
        factory_data=_bytes(given, "factoryData"),
        paymaster=_paymaster(given),
        signature=_bytes(given, "signature"),
    )


def _paymaster(given: Mapping[str, Any]) -> Paymaster | None:
    if "paymaster" not in given:
        for name in _PAYMASTER:
            if name in given:
                raise OperationError(name, "there is no paymaster")
        return None
    return Paymaster(
        _address(given, "paymaster"),
        _quantity(given, "paymasterVerificationGasLimit", "0x0"),
        _quantity(given, "paymasterPostOpGasLimit", "0x0"),
        _bytes(given, "paymasterData"),
    )


def _address(given: Mapping[str, Any], name: str) -> str:
    text = given[name]
    if not is_address(text):
        raise OperationError(name, "it is no address")
    return checksummed(text)


def _quantity(given: Mapping[str, Any], name: str, absent: str = "") -> int:
    text = given.get(name, absent)
    if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
        raise OperationError(name, "it is no hexadecimal quantity")
    return int(text, 16)


def _bytes(given: Mapping[str, Any], name: str) -> bytes:
    text = given.get(name, "0x")
    if not isinstance(text, str) or len(text) > 2 + 2 * MAX_BYTES or not _HEX.fullmatch(text):
        raise OperationError(name, "it is no hexadecimal data")
    return bytes.fromhex(text[2:])


def _data(value: bytes) -> str:
    return "0x" + value.hex()
