"""Bech32 and Bech32m texts, the witness programs in them, and the faults of a wrong text.

Sources: BIP 173, BIP 350.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from swapdesk.chain.addresses.kind import AddressProblem, wrong_checksum

CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
CLASS = "02-9ac-hj-np-z"
"""The bech32 characters, written for the brackets of a regular expression."""
_CHARACTERS = frozenset(CHARSET)
_VALUES = {character: value for value, character in enumerate(CHARSET)}
BECH32 = 1
BECH32M = 0x2BC830A3
MAX_LENGTH = 90
"""Largest length by BIP 173; the checksum is weaker for longer texts."""

LONG = 128
"""Largest number of characters of addresses that exceed the limit of BIP 173, such as those of
Cardano."""

_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


class Bech32Error(ValueError):
    """Raised for a text that is not bech32. ``fault`` is one of case, form, character, checksum,
    variant and program."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


def _polymod(values: Iterable[int], check: int = 1) -> int:
    for value in values:
        check = (check & 0x1FFFFFF) << 5 ^ value ^ _MIXED[check >> 25]
    return check


def _mixed(top: int) -> int:
    mixed = 0
    for bit, generator in enumerate(_GENERATOR):
        if top >> bit & 1:
            mixed ^= generator
    return mixed


_MIXED = tuple(_mixed(top) for top in range(32))


def _expanded(prefix: str) -> list[int]:
    return [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]


def encode(prefix: str, values: list[int], constant: int) -> str:
    """Returns the bech32 text of a prefix and 5-bit values. ``constant`` is :data:`BECH32` or
    :data:`BECH32M`."""
    remainder = _polymod([*_expanded(prefix), *values, 0, 0, 0, 0, 0, 0]) ^ constant
    tail = [remainder >> 5 * (5 - i) & 31 for i in range(6)]
    return prefix + "1" + "".join(CHARSET[v] for v in [*values, *tail])


def decode(text: str, limit: int = MAX_LENGTH) -> tuple[str, list[int], int]:
    """Returns the prefix, the 5-bit values without checksum, and :data:`BECH32` or :data:`BECH32M`.
    Raises Bech32Error, also for a text longer than ``limit``."""
    if not text.isascii():
        # Some other letters fold to ASCII ones: the Kelvin sign to k.
        raise Bech32Error("character")
    if text.lower() != text and text.upper() != text:
        raise Bech32Error("case")
    text = text.lower()
    separator = text.rfind("1")
    if separator < 1 or separator + 7 > len(text) or len(text) > limit:
        raise Bech32Error("form")
    prefix, data = text[:separator], text[separator + 1 :]
    if any(not 33 <= ord(c) <= 126 for c in prefix) or not _CHARACTERS.issuperset(data):
        raise Bech32Error("character")
    values = [_VALUES[c] for c in data]
    constant = _polymod([*_expanded(prefix), *values])
    if constant not in (BECH32, BECH32M):
        raise Bech32Error("checksum")
    return prefix, values[:-6], constant


def wrong_place(prefix: str, data: str, constant: int) -> int | None:
    """Returns the index in ``data`` of the wrong character, if one wrong character explains the
    wrong checksum; otherwise None. ``data`` is in lower case and includes the checksum."""
    if any(character not in CHARSET for character in data):
        return None
    values = [CHARSET.index(character) for character in data]
    wanted = _polymod([*_expanded(prefix), *values]) ^ constant
    advanced = list(range(1, 32))
    for index in reversed(range(len(data))):
        if wanted in advanced:
            return index
        advanced = [_polymod((0,), check) for check in advanced]
    return None


def regroup(values: Iterable[int], width: int, target: int, *, pad: bool) -> list[int]:
    """Splits values of ``width`` bits into values of ``target`` bits. If ``pad`` is True, zero bits
    fill up the last value. Otherwise leftover bits raise Bech32Error, unless they are zero
    padding."""
    accumulator = bits = 0
    result = []
    for value in values:
        accumulator = accumulator << width | value
        bits += width
        while bits >= target:
            bits -= target
            result.append(accumulator >> bits & (1 << target) - 1)
        accumulator &= (1 << bits) - 1
    if pad:
        if bits:
            result.append(accumulator << target - bits & (1 << target) - 1)
    elif bits >= width or accumulator:
        raise Bech32Error("program")
    return result


def encode_witness(prefix: str, version: int, program: bytes) -> str:
    constant = BECH32 if version == 0 else BECH32M
    return encode(prefix, [version, *regroup(program, 8, 5, pad=True)], constant)


def decode_witness(prefix: str, text: str) -> tuple[int, bytes]:
    """Returns the witness version and the program of an address with this prefix. Raises
    Bech32Error if the address breaks a rule of BIP 350."""
    own_prefix, values, constant = decode(text)
    if own_prefix != prefix or not values:
        raise Bech32Error("form")
    version, program = values[0], bytes(regroup(values[1:], 5, 8, pad=False))
    if version > 16 or not 2 <= len(program) <= 40:
        raise Bech32Error("program")
    if version == 0 and len(program) not in (20, 32):
        raise Bech32Error("program")
    if constant != (BECH32 if version == 0 else BECH32M):
        raise Bech32Error("variant")
    return version, program


def require(text: str, prefix_length: int, name: str = "bech32") -> str:
    """Returns the text in lower case. Raises AddressProblem for mixed case, or for a character
    outside the alphabet after the first ``prefix_length`` characters. ``name`` is the encoding's
    name in the message."""
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
        if character not in CHARSET:
            raise AddressProblem(
                "character",
                f'character {place} is "{text[place - 1]}", which {name} never uses',
                place,
            )
    return lowered


def read_bytes(lowered: str, prefix: str, limit: int = MAX_LENGTH) -> tuple[bytes, bool]:
    """Returns the bytes of a text, and whether it has exactly this prefix and a bech32 (not
    bech32m) checksum. Raises AddressProblem."""
    try:
        own_prefix, values, constant = decode(lowered, limit)
        payload = bytes(regroup(values, 5, 8, pad=False))
    except Bech32Error as error:
        if error.fault == "checksum":
            raise checksum_problem(lowered, prefix, BECH32) from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    return payload, (own_prefix, constant) == (prefix, BECH32)


def checksum_problem(lowered: str, prefix: str, constant: int) -> AddressProblem:
    """Returns the problem to raise for a wrong checksum. If a single wrong character explains it,
    the problem gives that character's position, from 1."""
    index = wrong_place(prefix, lowered[len(prefix) + 1 :], constant)
    return wrong_checksum(None if index is None else len(prefix) + 2 + index)


def has_prefix(*prefixes: str) -> Callable[[str], bool]:
    """Returns a function that recognizes bech32 and bech32m texts with one of these prefixes."""

    def matches(text: str) -> bool:
        if not text.lower().startswith(tuple(f"{prefix}1" for prefix in prefixes)):
            return False
        try:
            return decode(text, LONG)[0] in prefixes
        except Bech32Error:
            return False

    return matches
