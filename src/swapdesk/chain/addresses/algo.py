"""Algorand addresses: 32 bytes of a key and four of SHA-512/256, in base32 without padding."""

from __future__ import annotations

import base64
import binascii

from swapdesk.chain.addresses.verdict import (
    Reading,
    burned,
    require_alphabet,
    wrong_checksum,
    wrong_length,
)
from swapdesk.chain.addresses.xlm import ALPHABET

LENGTH = 58


def _checksum(key: bytes) -> bytes:
    from Crypto.Hash import SHA512

    return bytes(SHA512.new(key, truncate="256").digest()[-4:])


def encode(key: bytes) -> str:
    """The address of a 32-byte key."""
    return base64.b32encode(key + _checksum(key)).decode("ascii").rstrip("=")


def read(text: str) -> Reading:
    """The address. Raises AddressProblem."""
    require_alphabet(text, ALPHABET, "an Algorand address")
    if len(text) != LENGTH:
        raise wrong_length(len(text), str(LENGTH))
    try:
        whole = base64.b32decode(text + "=" * 6)
    except binascii.Error:
        raise wrong_checksum() from None
    key = whole[:32]
    # The last character has three bits to spare: only one of its spellings is the address.
    if encode(key) != text:
        raise wrong_checksum()
    if not any(key):
        raise burned()
    return Reading(text)
