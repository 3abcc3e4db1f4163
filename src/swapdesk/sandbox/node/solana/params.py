"""Parameters of a call to the Solana chain, and the codes and words with which one is refused.

Parameters are a list of values, the last of which may be an object of options.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Literal, TypeVar

from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana import PACKET_BYTES
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.solana.terms import CONFIRMED_AFTER, FINALIZED_AFTER

T = TypeVar("T")


class SolanaCode(IntEnum):
    PREFLIGHT_FAILED = -32002
    """The transaction would fail; ``data`` is the whole simulation."""
    BAD_SIGNATURE = -32003
    OTHER_VERSION = -32015
    SLOT_NOT_REACHED = -32016


def bad_params(message: str) -> Problem:
    return Problem(message, Code.BAD_PARAMS)


_WORDS = {
    "AccountNotFound": "Attempt to debit an account but found no record of a prior credit.",
    "AlreadyProcessed": "This transaction has already been processed",
    "BlockhashNotFound": "Blockhash not found",
    "InsufficientFundsForFee": "Insufficient funds for fee",
}


def words_of(error: Any) -> str:
    """Of the JSON of an error."""
    match error:
        case str():
            return _WORDS.get(error, error)
        case {"InstructionError": [index, {"Custom": code}]}:
            return f"Error processing Instruction {index}: custom program error: {code:#x}"
        case {"InstructionError": [index, reason]}:
            return f"Error processing Instruction {index}: {reason}"
        case {"InsufficientFundsForRent": {"account_index": index}}:
            return f"Transaction results in an account ({index}) with insufficient funds for rent"
    return str(error)


Commitment = Literal["processed", "confirmed", "finalized"]

BEHIND: dict[Commitment, int] = {
    "processed": 0,
    "confirmed": CONFIRMED_AFTER,
    "finalized": FINALIZED_AFTER,
}
"""Blocks that a commitment lags behind the newest one."""

_LONGEST_TEXT = {"base58": 1683, "base64": 1644}
"""Characters of the largest packet."""


class Params:
    """``values`` by place, and an object of options behind them. Every method raises Problem for
    what does not fit."""

    def __init__(self, given: Any, values: int) -> None:
        given = [] if given is None else given
        if not isinstance(given, list):
            raise bad_params("Invalid params: `params` should be an array")
        if len(given) > values + 1:
            raise bad_params(f"Invalid parameters: at most {values + 1} are taken")
        self._given: list[Any] = given
        self.options: dict[str, Any] = self._value(values, dict) or {}

    def text(self, place: int) -> str:
        return _required(self._value(place, str))

    def number(self, place: int) -> int:
        value = _required(self._value(place, int))
        if not 0 <= value < 1 << 64:
            raise bad_params("Invalid params: invalid value, expected u64")
        return value

    def many(self, place: int, most: int, default: list[Any] | None = None) -> list[Any]:
        given = self._value(place, list)
        value = _required(default if given is None else given)
        if len(value) > most:
            raise bad_params(f"Too many inputs provided; max {most}")
        return value

    def object(self, place: int) -> dict[str, Any]:
        return _required(self._value(place, dict))

    def pubkey(self, place: int) -> Pubkey:
        return as_pubkey(self.text(place))

    def _value(self, place: int, kind: type[T]) -> T | None:
        """None for one that is null or not there."""
        value = self._given[place] if place < len(self._given) else None
        if value is not None and type(value) is not kind:
            raise bad_params(f"Invalid params: invalid type, expected {kind.__name__}")
        return value


def _required(value: T | None) -> T:
    if value is None:
        raise bad_params("Invalid params: a parameter is missing")
    return value


def as_pubkey(text: Any) -> Pubkey:
    return Pubkey.from_bytes(_decoded(text, Pubkey.LENGTH))


def as_signature(text: Any) -> Signature:
    return Signature.from_bytes(_decoded(text, Signature.LENGTH))


def as_hash(text: Any) -> Hash:
    return Hash.from_bytes(_decoded(text, Hash.LENGTH))


def _decoded(text: Any, length: int) -> bytes:
    # As many characters as so many bytes can take; decoding is quadratic.
    if not isinstance(text, str) or len(text) > length * 11 // 8 + 1:
        raise bad_params("Invalid param: WrongSize")
    try:
        value = base58.decode(text)
    except ValueError:
        raise bad_params("Invalid param: Invalid") from None
    if len(value) != length:
        raise bad_params("Invalid param: WrongSize")
    return value


def commitment_of(options: dict[str, Any]) -> Commitment:
    given = options.get("commitment", options.get("preflightCommitment")) or "finalized"
    if given not in BEHIND:
        raise bad_params(f"Invalid params: unknown variant `{str(given)[:20]}`")
    found: Commitment = given
    return found


def flag(options: dict[str, Any], name: str) -> bool:
    value = options.get(name) or False
    if not isinstance(value, bool):
        raise bad_params(f"Invalid params: {name} should be a boolean")
    return value


def encoding_of(options: dict[str, Any], known: Sequence[str], default: str) -> str:
    given = options.get("encoding") or default
    if given not in known:
        raise bad_params(f"unsupported encoding: {str(given)[:20]}. Supported encodings: {known}")
    return str(given)


def packet(text: str, encoding: str) -> bytes:
    """Bytes of an encoded transaction. Raises Problem."""
    kind = "solana_transaction::versioned::VersionedTransaction"
    if len(text) > _LONGEST_TEXT[encoding]:
        raise bad_params(
            f"{encoding} encoded {kind} too large: {len(text)} bytes (max: encoded/raw"
            f" {_LONGEST_TEXT[encoding]}/{PACKET_BYTES})"
        )
    try:
        raw = base64.b64decode(text, validate=True) if encoding == "base64" else base58.decode(text)
    except (binascii.Error, ValueError):
        raise bad_params(f"invalid {encoding} encoding") from None
    if len(raw) > PACKET_BYTES:
        raise bad_params(f"decoded {kind} too large: {len(raw)} bytes (max: {PACKET_BYTES} bytes)")
    return raw
