"""Tron addresses: Base58Check over 0x41 and the twenty bytes an EVM address would have."""

from __future__ import annotations

from swapdesk.chain.addresses.key_hash import read_key_hash
from swapdesk.chain.addresses.verdict import AddressProblem, Reading, wrong_start

VERSION = 0x41
LENGTH = 34

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def read(text: str) -> Reading:
    """The address. Raises AddressProblem; the hexadecimal form of nodes is not one."""
    if len(text) == 42 and text[:2] == "41" and set(text) <= _HEXADECIMAL:
        raise AddressProblem(
            "prefix", "it is the hexadecimal form of a node. Give the one that starts with T", 1
        )
    if not text.startswith("T"):
        raise wrong_start("T")
    return Reading(read_key_hash(text, (VERSION,), fixed_length=LENGTH))
