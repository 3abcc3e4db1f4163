"""Bitcoin main network addresses: P2PKH, P2SH, witness version 0 and taproot."""

from __future__ import annotations

from swapdesk.chain.addresses import base58, bech32
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    Reading,
    require_alphabet,
    wrong_checksum,
    wrong_length,
    wrong_start,
)

PREFIX = "bc"
VERSIONS = {0x00: "1", 0x05: "3"}
SHORTEST, LONGEST = 26, 35

_BURNED = frozenset(
    {
        "1111111111111111111114oLvT2",
        "1BitcoinEaterAddressDontSendf59kuE",
        "1CounterpartyXXXXXXXXXXXXXXXUWLpVr",
    }
)


def read(text: str) -> Reading:
    """The address; a bech32 one in lower case. Raises AddressProblem."""
    if text[:3].lower() == "bc1":
        return Reading(_read_witness(text))
    if text[:1] not in ("1", "3"):
        raise wrong_start("bc1, 1 or 3")
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    if not SHORTEST <= len(text) <= LONGEST:
        raise wrong_length(len(text), f"{SHORTEST} to {LONGEST}")
    try:
        payload = base58.decode_check(text)
    except base58.Base58Error:
        raise wrong_checksum() from None
    if len(payload) != 21 or payload[0] not in VERSIONS:
        raise AddressProblem("prefix", "its version is not one of the main network")
    if text in _BURNED:
        raise AddressProblem(
            "unsafe", "This is a burn address. What is sent to it is lost.", whole=True
        )
    return Reading(text)


def _read_witness(text: str) -> str:
    upper = text[:2] == "BC"
    lowered = text.lower()
    for index, character in enumerate(text):
        if character.isalpha() and character.isupper() != upper:
            place = index + 1
            raise AddressProblem(
                "character",
                f'character {place} is "{character}", and bech32 never mixes upper and lower case',
                place,
            )
    for index, character in enumerate(lowered[3:], start=4):
        if character not in bech32.CHARSET:
            raise AddressProblem(
                "character",
                f'character {index} is "{text[index - 1]}", which bech32 never uses',
                index,
            )
    if len(text) not in (42, 62):
        raise wrong_length(len(text), "42 or 62")
    try:
        version, program = bech32.decode_witness(PREFIX, lowered)
    except bech32.Bech32Error as error:
        if error.fault in ("checksum", "variant"):
            raise wrong_checksum() from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    if version > 1 or (version == 1 and len(program) != 32):
        raise AddressProblem("prefix", f"nothing spends witness version {version} in this form", 4)
    if not any(program):
        raise AddressProblem(
            "unsafe", "This is a burn address. What is sent to it is lost.", whole=True
        )
    return lowered
