"""Dash main network addresses: P2PKH (X) and P2SH (7)."""

from __future__ import annotations

from swapdesk.chain.addresses.key_hash import read_key_hash
from swapdesk.chain.addresses.verdict import Reading, wrong_start

VERSIONS = {0x4C: "X", 0x10: "7"}


def read(text: str) -> Reading:
    """The address. Raises AddressProblem."""
    if text[:1] not in ("X", "7"):
        raise wrong_start("X or 7")
    return Reading(read_key_hash(text, VERSIONS, fixed_length=34))
