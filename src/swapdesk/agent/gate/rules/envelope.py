"""Rules on where and when a signature is valid.

Payload, promise, key and node must be on one chain (checklist 2). The nonce must be the chain's
next one, or an unused one (checklist 9). The payload must end soon enough (checklist 1, 8). For a
payload that replaces a waiting transaction a warning is given, because either of the two may be
executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from swapdesk.agent.gate.case import (
    Case,
    Facts,
    Objection,
    Objections,
    Read,
    nonce_reads,
    refuses,
    warns,
)
from swapdesk.agent.shapes.claim import ClaimField, NonceKind
from swapdesk.wallet.promise import Purpose


def _field(case: Case) -> ClaimField | None:
    return case.claim.first("chain")


@refuses("CHAIN_ID_MISSING", "chain")
def payload_names_its_chain(case: Case) -> Objections:
    """Yields an objection if an EVM payload names no chain: the signature would be valid on every
    chain."""
    if not case.claim.solana and case.claim.chain_id is None:
        yield Objection("It names no chain, so it would be valid on every one.")


@refuses("CHAIN_ID_DIFFERS", "chain")
def payload_is_for_the_promised_chain(case: Case) -> Objections:
    claim, promised = case.claim, case.promise.chain_id
    if claim.solana:
        if promised is not None:
            yield Objection("It is for Solana, and the swap is paid on another chain.")
    elif promised is None:
        yield Objection("It is for an EVM chain, and the swap is paid on another one.")
    elif claim.chain_id is not None and claim.chain_id != promised:
        yield Objection(
            f"It is for the chain with id {claim.chain_id}; you confirmed {promised}.",
            _field(case),
        )


@refuses("KEY_CHAIN_DIFFERS", "chain")
def key_is_of_the_promised_chain(case: Case) -> Objections:
    if case.policy.chain_id != case.promise.chain_id:
        yield Objection(
            "The key belongs to another chain than the one that was confirmed.",
            _field(case),
        )


@refuses("NODE_CHAIN_DIFFERS", "chain")
def node_is_on_the_promised_chain(case: Case) -> Objections:
    if case.claim.solana:
        return
    if case.facts.chain_id is None:
        yield Objection("The node did not say which chain it is on.", _field(case))
    elif case.facts.chain_id != case.promise.chain_id:
        yield Objection(f"The node is on the chain with id {case.facts.chain_id}.", _field(case))


@refuses("GENESIS_DIFFERS", "chain")
def node_has_the_profiles_genesis(case: Case) -> Objections:
    if case.facts.genesis_hash is None:
        yield Objection("The node did not give the first block of its chain.", _field(case))
    elif not case.policy.genesis_hash or case.facts.genesis_hash != case.policy.genesis_hash:
        yield Objection(
            "The node's chain begins with another block than the profile's.",
            _field(case),
        )


CHAIN_RULES = (
    payload_names_its_chain,
    payload_is_for_the_promised_chain,
    key_is_of_the_promised_chain,
    node_is_on_the_promised_chain,
    node_has_the_profiles_genesis,
)


_PERMIT2_WORDS = 3
"""The number of 32-byte words that ``allowance`` of Permit2 returns: amount, expiration and
nonce."""


def is_free(kind: NonceKind, nonce: int | bytes, read: Read, facts: Facts) -> bool | None:
    """True if the nonce may be used now, False if not. None if the chain did not answer ``read``,
    the call that asks about the nonce."""
    words = facts.words(read, _PERMIT2_WORDS if kind == "permit2 allowance" else 1)
    if words is None:
        return None
    if kind == "sequence" or kind == "permit2 allowance":
        return words[-1] == nonce
    if kind == "permit2 bitmap" and isinstance(nonce, int):
        return not words[0] >> (nonce & 0xFF) & 1
    return words[0] == 0


@refuses("NONCE_DIFFERS", "nonce")
def nonce_is_the_chains(case: Case) -> Objections:
    claim = case.claim
    reads = nonce_reads(claim, case.policy.account)
    for field, (nonce, read) in zip(claim.of("nonce"), reads, strict=False):
        free = is_free(claim.nonce_kind, nonce, read, case.facts)
        if free is None:
            yield Objection("The nonce could not be read from the chain.", field)
        elif not free:
            yield Objection("The nonce was used, or it is not the next one.", field)


NONCE_RULES = (nonce_is_the_chains,)


LEAST_LEFT = timedelta(seconds=30)
LONG_AFTER_QUOTE = timedelta(minutes=30)
LONGEST = timedelta(hours=24)
LEAST_BLOCKS = 20
"""The fewest blocks for which the blockhash of a Solana transaction must stay valid. With fewer,
the transaction may not be executed in time."""

_QUOTED = frozenset({Purpose.APPROVE, Purpose.ORDER, Purpose.SWAP})


def _ends(case: Case) -> Iterator[tuple[ClaimField, int]]:
    if case.claim.revokes:
        return
    yield from case.claim.numbers("ends")
    yield from case.claim.numbers("allowance ends")


@refuses("QUOTE_EXPIRED")
def quote_is_valid(case: Case) -> Objections:
    if case.purpose in _QUOTED and case.promise.valid_until <= case.facts.now:
        yield Objection("The quote is no longer valid.")


@refuses("DEADLINE_PAST", "ends", "allowance ends")
def it_lives_long_enough(case: Case) -> Objections:
    earliest = (case.facts.now + LEAST_LEFT).timestamp()
    for field, end in _ends(case):
        if end < earliest:
            yield Objection("It ends in less than 30 seconds or has ended.", field)


@warns("DEADLINE_LATE", "ends", "allowance ends")
def it_ends_soon_after_the_quote(case: Case) -> Objections:
    reference = case.promise.valid_until
    if case.promise.deposit is not None and case.purpose is Purpose.DEPOSIT:
        reference = case.promise.deposit.expires
    latest = (reference + LONG_AFTER_QUOTE).timestamp()
    for field, end in _ends(case):
        if end > latest:
            yield Objection("It stays valid for more than 30 minutes after the quote.", field)


@refuses("DEADLINE_ENDLESS", "ends", "allowance ends")
def it_ends_within_a_day(case: Case) -> Objections:
    latest = (case.facts.now + LONGEST).timestamp()
    for field, end in _ends(case):
        if end > latest:
            yield Objection("It stays valid for more than 24 hours.", field)


@refuses("NOT_YET_VALID", "begins")
def it_is_valid_already(case: Case) -> Objections:
    now = case.facts.now.timestamp()
    for field, begin in case.claim.numbers("begins"):
        if begin >= now:
            yield Objection("It is not valid yet.", field)


@refuses("BLOCKHASH_OLD", "lifetime")
def blockhash_is_fresh(case: Case) -> Objections:
    if not case.claim.solana:
        return
    field = case.claim.first("lifetime")
    left = case.facts.blocks_left
    if left is None:
        yield Objection("How long the transaction is valid could not be read.", field)
    elif left < LEAST_BLOCKS:
        yield Objection("The transaction is nearly too old to be executed.", field)


VALIDITY_RULES = (
    quote_is_valid,
    it_lives_long_enough,
    it_ends_soon_after_the_quote,
    it_ends_within_a_day,
    it_is_valid_already,
    blockhash_is_fresh,
)


@refuses("CANCELS_NOTHING")
def there_is_a_transaction_to_cancel(case: Case) -> Objections:
    """Yields an objection if a cancellation replaces no waiting transaction and so would only cost
    gas."""
    if Purpose.CANCEL is case.purpose and case.replaces is None:
        yield Objection("There is no transaction whose place it would take.")


@warns("CANCEL_MAY_FAIL")
def first_one_may_still_be_executed(case: Case) -> Objections:
    if case.purpose is Purpose.CANCEL and case.claim.act == "nothing":
        yield Objection(
            "The transaction may still be executed: the chain takes one of the two, as a rule the"
            " one that pays more for gas."
        )


@warns("MAY_BE_EITHER")
def one_of_the_two_is_executed(case: Case) -> Objections:
    if case.replaces is not None and case.purpose is not Purpose.CANCEL:
        yield Objection(
            "This is the same call for a higher fee: the chain executes it or the first one,"
            " never both."
        )


REPLACING_RULES = (
    there_is_a_transaction_to_cancel,
    first_one_may_still_be_executed,
    one_of_the_two_is_executed,
)
