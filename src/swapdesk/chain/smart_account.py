"""ERC-4337: a UserOperation, and the smart account that executes it for the EntryPoint (v0.7 or
v0.8). Does no I/O; the desk never imports it.

The hash covers the EntryPoint and the chain id, but not the signature. Packed words have
``verificationGasLimit`` and ``maxPriorityFeePerGas`` in the high half. Each operation for a batch
has its own nonce sequence; a rebuilt bundle has the same nonces, so that only one of the two is
ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.method import CalldataError, method
from swapdesk.chain.deployments import SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY

_UINT128, _UINT256 = 1 << 128, 1 << 256
_DIGITS = frozenset("0123456789abcdefABCDEF")


class OperationError(ValueError):
    """Raised for values that are not a UserOperation. ``field`` is the JSON-RPC name of the field
    at fault."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(f"{field}: {words}")
        self.field = field
        self.words = words


class EntryPointVersion(StrEnum):
    """The release of the EntryPoint, which decides how an operation is hashed and signed."""

    V07 = "0.7"
    """The owner signs the hash as an EIP-191 message."""
    V08 = "0.8"
    """The hash is the digest of typed data, and the owner signs it directly."""


class UserOperation(Struct, frozen=True):
    """A UserOperation of ERC-4337: limits in gas, fees in wei per gas. Raises OperationError for
    values out of bounds. ``nonce`` is ``key << 64 | sequence``. The signature is not part of the
    hash."""

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
    paymaster_and_data: bytes = b""
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

    @property
    def required_prefund(self) -> int:
        """The wei that the EntryPoint takes from the account before it executes the operation. The
        unused part comes back."""
        gas = self.verification_gas_limit + self.call_gas_limit + self.pre_verification_gas
        return gas * self.max_fee_per_gas

    def signed(self, signature: bytes) -> UserOperation:
        return replace(self, signature=signature)


def is_address(text: object) -> bool:
    """Returns whether the text is 0x and 40 hexadecimal digits, either all in one case or with the
    right checksum."""
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


TUPLE = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
"""The type ``PackedUserOperation`` as it is written in method signatures."""


class PackedUserOperation(NamedTuple):
    """The struct ``PackedUserOperation`` of EntryPoint v0.7 and v0.8, with its fields in order."""

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
    factory = bytes.fromhex((operation.factory or "")[2:])
    return PackedUserOperation(
        sender=operation.sender,
        nonce=operation.nonce,
        init_code=factory + operation.factory_data,
        call_data=operation.call_data,
        account_gas_limits=_halves(operation.verification_gas_limit, operation.call_gas_limit),
        pre_verification_gas=operation.pre_verification_gas,
        gas_fees=_halves(operation.max_priority_fee_per_gas, operation.max_fee_per_gas),
        paymaster_and_data=operation.paymaster_and_data,
        signature=operation.signature,
    )


def unpack(packed: PackedUserOperation) -> UserOperation:
    """Returns the unpacked operation. Raises OperationError for a wrong length or values out of
    bounds."""
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
        paymaster_and_data=packed.paymaster_and_data,
        signature=packed.signature,
    )


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


_DOMAIN_TYPE = keccak(
    b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_OPERATION_TYPE = keccak(
    b"PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,"
    b"bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,"
    b"bytes paymasterAndData)"
)


def user_operation_hash(
    operation: UserOperation,
    entry_point: str,
    chain_id: int,
    version: EntryPointVersion = EntryPointVersion.V07,
) -> bytes:
    """Returns the 32 bytes that ``getUserOpHash`` of the EntryPoint at ``entry_point`` returns."""
    words = _words(pack(operation))
    if version is EntryPointVersion.V07:
        return keccak(keccak(words) + _padded_address(entry_point) + _number(chain_id))
    domain = keccak(
        _DOMAIN_TYPE
        + keccak(b"ERC4337")
        + keccak(b"1")
        + _number(chain_id)
        + _padded_address(entry_point)
    )
    return keccak(b"\x19\x01" + domain + keccak(_OPERATION_TYPE + words))


def signed_digest(operation_hash: bytes, version: EntryPointVersion) -> bytes:
    """Returns the 32 bytes that the owner signs: for v0.7 the EIP-191 digest of ``operation_hash``,
    for v0.8 that hash itself."""
    if version is EntryPointVersion.V07:
        return keccak(b"\x19Ethereum Signed Message:\n32" + operation_hash)
    return operation_hash


def _words(packed: PackedUserOperation) -> bytes:
    return b"".join(
        (
            _padded_address(packed.sender),
            _number(packed.nonce),
            keccak(packed.init_code),
            keccak(packed.call_data),
            packed.account_gas_limits,
            _number(packed.pre_verification_gas),
            packed.gas_fees,
            keccak(packed.paymaster_and_data),
        )
    )


def _padded_address(text: str) -> bytes:
    return bytes.fromhex(text[2:]).rjust(32, b"\0")


def _number(value: int) -> bytes:
    return value.to_bytes(32, "big")


def nonce_key(multi_id: str, token: str | None, part: int) -> int:
    """Returns the 192-bit nonce key of one of a batch's operations. ``token`` is the token that the
    operation pays, None for the chain's coin. ``part`` counts the operations with this token, from
    0."""
    of = "coin" if token is None else token.lower()
    return int.from_bytes(keccak(f"{multi_id}/{of}/{part}".encode())[:24], "big")


MAX_BYTES = 65_536
"""Largest number of bytes of each bytes field of an operation."""
GAS_FIELDS = ("callGasLimit", "verificationGasLimit", "preVerificationGas")
FEE_FIELDS = ("maxFeePerGas", "maxPriorityFeePerGas")
_REQUIRED = ("sender", "nonce", "callData", *GAS_FIELDS, *FEE_FIELDS)
_PAYMASTER = (
    "paymaster",
    "paymasterVerificationGasLimit",
    "paymasterPostOpGasLimit",
    "paymasterData",
)
_OPTIONAL = ("factory", "factoryData", "signature")
_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})")
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*")


def operation_json(operation: UserOperation, *, with_signature: bool = True) -> dict[str, str]:
    """Returns the operation as a JSON-RPC object, without factory fields if it has no factory."""
    fields = {
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
        fields |= {"factory": operation.factory, "factoryData": _data(operation.factory_data)}
    if with_signature:
        fields["signature"] = _data(operation.signature)
    return fields


def read_operation(
    document: object, *, absent: Mapping[str, str] | None = None, signed: bool = True
) -> UserOperation:
    """Returns the operation in a JSON-RPC object. ``absent`` maps names of missing or null fields
    to their values. Raises OperationError for unknown and ``paymaster`` fields, and for a missing
    signature if ``signed`` is True."""
    if not isinstance(document, Mapping):
        raise OperationError("userOperation", "it is no object")
    given = {**(absent or {}), **{k: v for k, v in document.items() if v is not None}}
    if not given.keys().isdisjoint(_PAYMASTER):
        raise OperationError("paymaster", "somebody else would pay for the operation")
    unknown = set(given) - set(_REQUIRED) - set(_OPTIONAL)
    if unknown:
        raise OperationError(str(min(unknown, key=str))[:40], "the field is not known")
    for name in (*_REQUIRED, *(("signature",) if signed else ())):
        if name not in given:
            raise OperationError(name, "it is missing")
    return UserOperation(
        sender=_read_address(given, "sender"),
        nonce=_quantity(given, "nonce"),
        call_data=_bytes(given, "callData"),
        call_gas_limit=_quantity(given, "callGasLimit"),
        verification_gas_limit=_quantity(given, "verificationGasLimit"),
        pre_verification_gas=_quantity(given, "preVerificationGas"),
        max_fee_per_gas=_quantity(given, "maxFeePerGas"),
        max_priority_fee_per_gas=_quantity(given, "maxPriorityFeePerGas"),
        factory=_read_address(given, "factory") if "factory" in given else None,
        factory_data=_bytes(given, "factoryData"),
        signature=_bytes(given, "signature"),
    )


def _read_address(given: Mapping[str, Any], name: str) -> str:
    text = given[name]
    if not is_address(text):
        raise OperationError(name, "it is no address")
    return checksummed(text)


def _quantity(given: Mapping[str, Any], name: str) -> int:
    text = given[name]
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


CREATE_ACCOUNT = method("createAccount(address,uint256)", "owner salt")
NO_SALT = 0
"""The salt of every account, because an owner has only one account here."""
OWNER = method("owner()")

# EIP-1167: the code that makes a proxy, around the address of what it stands for.
_BEFORE = bytes.fromhex("602d3d8160093d39f3363d3d373d3d3d363d73")
_AFTER = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")


def account_address(owner: str, salt: int = NO_SALT) -> str:
    """Returns the address of the smart account that the sandbox's factory creates for this owner,
    even before it exists."""
    made = keccak(_BEFORE + _octets(SANDBOX_ACCOUNT) + _AFTER)
    mixed = keccak(_octets(owner).rjust(32, b"\0") + salt.to_bytes(32, "big"))
    place = keccak(b"\xff" + _octets(SANDBOX_ACCOUNT_FACTORY) + mixed + made)
    return checksummed("0x" + place[12:].hex())


def _octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])


MOST_CALLS = 50
"""Largest number of calls in one operation."""
MAX_CALL_DATA = 16_384
"""Largest number of bytes of ``callData`` that the sandbox's EntryPoint accepts."""
MAX_INNER_DATA = 1_024
"""Largest number of bytes of an inner call that the sandbox's account accepts."""

EXECUTE_BATCH = method("executeBatch(address[],uint256[],bytes[])", "targets values payloads")
"""The method with which an account for EntryPoint v0.7 executes several calls. ``values`` are wei
for each call; an empty list sends no coins."""
EXECUTE_CALLS = method("executeBatch((address,uint256,bytes)[])", "calls")
"""The method with which an account for EntryPoint v0.8 executes several calls."""


class InnerCall(Struct, frozen=True):
    """A call that the smart account makes; ``value`` is in wei."""

    to: str
    value: int = 0
    data: bytes = b""


def encode_batch(
    calls: Sequence[InnerCall], version: EntryPointVersion = EntryPointVersion.V07
) -> bytes:
    """Returns the calldata with which the smart account executes these calls. Raises CalldataError
    if there are none, too many, or too large ones."""
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
    """Returns the calls in a smart account's calldata. Raises CalldataError unless ``data`` is
    exactly what :func:`encode_batch` returns for them."""
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
"""Largest number of operations in one ``handleOps`` call of the sandbox's EntryPoint."""

HANDLE_OPS = method(f"handleOps({TUPLE}[],address)", "operations beneficiary")
GET_NONCE = method("getNonce(address,uint192)", "sender key")
DEPOSIT_OF = method("balanceOf(address)", "account")
WITHDRAW_TO = method("withdrawTo(address,uint256)", "payee amount")
"""The EntryPoint's method that pays out what the caller has prepaid for gas."""
VALIDATE_USER_OP = method(
    f"validateUserOp({TUPLE},bytes32,uint256)", "operation hash missingAccountFunds"
)
"""The method with which an EntryPoint, and nobody else, asks an account whether an operation is
valid."""


def _topic(signature: str) -> str:
    return "0x" + keccak(signature.encode()).hex()


USER_OPERATION_EVENT = _topic(
    "UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)"
)
REVERT_REASON_EVENT = _topic("UserOperationRevertReason(bytes32,address,uint256,bytes)")
BEFORE_EXECUTION_EVENT = _topic("BeforeExecution()")
FAILED_OP = keccak(b"FailedOp(uint256,string)")[:4]
FAILED_OP_WITH_REVERT = keccak(b"FailedOpWithRevert(uint256,string,bytes)")[:4]


class OperationOutcome(Struct, frozen=True):
    """The outcome of an operation, as its ``UserOperationEvent`` reports it. If ``success`` is
    False, the inner calls failed, but gas was paid and the transaction succeeded.
    ``actual_gas_cost`` is in wei."""

    hash: bytes
    sender: str
    paymaster: str
    nonce: int
    success: bool
    actual_gas_cost: int
    actual_gas_used: int


class FailedOp(Struct, frozen=True):
    """The error with which ``handleOps`` reverted a whole bundle. ``index`` is the place of the
    failed operation. ``inner`` is what the account's code returned."""

    index: int
    reason: str
    inner: bytes = b""

    @property
    def code(self) -> str:
        """The code at the start of the reason, such as ``AA24`` in ``AA24 signature error``. Empty
        if there is none."""
        head = self.reason[:4]
        return head if head.startswith("AA") and head[2:].isdigit() else ""


def handled_operations(data: bytes) -> list[UserOperation]:
    """Returns the operations in the calldata of a bundle (a ``handleOps`` call). Empty for any
    other calldata."""
    try:
        return [
            unpack(PackedUserOperation(*packed)) for packed in HANDLE_OPS.read(data)["operations"]
        ]
    except (CalldataError, OperationError):
        return []


def read_outcome(topics: tuple[str, ...], data: bytes) -> OperationOutcome | None:
    """Returns the outcome that a ``UserOperationEvent`` of the EntryPoint reports. None for any
    other log."""
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
    """Returns the bytes with which an operation's inner calls reverted, as reported in the event's
    ``data``. Empty if ``data`` cannot be decoded."""
    decoded = _decoded(["uint256", "bytes"], data)
    return b"" if decoded is None else bytes(decoded[1])


def read_failed_op(data: bytes) -> FailedOp | None:
    """Returns the error in the revert data of ``handleOps``. None for any other data."""
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
