"""Addresses made to be mistaken for another one (address poisoning).

An attacker grinds an address whose ends equal those of one the victim has paid, because
people compare the ends.
"""

from __future__ import annotations

from swapdesk.chain.addresses.networks import COSMOS

END = 4

_PREFIXES = (
    "0x",
    "bc1q",
    "bc1p",
    "ltc1q",
    "ltc1p",
    "addr1",
    *(f"{prefix}1" for prefix in COSMOS),
)
"""Every address of its form begins so: they say nothing and are left out of the comparison.

Case carries no meaning behind any of them.
"""
_LONGEST_PREFIX = max(map(len, _PREFIXES))


def looks_like(candidate: str, known: str) -> bool:
    """True when both are different addresses whose first and last four characters agree.

    Compared without prefix and without case. A pair that differs only in case looks alike
    too, except where case means nothing (EVM, bech32).
    """
    if candidate[-END:].lower() != known[-END:].lower():
        # Nearly every pair of a book ends here, before prefixes are looked for.
        return False
    one, other = _body(candidate), _body(known)
    if min(len(one), len(other)) < 2 * END or _spelling(candidate) == _spelling(known):
        return False
    one, other = one.lower(), other.lower()
    return one[:END] == other[:END] and one[-END:] == other[-END:]


def differing_characters(one: str, other: str) -> int:
    """How many places differ, the surplus of the longer one included."""
    first, second = _spelling(one), _spelling(other)
    differing = sum(a != b for a, b in zip(first, second, strict=False))
    return differing + abs(len(first) - len(second))


def prefix_of_form(address: str) -> str:
    """What every address of its form begins with: ``0x``, ``bc1q``, ``cosmos1``; else nothing."""
    lowered = address[:_LONGEST_PREFIX].lower()
    return next((prefix for prefix in _PREFIXES if lowered.startswith(prefix)), "")


def _body(address: str) -> str:
    return address[len(prefix_of_form(address)) :]


def _spelling(address: str) -> str:
    """The address where case has been taken out if it carries no meaning on its chain."""
    return address.lower() if prefix_of_form(address) else address
