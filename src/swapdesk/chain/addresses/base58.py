"""Base58 and Base58Check over a chosen alphabet.

Lengths are bounded by the callers; decoding a text is quadratic in its length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from swapdesk.chain.addresses.kind import wrong_checksum

BITCOIN_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CLASS = "1-9A-HJ-NP-Za-km-z"
"""The characters in a pattern's brackets."""
XRP_ALPHABET = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"


class Base58Error(ValueError):
    """The text is not base58 of this alphabet, or its checksum does not hold."""


def encode(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    """Bytes to base58; every leading zero byte is one leading zero digit."""
    number = int.from_bytes(payload, "big")
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(alphabet[digit])
    zeros = len(payload) - len(payload.lstrip(b"\0"))
    return alphabet[0] * zeros + "".join(reversed(digits))


def decode(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes:
    """Base58 to bytes. Raises Base58Error for a character outside the alphabet."""
    number = as_number(text, alphabet)
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def as_number(text: str, alphabet: str = BITCOIN_ALPHABET) -> int:
    """The number that the digits are. Raises Base58Error for a character outside the alphabet."""
    number = 0
    for character in text:
        digit = alphabet.find(character)
        if digit < 0:
            raise Base58Error("a character outside the alphabet")
        number = number * 58 + digit
    return number


def reader(size: int) -> Callable[[str], bytes | None]:
    """Reads so many bytes without a checksum; None for any other text."""
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
    """All spellings of some bytes: one."""
    return (encode(payload),)


def checksum(payload: bytes) -> bytes:
    """The first four bytes of SHA-256 taken twice."""
    return hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]


def encode_check(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    return encode(payload + checksum(payload), alphabet)


def payload(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes | None:
    """The bytes before a correct checksum, version included; None for any other text."""
    try:
        whole = decode(text, alphabet)
    except Base58Error:
        return None
    body, tail = whole[:-4], whole[-4:]
    return body if body and checksum(body) == tail else None


def require(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes:
    """As ``payload``. Raises AddressProblem for any other text."""
    decoded = payload(text, alphabet)
    if decoded is None:
        raise wrong_checksum()
    return decoded
