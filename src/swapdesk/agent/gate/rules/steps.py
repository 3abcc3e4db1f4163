"""Rules for several signatures for one swap: their number is limited, their steps increase, and no
two of them pay (checklist 11)."""

from __future__ import annotations

from collections.abc import Iterator

from swapdesk.agent.gate.case import (
    MOVING,
    Case,
    Objection,
    Objections,
    PastSignature,
    Taking,
    most_taken,
    refuses,
    taking_of,
    unused_read,
)
from swapdesk.agent.gate.rules.envelope import is_free
from swapdesk.agent.gate.words import amount
from swapdesk.agent.shapes.calls import nonce_of
from swapdesk.agent.shapes.claim import Act, Claim
from swapdesk.wallet.promise import Purpose

MOST_STEPS = 8
_PAYING: frozenset[Act] = frozenset({"order", "swap", "pay", "bundle", "withdraw"})
_TAKING: frozenset[Act] = frozenset({"swap", "pay"})


def _chain(case: Case) -> list[PastSignature]:
    step = case.step
    if step is None:
        return []
    return [past for past in case.memory if past.key == step.key]


def _again(case: Case) -> bool:
    step = case.step
    return step is not None and any(
        past.step == step.step and past.content == case.claim.content for past in _chain(case)
    )


@refuses("STEP_OUT_OF_BOUNDS")
def chain_is_bounded(case: Case) -> Objections:
    step = case.step
    if case.claim.typed and step is None:
        yield Objection("The signature stands in no chain.")
    if step is not None and not (1 <= step.total <= MOST_STEPS and 0 <= step.step < step.total):
        yield Objection(
            f"Step {step.step} of {step.total}: a chain has at most {MOST_STEPS} signatures."
        )
    if step is not None and not step.key:
        yield Objection("The signature has no key to be known by.")


@refuses("STEP_TOO_MANY")
def swap_needs_few_signatures(case: Case) -> Objections:
    """Yields an objection if too many documents were signed for the swap. Without this limit a
    service could ask for signature after signature."""
    signed = {past.content for past in case.memory if past.key is not None}
    if case.step is not None and len(signed - {case.claim.content}) >= MOST_STEPS:
        yield Objection(f"{MOST_STEPS} documents were signed for this swap already.")


@refuses("STEP_TOTAL_CHANGED")
def total_is_constant(case: Case) -> Objections:
    step = case.step
    if step is not None and any(past.total != step.total for past in _chain(case)):
        yield Objection("The chain has another number of steps than before.")


@refuses("STEP_NOT_FORWARD")
def step_increases(case: Case) -> Objections:
    step = case.step
    if step is None or _again(case):
        return
    earlier = [past for past in _chain(case) if past.step is not None]
    if any(past.step == step.step for past in earlier):
        yield Objection("Another document was signed for this step.")
    elif any((past.step or 0) > step.step for past in earlier):
        yield Objection("The chain goes backward.")


@refuses("STEP_DIGEST_REPEATED")
def no_document_twice(case: Case) -> Objections:
    if case.step is None or _again(case):
        return
    if any(past.key is not None and past.content == case.claim.content for past in case.memory):
        yield Objection("This document was signed before, as another step.")


@refuses("STEP_AFTER_COMPLETE")
def complete_chain_is_over(case: Case) -> Objections:
    if case.step is not None and not _again(case) and any(past.complete for past in _chain(case)):
        yield Objection("The chain was complete already.")


@refuses("STEP_CHAIN_CHANGED")
def chain_stays_with_its_first_step(case: Case) -> Objections:
    """Yields an objection if quote, chain, owner or token differ from those of earlier signatures
    for the same swap."""
    if case.claim.act == "nothing":
        return
    for past in case.memory:
        if past.quote_id != case.promise.quote_id:
            yield Objection("It belongs to another quote than what was signed before.")
        if past.chain_id != case.promise.chain_id:
            yield Objection("It is for another chain than what was signed before.")
        if past.owner != case.policy.account:
            yield Objection("It is of another account than what was signed before.")
        if past.token != case.promise.sell.contract:
            yield Objection("It is about another token than what was signed before.")


@refuses("PAID_ALREADY")
def swap_is_paid_once(case: Case) -> Objections:
    """Yields an objection if an order, swap or payment signed earlier may still be executed. Both
    together would take twice the confirmed amount."""
    claim = case.claim
    if claim.act not in _PAYING:
        return
    if any(
        past.act in _PAYING and not past.spent and past.content != claim.content
        for past in case.memory
    ):
        yield Objection("Something that pays this swap was signed already and may still happen.")


@refuses("ALLOWED_ALREADY")
def nothing_is_allowed_after_the_payment(case: Case) -> Objections:
    """Yields an objection if the payload gives an allowance after a swap or payment was signed.
    After a signed order the provider may still need an allowance."""
    claim = case.claim
    if claim.act != "allow" or claim.revokes or case.purpose is Purpose.REVOKE:
        return
    if any(past.act in _TAKING and not past.spent for past in case.memory) and not any(
        past.content == claim.content for past in case.memory
    ):
        yield Objection("The swap was paid already; nobody needs to take the token any more.")


@refuses("ALLOWANCE_SUM", "allowed units", "sold units")
def all_of_it_together_is_within_what_was_confirmed(case: Case) -> Objections:
    """Yields an objection if all signatures together can take more than was confirmed. A payload
    that replaces an earlier one is accepted if it does not raise the total."""
    own = taking_of(case.claim, case.promise)
    once = _once(case.claim, own, case.nonce)
    earlier = list(_earlier(case, once))
    taken = most_taken([*earlier, (once, own)])
    replaces = any(other == once for other, _ in earlier)
    if replaces and taken <= most_taken(earlier):
        return
    if taken > own.units > 0 and taken > _bound(case):
        sell = case.promise.sell
        field = case.claim.first("allowed units", "sold units")
        yield Objection(
            f"With what you signed before {amount(taken, sell)} could be taken in all; you"
            f" confirmed {amount(case.promise.sell_units, sell)}.",
            field,
        )


def taken_in_all(case: Case) -> int:
    """Returns how much of the token sold all earlier signatures and this payload together can take
    at most, in base units."""
    claim, promise = case.claim, case.promise
    own = taking_of(claim, promise)
    once = _once(claim, own, case.nonce)
    return most_taken([*_earlier(case, once), (once, own)])


def _bound(case: Case) -> int:
    """Returns the most that all signatures together may take, in base units: the confirmed amount,
    plus 0.01 % if the swap is paid by deposits."""
    promise = case.promise
    deposits = promise.deposit is not None or promise.bundle is not None
    return promise.sell_units + (promise.sell_units // 10_000 if deposits else 0)


def _earlier(case: Case, own: str) -> Iterator[tuple[str, Taking]]:
    for past in case.memory:
        if past.act not in MOVING or past.spent or _is_over(past, case):
            continue
        taking, once = past.taking, past.content.hex()
        if past.nonce is not None:
            once = f"nonce {past.nonce}"
        elif past.act == "bundle" and past.key is not None:
            once = past.key
        elif taking is not None and taking.once is not None:
            once = taking.once
        if taking is not None:
            yield once, taking
        elif once not in (own, case.claim.content.hex()):
            # Signed by an earlier release, which did not record the amount: counted as all of it.
            yield once, Taking(_bound(case))


def _once(claim: Claim, own: Taking, nonce: int | None) -> str:
    """Returns an identifier of the payload. Of two payloads with the same identifier, at most one
    is executed."""
    if nonce is not None:
        return f"nonce {nonce}"
    if claim.act == "bundle" and not claim.solana:
        return nonce_of(claim)
    return own.once or claim.content.hex()


def _is_over(past: PastSignature, case: Case) -> bool:
    """True if a document signed earlier has expired without being used. A used permit is not over,
    because its allowance remains."""
    taking, read, facts = past.taking, unused_read(past), case.facts
    if taking is None or taking.ends is None or taking.nonce is None or read is None:
        return False
    if facts.time is None or min(facts.time, facts.now.timestamp()) <= taking.ends:
        return False
    return is_free(taking.kind, taking.nonce, read, facts) is True


RULES = (
    chain_is_bounded,
    swap_needs_few_signatures,
    total_is_constant,
    step_increases,
    no_document_twice,
    complete_chain_is_over,
    chain_stays_with_its_first_step,
    swap_is_paid_once,
    nothing_is_allowed_after_the_payment,
    all_of_it_together_is_within_what_was_confirmed,
)
