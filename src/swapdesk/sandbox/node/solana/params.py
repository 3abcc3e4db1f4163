"""Parameters of a call to the Solana chain, and the codes and words with which one is refused.

Parameters are a list of values, the last of which may be an object of options.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Literal

from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana import PACKET_BYTES
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.solana.terms import CONFIRMED_AFTER, FINALIZED_AFTER

__all__ = ["Code", "Problem", "SolanaCode", "bad_params"]


class SolanaCode(IntEnum):
    PREFLIGHT_FAILED = -32002
    """The transaction would fail; ``data`` is the whole simulation."""
    BAD_SIGNATURE = -32003
    OTHER_VERSION = -32015
    SLOT_NOT_REACHED = -32016


def bad_params(message: str) -> Problem:
    return Problem(message, Code.BAD_PARAMS)


_TRANSACTION = {
    "AccountNotFound": "Attempt to debit an account but found no record of a prior credit.",
    "AlreadyProcessed": "This transaction has already been processed",
    "BlockhashNotFound": "Blockhash not found",
    "InsufficientFundsForFee": "Insufficient funds for fee",
    "InvalidAccountForFee": "This account may not be used to pay transaction fees",
    "InvalidProgramForExecution": "This program may not be used for executing instructions",
    "ProgramAccountNotFound": "Attempt to load a program that does not exist",
    "SanitizeFailure": "Transaction failed to sanitize accounts offsets correctly",
    "SignatureFailure": "Transaction did not pass signature verification",
}
_INSTRUCTION = {
    "InsufficientFunds": "insufficient funds for instruction",
    "InvalidAccountData": "invalid account data for instruction",
    "InvalidInstructionData": "invalid instruction data",
    "MissingRequiredSignature": "missing required signature for instruction",
    "ProgramFailedToComplete": "Program failed to complete",
}


def words_of(error: Any) -> str:
    """Of the JSON of an error."""
    if isinstance(error, str):
        return _TRANSACTION.get(error, _spelled(error))
    ((name, value),) = error.items()
    if name == "InstructionError":
        index, reason = value
        return f"Error processing Instruction {index}: {_instruction(reason)}"
    if name == "InsufficientFundsForRent":
        index = value["account_index"]
        return f"Transaction results in an account ({index}) with insufficient funds for rent"
    return f"{_spelled(name)} ({value})"


def _instruction(reason: Any) -> str:
    if isinstance(reason, str):
        return _INSTRUCTION.get(reason, _spelled(reason))
    ((name, value),) = reason.items()
    return f"custom program error: {value:#x}" if name == "Custom" else f"{_spelled(name)}: {value}"


def _spelled(name: str) -> str:
    """``CallDepth`` as ``call depth``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


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
    """Read once, by place. Every method raises Problem for what does
    not fit."""

    def __init__(self, given: Any, most: int) -> None:
        if given is None:
            given = []
        if not isinstance(given, list):
            raise bad_params("Invalid params: `params` should be an array")
        if len(given) > most:
            raise bad_params(f"Invalid parameters: at most {most} are taken")
        self._given: Sequence[Any] = given

    def text(self, place: int) -> str:
        if place >= len(self._given):
            raise bad_params("`params` should have at least 1 argument(s)")
        value = self._given[place]
        if not isinstance(value, str):
            raise bad_params("Invalid params: invalid type, expected a string")
        return value

    def number(self, place: int) -> int:
        value = self._given[place] if place < len(self._given) else None
        if type(value) is not int or not 0 <= value < 1 << 64:
            raise bad_params("Invalid params: invalid type, expected u64")
        return value

    def texts(self, place: int, most: int) -> list[str]:
        value = self._given[place] if place < len(self._given) else None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise bad_params("Invalid params: invalid type, expected a sequence of strings")
        if len(value) > most:
            raise bad_params(f"Too many inputs provided; max {most}")
        return value

    def options(self, place: int) -> dict[str, Any]:
        value = self._given[place] if place < len(self._given) else None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise bad_params("Invalid params: invalid type, expected an object")
        return value

    def pubkey(self, place: int) -> Pubkey:
        return as_pubkey(self.text(place))


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
    value = options.get(name)
    if value is not None and not isinstance(value, bool):
        raise bad_params(f"Invalid params: {name} should be a boolean")
    return bool(value)


def encoding_of(options: dict[str, Any], known: Sequence[str], default: str) -> str:
    given = options.get("encoding")
    if given is None:
        return default
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
