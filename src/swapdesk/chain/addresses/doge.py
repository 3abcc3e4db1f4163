"""Dogecoin main network addresses: P2PKH (D) and P2SH (A or 9)."""

from __future__ import annotations

from swapdesk.chain.addresses.key_hash import read_key_hash
from swapdesk.chain.addresses.verdict import Reading, burned, wrong_start

VERSIONS = {0x1E: "D", 0x16: "A or 9"}

_BURNED = frozenset({"DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr"})


def read(text: str) -> Reading:
    """The address. Raises AddressProblem."""
    if text[:1] not in ("D", "A", "9"):
        raise wrong_start("D, A or 9")
    address = read_key_hash(text, VERSIONS, fixed_length=34)
    if address in _BURNED:
        raise burned()
    return Reading(address)
