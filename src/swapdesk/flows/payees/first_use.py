"""The question before an address is paid for the first time.

A program that watches the clipboard puts its own address into a paste, and what a person sees
on the screen is then the wrong one throughout. So one group from the middle is hidden and asked
for: whoever types it reads it where the address came from. Ends are not asked for, because
look-alikes are made to have them.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.addresses.display import SIZE, groups, prefix_of
from swapdesk.flows.payees.recipient_check import RecipientCheck

_FOLDED = ("0x", "bc1", "ltc1")
"""Addresses whose letters mean the same in either case."""


@dataclass(frozen=True)
class Challenge:
    """``group`` counts from 1 without ``0x``; ``hidden`` are its places in the address."""

    group: int
    of: int
    hidden: frozenset[int]
    answer: str
    folds: bool
    prefixed: bool

    @property
    def question(self) -> tuple[str, ...]:
        """The sentences above the field."""
        without = ", not counting 0x" if self.prefixed else ""
        return (
            "This address was never paid before.",
            f"The desk hides group {self.group} of {self.of}{without}: type its four characters"
            " as they stand where you have the address from.",
        )

    def passed(self, typed: str) -> bool:
        said = typed.strip()
        return said.lower() == self.answer.lower() if self.folds else said == self.answer


def challenge_for(check: RecipientCheck, seed: str) -> Challenge | None:
    """What to ask before paying ``check``; None for an address that was paid before, or that
    the user's own address book names. ``seed`` (the intent's id, hexadecimal) picks the group,
    so that nobody knows it beforehand and a redraw does not change it.
    """
    if not check.ok or not check.address or not check.first_use or check.label is not None:
        return None
    prefix = prefix_of(check.address)
    body = groups(check.address)[1 if prefix else 0 :]
    # Neither end, and no last group that is only a part of one.
    middle = [at for at in range(1, len(body) - 1) if len(body[at]) == SIZE]
    if len(body[-1]) < SIZE and len(middle) > 1:
        middle.pop()
    if not middle:
        return None
    at = middle[int(seed[:8], 16) % len(middle)]
    begin = len(prefix) + at * SIZE
    return Challenge(
        group=at + 1,
        of=len(body),
        hidden=frozenset(range(begin, begin + SIZE)),
        answer=body[at],
        folds=check.address.lower().startswith(_FOLDED),
        prefixed=bool(prefix),
    )


def without(address: str, hidden: frozenset[int]) -> str:
    """The address with these places as dots."""
    return "".join("•" if at in hidden else char for at, char in enumerate(address))
