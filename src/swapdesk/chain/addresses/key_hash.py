"""Base58Check addresses of Bitcoin's form: one version byte and twenty bytes of a hash."""

from __future__ import annotations

from collections.abc import Collection

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    burned,
    require_alphabet,
    wrong_checksum,
    wrong_length,
)

SHORTEST, LONGEST = 26, 35


def encode_key_hash(version: int, digest: bytes) -> str:
    """The address of a 20-byte hash."""
    return base58.encode_check(bytes([version]) + digest)


def read_key_hash(text: str, versions: Collection[int], *, fixed_length: int | None = None) -> str:
    """The text when it is such an address of one of the versions. Raises AddressProblem."""
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    if fixed_length is not None and len(text) != fixed_length:
        raise wrong_length(len(text), str(fixed_length))
    if not SHORTEST <= len(text) <= LONGEST:
        raise wrong_length(len(text), f"{SHORTEST} to {LONGEST}")
    try:
        payload = base58.decode_check(text)
    except base58.Base58Error:
        raise wrong_checksum() from None
    if len(payload) != 21 or payload[0] not in versions:
        raise AddressProblem("prefix", "its version is not one of the main network")
    if not any(payload[1:]):
        raise burned()
    return text
