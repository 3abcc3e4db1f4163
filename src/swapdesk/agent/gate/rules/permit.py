"""A permit that a call brings along is the one that was signed for it, or none."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.claim import Act, Claim
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.agent.signers.evm import signer_of

_EVEN = 27
"""``v`` of a signature whose y is even; 28 of one whose y is odd."""


def brings_no_permit(claim: Claim) -> bool:
    """Whether the places of a permit are empty: then an allowance has to stand."""
    return not any(
        any(one.value) if isinstance(one.value, bytes) else one.value
        for one in claim.of(Meaning.PERMIT)
    )


@refuses("PERMIT_DIFFERS", Meaning.PERMIT)
def permit_is_the_one_signed_before(case: Case) -> Objections:
    """Of the permits under this intent one has to carry this very signature of the account. Any
    other one fails on the chain at best, at the cost of the gas."""
    parts = list(case.claim.of(Meaning.PERMIT))
    if not parts or brings_no_permit(case.claim) or _was_signed(case):
        return
    for field in parts:
        yield Objection("It is of no permit that you signed for this swap.", field)


def _was_signed(case: Case) -> bool:
    signature = _signature(case.claim)
    return signature is not None and any(
        signer_of(one.content, signature) == case.policy.account
        for one in case.memory
        if one.act is Act.ALLOW
        and one.key is not None
        and one.contract == case.promise.sell.contract
    )


def _signature(claim: Claim) -> bytes | None:
    """r, s and the parity of y, or None where that is no signature."""
    values = {one.path: one.value for one in claim.of(Meaning.PERMIT)}
    v, r, s = (values.get(f"data.{name}") for name in ("v", "r", "s"))
    if not isinstance(r, bytes) or not isinstance(s, bytes) or v not in (_EVEN, _EVEN + 1):
        return None
    return r + s + bytes([int(v) - _EVEN])


RULES = (permit_is_the_one_signed_before,)
