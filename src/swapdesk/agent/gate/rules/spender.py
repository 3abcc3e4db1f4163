"""Who may take the token afterwards (checklist 6)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.rules.contract import is_contract
from swapdesk.agent.shapes.claim import Act, Target
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.deployments import PERMIT2


@refuses("SPENDER_UNKNOWN", Meaning.SPENDER)
def spender_is_the_venues(case: Case) -> Objections:
    """An approval of nothing may name anybody."""
    claim = case.claim
    if claim.revokes:
        return
    spenders = list(claim.texts(Meaning.SPENDER))
    if claim.act is Act.ALLOW and not spenders:
        yield Objection("Nobody is named who may take the token.")
    allowed = {one.address for one in case.policy.contracts_of(case.promise.venue)}
    allowed |= case.policy.spenders
    if claim.target is Target.TOKEN:
        # Permit2 takes nothing without a further signature of the owner.
        allowed.add(PERMIT2)
    for field, spender in spenders:
        if spender not in allowed:
            yield Objection("The spender is none of the venue's contracts.", field)


@refuses("SPENDER_WITHOUT_CODE", Meaning.SPENDER)
def spender_has_code(case: Case) -> Objections:
    if case.claim.revokes:
        return
    for field, spender in case.claim.texts(Meaning.SPENDER):
        code = case.facts.code.get(spender)
        if code is None:
            yield Objection("Whether the spender is a contract could not be read.", field)
        elif not is_contract(code):
            yield Objection("The spender is no contract: somebody holds its key.", field)


RULES = (spender_is_the_venues, spender_has_code)
