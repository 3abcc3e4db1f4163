"""Stellar addresses: StrKey of an account (SEP-23); other keys are named and refused.

The desk sends address and memo as two fields, so a muxed address, which hides a memo id
inside, would let the two disagree.
"""

from __future__ import annotations

import base64
import binascii

from swapdesk.chain.addresses.crc16 import crc16
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    Reading,
    burned,
    require_alphabet,
    wrong_checksum,
    wrong_length,
    wrong_start,
)

ACCOUNT, MUXED, SEED, CONTRACT = 6 << 3, 12 << 3, 18 << 3, 2 << 3
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LENGTH = 56

_SIZES = {ACCOUNT: 32, MUXED: 40, SEED: 32, CONTRACT: 32}
_FOREIGN = {
    CONTRACT: "it is a contract, not an account",
    11 << 3: "it is a liquidity pool, not an account",
    1 << 3: "it is a claimable balance, not an account",
    15 << 3: "it is a signed payload, not an account",
    19 << 3: "it is the hash of a transaction, not an account",
    23 << 3: "it is a hash that signs, not an account",
}


def encode(version: int, payload: bytes) -> str:
    """A StrKey out of its version byte and payload."""
    body = bytes([version]) + payload
    whole = body + crc16(body).to_bytes(2, "little")
    return base64.b32encode(whole).decode("ascii").rstrip("=")


def decode(text: str) -> tuple[int, bytes] | None:
    """Version byte and payload of a StrKey of any kind; None when its checksum is wrong.

    Of the spellings base32 leaves open only the one that encodes again is a StrKey.
    """
    try:
        whole = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        return None
    if len(whole) < 3 or base64.b32encode(whole).decode("ascii").rstrip("=") != text:
        return None
    body, tail = whole[:-2], whole[-2:]
    if crc16(body).to_bytes(2, "little") != tail:
        return None
    version, payload = body[0], body[1:]
    if len(payload) != _SIZES.get(version, len(payload)):
        return None
    return version, payload


def muxed_parts(text: str) -> tuple[str, str] | None:
    """Account and memo id of a muxed address with a correct checksum, else None."""
    if text[:1] != "M":
        return None
    found = decode(text)
    if found is None or found[0] != MUXED:
        return None
    return encode(ACCOUNT, found[1][:32]), str(int.from_bytes(found[1][32:], "big"))


def is_seed(text: str) -> bool:
    """True for a secret key with a correct checksum."""
    found = decode(text) if text[:1] == "S" and len(text) == LENGTH else None
    return found is not None and found[0] == SEED


def read(text: str) -> Reading:
    """The account. Raises AddressProblem."""
    parts = muxed_parts(text)
    if parts is not None:
        account, memo = parts
        said = (
            f"This is a muxed address: it holds memo id {memo} inside. "
            f"Give {account}, and the memo in its own field."
        )
        raise AddressProblem("prefix", said, 1, whole=True)
    if text[:1] != "G":
        found = decode(text) if text[:1] in tuple("CLBPTX") else None
        if found is not None and found[0] in _FOREIGN:
            raise AddressProblem("prefix", _FOREIGN[found[0]], 1)
        raise wrong_start("G")
    require_alphabet(text, ALPHABET, "a Stellar address")
    if len(text) != LENGTH:
        raise wrong_length(len(text), str(LENGTH))
    found = decode(text)
    if found is None:
        raise wrong_checksum()
    if found[0] != ACCOUNT:
        raise AddressProblem("prefix", "it holds no account", 2)
    if not any(found[1]):
        raise burned()
    return Reading(text)
