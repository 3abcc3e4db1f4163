"""Parameters of a call to the Solana chain, and the codes and words with which one is refused.

Parameters are a list of values, the last of which may be an object of options.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol, TypeVar

from solders.pubkey import Pubkey

from swapdesk.chain.addresses.base58 import decode
from swapdesk.sandbox.node.evm.json_rpc import Code, Problem
from swapdesk.sandbox.node.solana.terms import CONFIRMED_AFTER, FINALIZED_AFTER

T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Base58(Protocol[R]):
    """What is spelt in base58, by its type."""

    def from_string(self, text: str, /) -> R: ...


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
    return str(error)


BEHIND = {"processed": 0, "confirmed": CONFIRMED_AFTER, "finalized": FINALIZED_AFTER}
"""Blocks that a commitment lags behind the newest one."""

_LONGEST_TEXT = 1683
"""Characters of the largest packet in base58; decoding is quadratic."""


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

    def object(self, place: int) -> dict[str, Any]:
        return _required(self._value(place, dict))

    def pubkey(self, place: int) -> Pubkey:
        return read(Pubkey, self.text(place))

    def many(
        self, place: int, kind: Base58[R], most: int, default: list[Any] | None = None
    ) -> list[R]:
        given = self._value(place, list)
        texts = _required(default if given is None else given)
        if len(texts) > most:
            raise bad_params(f"Too many inputs provided; max {most}")
        return [read(kind, text) for text in texts]

    def packet(self, place: int, encoding: str) -> bytes:
        """A transaction or message, decoded."""
        text = self.text(place)
        if len(text) > _LONGEST_TEXT:
            raise bad_params(f"{len(text)} characters are too large (max: {_LONGEST_TEXT})")
        try:
            return base64.b64decode(text, validate=True) if encoding == "base64" else decode(text)
        except ValueError:
            raise bad_params(f"invalid {encoding} encoding") from None

    def option(self, name: str, known: Sequence[T], default: T) -> T:
        """One of the values that are known."""
        value = self.options.get(name)
        if value is None:
            return default
        if type(value) is not type(default) or value not in known:
            raise bad_params(f"Invalid params: unknown {name} `{str(value)[:20]}`")
        return value

    def flag(self, name: str) -> bool:
        return self.option(name, (False, True), default=False)

    @property
    def commitment(self) -> str:
        return self.option("commitment", tuple(BEHIND), "finalized")

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


def read(kind: Base58[R], text: Any) -> R:
    """A key, hash or signature. Raises Problem."""
    try:
        return kind.from_string(text)
    except Exception:  # noqa: BLE001 (the library raises several kinds of its own)
        raise bad_params("Invalid param: Invalid") from None
