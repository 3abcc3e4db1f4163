"""The nonce is the chain's next, or one that was not used (checklist 9)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.facts import Facts, Read, nonce_reads
from swapdesk.agent.shapes.claim import NonceKind
from swapdesk.agent.shapes.meaning import Meaning

_PERMIT2_WORDS = 3
"""``allowance`` of Permit2 answers amount, expiration and nonce."""


def is_free(kind: NonceKind, nonce: int | bytes, read: Read, facts: Facts) -> bool | None:
    """Whether the nonce may be used now; None where the chain did not say."""
    words = facts.words(read, _PERMIT2_WORDS if kind is NonceKind.PERMIT2_ALLOWANCE else 1)
    if words is None:
        return None
    if kind is NonceKind.SEQUENCE or kind is NonceKind.PERMIT2_ALLOWANCE:
        return words[-1] == nonce
    if kind is NonceKind.PERMIT2_BITMAP and isinstance(nonce, int):
        return not words[0] >> (nonce & 0xFF) & 1
    return words[0] == 0


@refuses("NONCE_DIFFERS", Meaning.NONCE)
def nonce_is_the_chains(case: Case) -> Objections:
    claim = case.claim
    reads = nonce_reads(claim, case.policy.account)
    for field, (nonce, read) in zip(claim.of(Meaning.NONCE), reads, strict=False):
        free = is_free(claim.nonce_kind, nonce, read, case.facts)
        if free is None:
            yield Objection("The nonce could not be read from the chain.", field)
        elif not free:
            yield Objection("The nonce was used, or it is not the next one.", field)


RULES = (nonce_is_the_chains,)
