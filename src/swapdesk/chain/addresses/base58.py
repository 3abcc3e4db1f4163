"""Base58 and Base58Check with a given alphabet. Callers must limit the length of a text, because
decoding time grows with its square."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from swapdesk.chain.addresses.kind import wrong_checksum

BITCOIN_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CLASS = "1-9A-HJ-NP-Za-km-z"
"""The base58 characters, written for the brackets of a regular expression."""
XRP_ALPHABET = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"


class Base58Error(ValueError):
    """Raised if a text has a character outside the base58 alphabet in use, or its checksum is
    wrong."""


def encode(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    """Returns the bytes as base58 text. Every leading zero byte becomes one leading zero digit."""
    number = int.from_bytes(payload, "big")
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(alphabet[digit])
    zeros = len(payload) - len(payload.lstrip(b"\0"))
    return alphabet[0] * zeros + "".join(reversed(digits))


def decode(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes:
    """Returns the bytes of a base58 text. Raises Base58Error for a character outside the
    alphabet."""
    number = as_number(text, alphabet)
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def as_number(text: str, alphabet: str = BITCOIN_ALPHABET) -> int:
    """Returns the number that a base58 text encodes. Raises Base58Error for a character outside the
    alphabet."""
    number = 0
    for character in text:
        digit = alphabet.find(character)
        if digit < 0:
            raise Base58Error("a character outside the alphabet")
        number = number * 58 + digit
    return number


def reader(size: int) -> Callable[[str], bytes | None]:
    """Returns a function that decodes base58 without a checksum. It returns None for anything but
    ``size`` bytes."""
    shortest, longest = size, len(encode(b"\xff" * size))

    def read(text: str) -> bytes | None:
        if not shortest <= len(text) <= longest:
            return None
        try:
            payload = decode(text)
        except Base58Error:
            return None
        return payload if len(payload) == size else None

    return read


def spelled(payload: bytes) -> tuple[str, ...]:
    """Returns a tuple with one base58 text, because a hash in base58 has a single spelling."""
    return (encode(payload),)


def checksum(payload: bytes) -> bytes:
    """Returns the first four bytes of the double SHA-256 of the payload."""
    return hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]


def encode_check(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    return encode(payload + checksum(payload), alphabet)


def payload(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes | None:
    """Returns the version and payload of a Base58Check text. None for a wrong checksum or another
    alphabet."""
    try:
        whole = decode(text, alphabet)
    except Base58Error:
        return None
    body, tail = whole[:-4], whole[-4:]
    return body if body and checksum(body) == tail else None


def require(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes:
    """Returns what :func:`payload` returns, but raises AddressProblem for an invalid text."""
    decoded = payload(text, alphabet)
    if decoded is None:
        raise wrong_checksum()
    return decoded
