"""Computes the digest of a payload in the desk, independently of the wallet agent.

This code shares only the hash function with the agent's. The review that the trader reads was made
from the same payload. So if the two digests differ, the agent would sign something other than what
the trader reads. For a UserOperation the digest is what EntryPoint v0.7 and v0.8 call
``getUserOpHash``.

Nothing is judged here, because that is the agent's work. A document that cannot be hashed has the
digest None.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from swapdesk.chain.addresses.evm import keccak
from swapdesk.wallet.answers import EvmTerms, Review, RuleFinding, Severity
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)

_HALF = 16
_OPERATION_DOMAIN = (
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_OPERATION = (
    "PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,"
    "bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)"
)


def operation_digest(payload: OperationPayload) -> bytes:
    """Returns the hash of an ERC-4337 operation (``getUserOpHash``). Raises KeyError, ValueError or
    OverflowError if the operation is not valid, has a paymaster, or is for an unknown release of
    the EntryPoint."""
    operation = payload.operation
    if any(name.startswith("paymaster") for name in operation):
        raise ValueError("somebody else would pay for the operation")
    words = b"".join(
        (
            _address_word(operation["sender"]),
            _address_word(operation["nonce"]),
            keccak(_octets(operation, "factory") + _octets(operation, "factoryData")),
            keccak(_octets(operation, "callData")),
            _halves(operation["verificationGasLimit"], operation["callGasLimit"]),
            _address_word(operation["preVerificationGas"]),
            _halves(operation["maxPriorityFeePerGas"], operation["maxFeePerGas"]),
            keccak(b""),
        )
    )
    entry_point, chain = _address_word(payload.entry_point), payload.chain_id.to_bytes(32, "big")
    if payload.version == "0.7":
        return keccak(keccak(words) + entry_point + chain)
    if payload.version != "0.8":
        raise ValueError("a release of the EntryPoint that is not known here")
    domain = (
        keccak(_OPERATION_DOMAIN.encode()) + keccak(b"ERC4337") + keccak(b"1") + chain + entry_point
    )
    return keccak(b"\x19\x01" + keccak(domain) + keccak(keccak(_OPERATION.encode()) + words))


def _octets(operation: Mapping[str, str], name: str) -> bytes:
    return bytes.fromhex(operation.get(name, "0x").removeprefix("0x"))


def _address_word(text: str) -> bytes:
    return int(text, 16).to_bytes(32, "big")


def _halves(high: str, low: str) -> bytes:
    return b"".join(int(number, 16).to_bytes(_HALF, "big") for number in (high, low))


DIFFERS = "DESK_DIGEST_DIFFERS"
_DOMAIN = "EIP712Domain"
_DOMAIN_TYPES = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}
_DEEPEST = 32
_SIGNATURE = 64

Rlp = bytes | list["Rlp"]


def held_against(review: Review, payload: Payload) -> Review:
    """Returns ``review`` with ``agreed`` set: True if the desk computes the same digest as the
    agent. If not, ``agreed`` is False and a refusing finding is added; if the review refuses
    already, ``agreed`` is None."""
    own = own_digest(payload, review.terms)
    if own is not None and own == review.digest:
        return replace(review, agreed=True)
    if review.refused:
        return replace(review, agreed=None)
    words = "The desk computes another digest of this than the wallet agent."
    finding = RuleFinding(DIFFERS, Severity.REFUSE, words)
    return replace(review, agreed=False, findings=(finding, *review.findings))


def own_digest(payload: Payload, terms: EvmTerms | None) -> str | None:
    """Returns the digest, in 0x-hex, that the desk itself computes for a payload; None if the
    payload cannot be read. ``terms`` are the fields that the agent adds to an EVM transaction, None
    for other payloads."""
    try:
        match payload:
            case TypedDataPayload():
                digest = _typed(payload.document)
            case TransactionPayload() if terms is not None:
                digest = _transaction(payload, terms)
            case SolanaPayload():
                digest = _solana(b64decode(payload.transaction, validate=True))
            case OperationPayload():
                digest = operation_digest(payload)
            case _:
                return None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return None
    return f"0x{digest.hex()}"


# Typed data (EIP-712)


def _typed(document: Mapping[str, Any]) -> bytes:
    types = {name: list(fields) for name, fields in document["types"].items()}
    domain = document["domain"]
    if _DOMAIN not in types:
        types[_DOMAIN] = [
            {"name": name, "type": kind} for name, kind in _DOMAIN_TYPES.items() if name in domain
        ]
    message = _struct(types, document["primaryType"], document["message"], 0)
    return keccak(b"\x19\x01" + _struct(types, _DOMAIN, domain, 0) + message)


def _struct(types: Mapping[str, Any], name: str, values: Mapping[str, Any], depth: int) -> bytes:
    if depth > _DEEPEST:
        raise RecursionError
    fields = types[name]
    words = [_word(types, field["type"], values[field["name"]], depth + 1) for field in fields]
    return keccak(keccak(_declared(types, name).encode()) + b"".join(words))


def _declared(types: Mapping[str, Any], name: str) -> str:
    needed, waiting = {name}, [name]
    while waiting:
        for field in types[waiting.pop()]:
            kind = field["type"].partition("[")[0]
            if kind in types and kind not in needed:
                needed.add(kind)
                waiting.append(kind)
    return "".join(
        kind
        + "("
        + ",".join(" ".join((field["type"], field["name"])) for field in types[kind])
        + ")"
        for kind in (name, *sorted(needed - {name}))
    )


def _word(types: Mapping[str, Any], kind: str, value: Any, depth: int) -> bytes:
    if kind.endswith("]"):
        inner = kind[: kind.rindex("[")]
        return keccak(b"".join(_word(types, inner, item, depth) for item in value))
    if kind in types:
        return _struct(types, kind, value, depth)
    if kind == "string":
        return keccak(value.encode())
    if kind == "bytes":
        return keccak(bytes.fromhex(value.removeprefix("0x")))
    if kind.startswith("bytes"):
        return bytes.fromhex(value.removeprefix("0x")).ljust(32, b"\0")
    if kind == "bool":
        return int(value is True).to_bytes(32, "big")
    text = str(value)
    number = int(text, 16) if text[:2] == "0x" else int(text)
    return number.to_bytes(32, "big", signed=number < 0)


# Transactions (EIP-1559, EIP-2718)


def _transaction(payload: TransactionPayload, terms: EvmTerms) -> bytes:
    numbers = (terms.chain_id, terms.nonce, terms.max_priority, terms.max_fee, terms.gas)
    items: list[Rlp] = [
        *(_whole(number) for number in numbers),
        bytes.fromhex(payload.to[2:]),
        _whole(payload.value),
        bytes.fromhex(payload.data[2:]),
        [],
    ]
    return keccak(b"\x02" + _rlp(items))


def _whole(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _rlp(item: Rlp) -> bytes:
    if isinstance(item, list):
        return _headed(0xC0, b"".join(_rlp(part) for part in item))
    return item if len(item) == 1 and item[0] < 0x80 else _headed(0x80, item)


def _headed(base: int, body: bytes) -> bytes:
    if len(body) < 56:
        return bytes([base + len(body)]) + body
    size = _whole(len(body))
    return bytes([base + 55 + len(size)]) + size + body


# Solana


def _solana(transaction: bytes) -> bytes:
    count = transaction[0]
    if count >= 0x80:
        raise ValueError("more signatures than a transaction has room for")
    return hashlib.sha256(transaction[1 + count * _SIGNATURE :]).digest()
