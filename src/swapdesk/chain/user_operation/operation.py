"""One UserOperation, unpacked, and which EntryPoint it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from swapdesk.chain.addresses.evm import checksummed

_UINT128, _UINT256 = 1 << 128, 1 << 256
_DIGITS = frozenset("0123456789abcdefABCDEF")


class OperationError(ValueError):
    """Values that are no UserOperation. ``field`` is the field's name in JSON-RPC."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(f"{field}: {words}")
        self.field = field


class EntryPointVersion(StrEnum):
    """The release of the EntryPoint decides how an operation is hashed and signed."""

    V07 = "0.7"
    """Signed by EIP-191 over the hash."""
    V08 = "0.8"
    """The hash is the digest of typed data."""


@dataclass(frozen=True)
class Paymaster:
    """Who pays for an operation instead of its sender."""

    address: str
    verification_gas_limit: int = 0
    post_op_gas_limit: int = 0
    data: bytes = b""


@dataclass(frozen=True)
class UserOperation:
    """Addresses with their checksum, gas in units, fees in wei per gas.

    ``nonce`` is ``key << 64 | sequence``. ``factory`` with its ``factory_data`` makes an account
    that does not stand yet. ``signature`` is no part of the hash. Raises OperationError.
    """

    sender: str
    nonce: int
    call_data: bytes
    call_gas_limit: int
    verification_gas_limit: int
    pre_verification_gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    factory: str | None = None
    factory_data: bytes = b""
    paymaster: Paymaster | None = None
    signature: bytes = b""

    def __post_init__(self) -> None:
        _address("sender", self.sender)
        if self.factory is not None:
            _address("factory", self.factory)
        elif self.factory_data:
            raise OperationError("factoryData", "there is no factory for it")
        _bounded("nonce", self.nonce, _UINT256)
        _bounded("preVerificationGas", self.pre_verification_gas, _UINT256)
        _bounded("callGasLimit", self.call_gas_limit)
        _bounded("verificationGasLimit", self.verification_gas_limit)
        _bounded("maxFeePerGas", self.max_fee_per_gas)
        _bounded("maxPriorityFeePerGas", self.max_priority_fee_per_gas)
        if self.paymaster is not None:
            _address("paymaster", self.paymaster.address)
            limits = self.paymaster.verification_gas_limit, self.paymaster.post_op_gas_limit
            _bounded("paymasterVerificationGasLimit", limits[0])
            _bounded("paymasterPostOpGasLimit", limits[1])

    @property
    def nonce_key(self) -> int:
        return self.nonce >> 64

    @property
    def nonce_sequence(self) -> int:
        return self.nonce & ((1 << 64) - 1)

    @property
    def required_prefund(self) -> int:
        """Wei that the EntryPoint takes before it executes; what is not used goes back."""
        gas = self.verification_gas_limit + self.call_gas_limit + self.pre_verification_gas
        if self.paymaster is not None:
            gas += self.paymaster.verification_gas_limit + self.paymaster.post_op_gas_limit
        return gas * self.max_fee_per_gas

    def signed(self, signature: bytes) -> UserOperation:
        return replace(self, signature=signature)


def is_address(text: object) -> bool:
    """0x and 40 digits; spelled in one case or with the right checksum."""
    if not isinstance(text, str) or len(text) != 42 or not text.startswith("0x"):
        return False
    digits = text[2:]
    if not _DIGITS.issuperset(digits):
        return False
    return digits in (digits.lower(), digits.upper()) or checksummed(text) == text


def _address(field: str, text: str) -> None:
    if not is_address(text) or checksummed(text) != text:
        raise OperationError(field, "it is no address with its checksum")


def _bounded(field: str, value: int, limit: int = _UINT128) -> None:
    if type(value) is not int or not 0 <= value < limit:
        raise OperationError(field, "the number is out of bounds")
