"""Addresses made to be mistaken for another one (address poisoning).

An attacker grinds an address whose ends equal those of one the victim has paid, because
people compare the ends. A name of words is read as a whole: of names those look alike that are
drawn alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

END = 4

_PREFIXES = tuple(dict.fromkeys(mark for kind in ADDRESS_KINDS.values() for mark in kind.marks))
"""They say nothing and are left out of the comparison. Case has no meaning behind any of them."""
_LONGEST_PREFIX = max(map(len, _PREFIXES))
_DRAWN_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"))


def looks_like(candidate: str, known: str) -> bool:
    """True when both are different addresses whose first and last four characters agree.

    Compared without prefix and without case. A pair that differs only in case looks alike
    too, except where case means nothing (EVM, bech32). Names look alike where they are drawn
    alike.
    """
    if is_name(candidate) and is_name(known):
        return candidate != known and _drawn(candidate) == _drawn(known)
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


def is_name(text: str) -> bool:
    """Whether a text is a name of words, on a chain that has names for accounts."""
    return any(matches(text) for matches in name_forms())


@cache
def name_forms() -> tuple[Callable[[str], bool], ...]:
    """The forms of names, of the kinds that have them."""
    return tuple(kind.is_name for kind in ADDRESS_KINDS.values() if kind.is_name is not None)


def _drawn(name: str) -> str:
    for drawn, alike in _DRAWN_ALIKE:
        name = name.replace(drawn, alike)
    return name


def _body(address: str) -> str:
    return address[len(prefix_of_form(address)) :]


def _spelling(address: str) -> str:
    """The address where case has been taken out if it carries no meaning on its chain."""
    return address.lower() if prefix_of_form(address) else address
