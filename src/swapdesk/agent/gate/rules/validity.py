"""Until when a signature is good (checklist 1, 8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses, warns
from swapdesk.agent.shapes.claim import ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.wallet.promise import Purpose

LEAST_LEFT = timedelta(seconds=30)
LONG_AFTER_QUOTE = timedelta(minutes=30)
LONGEST = timedelta(hours=24)
LEAST_BLOCKS = 20
"""A transaction whose blockhash lives no longer than this may not be executed in time."""

_QUOTED = frozenset({Purpose.APPROVE, Purpose.ORDER, Purpose.SWAP})


def _ends(case: Case) -> Iterator[tuple[ClaimField, int]]:
    """Ends in Unix seconds; those of an allowance of nothing say nothing."""
    if case.claim.revokes:
        return
    yield from case.claim.numbers(Meaning.ENDS)
    yield from case.claim.numbers(Meaning.ALLOWANCE_ENDS)


@refuses("QUOTE_EXPIRED")
def quote_is_valid(case: Case) -> Objections:
    if case.purpose in _QUOTED and case.promise.valid_until <= case.facts.now:
        yield Objection("The quote is no longer valid.")


@refuses("DEADLINE_PAST", Meaning.ENDS, Meaning.ALLOWANCE_ENDS)
def it_lives_long_enough(case: Case) -> Objections:
    earliest = (case.facts.now + LEAST_LEFT).timestamp()
    for field, end in _ends(case):
        if end < earliest:
            yield Objection("It ends in less than 30 seconds or has ended.", field)


@warns("DEADLINE_LATE", Meaning.ENDS, Meaning.ALLOWANCE_ENDS)
def it_ends_soon_after_the_quote(case: Case) -> Objections:
    reference = case.promise.valid_until
    if case.promise.deposit is not None and case.purpose is Purpose.DEPOSIT:
        reference = case.promise.deposit.expires
    latest = (reference + LONG_AFTER_QUOTE).timestamp()
    for field, end in _ends(case):
        if end > latest:
            yield Objection("It stays valid for more than 30 minutes after the quote.", field)


@refuses("DEADLINE_ENDLESS", Meaning.ENDS, Meaning.ALLOWANCE_ENDS)
def it_ends_within_a_day(case: Case) -> Objections:
    latest = (case.facts.now + LONGEST).timestamp()
    for field, end in _ends(case):
        if end > latest:
            yield Objection("It stays valid for more than 24 hours.", field)


@refuses("NOT_YET_VALID", Meaning.BEGINS)
def it_is_valid_already(case: Case) -> Objections:
    now = case.facts.now.timestamp()
    for field, begin in case.claim.numbers(Meaning.BEGINS):
        if begin >= now:
            yield Objection("It is not valid yet.", field)


@refuses("BLOCKHASH_OLD", Meaning.LIFETIME)
def blockhash_is_fresh(case: Case) -> Objections:
    if not case.claim.solana:
        return
    field = next(case.claim.of(Meaning.LIFETIME), None)
    left = case.facts.blocks_left
    if left is None:
        yield Objection("How long the transaction is valid could not be read.", field)
    elif left < LEAST_BLOCKS:
        yield Objection("The transaction is nearly too old to be executed.", field)


RULES = (
    quote_is_valid,
    it_lives_long_enough,
    it_ends_soon_after_the_quote,
    it_ends_within_a_day,
    it_is_valid_already,
    blockhash_is_fresh,
)
