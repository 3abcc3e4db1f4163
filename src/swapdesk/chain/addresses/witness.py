"""Bech32 texts of one known prefix, and the witness addresses in that form (BIP 173, BIP 350)."""

from __future__ import annotations

from swapdesk.chain.addresses import bech32
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    burned,
    wrong_checksum,
    wrong_length,
)


def require_bech32(text: str, prefix_length: int, name: str = "bech32") -> str:
    """The text in lower case; AddressProblem at the first character it cannot hold.

    ``prefix_length`` characters, separator included, are known and not looked at again.
    """
    upper = text[:1].isupper()
    for place, character in enumerate(text, start=1):
        if character.isalpha() and character.isupper() != upper:
            raise AddressProblem(
                "character",
                f'character {place} is "{character}", and {name} never mixes upper and lower case',
                place,
            )
    lowered = text.lower()
    for place, character in enumerate(lowered[prefix_length:], start=prefix_length + 1):
        if character not in bech32.CHARSET:
            raise AddressProblem(
                "character",
                f'character {place} is "{text[place - 1]}", which {name} never uses',
                place,
            )
    return lowered


def checksum_problem(lowered: str, prefix: str, constant: int) -> AddressProblem:
    """A wrong checksum, with the one place that explains it, counted in the whole text."""
    index = bech32.wrong_place(prefix, lowered[len(prefix) + 1 :], constant)
    return wrong_checksum(None if index is None else len(prefix) + 2 + index)


def read_witness(text: str, prefix: str) -> str:
    """A witness address of version 0 or 1, in lower case. Raises AddressProblem."""
    lowered = require_bech32(text, len(prefix) + 1)
    short, long = len(prefix) + 40, len(prefix) + 60
    if len(text) not in (short, long):
        raise wrong_length(len(text), f"{short} or {long}")
    try:
        version, program = bech32.decode_witness(prefix, lowered)
    except bech32.Bech32Error as error:
        if error.fault == "checksum":
            first = lowered[len(prefix) + 1]
            constant = bech32.BECH32 if first == bech32.CHARSET[0] else bech32.BECH32M
            raise checksum_problem(lowered, prefix, constant) from None
        if error.fault == "variant":
            raise wrong_checksum() from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    if version > 1 or (version == 1 and len(program) != 32):
        place = len(prefix) + 2
        raise AddressProblem(
            "prefix", f"nothing spends witness version {version} in this form", place
        )
    if not any(program):
        raise burned()
    return lowered
