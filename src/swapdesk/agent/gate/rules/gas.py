"""What execution may cost (checklist 12)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.claim import Act, Claim, ClaimField, Outflow
from swapdesk.agent.shapes.meaning import Meaning

GAS = "Gas"
"""The line of the gas of an EVM transaction, which is no field of what is signed for."""


@refuses("GAS_ABOVE", Meaning.NETWORK_FEE)
def gas_is_within_the_confirmed_bound(case: Case) -> Objections:
    claim, facts, bound = case.claim, case.facts, case.promise.gas_units
    if claim.typed:
        return
    if claim.solana:
        offered = list(claim.numbers(Meaning.NETWORK_FEE))
        if not offered:
            yield Objection("What the transaction costs cannot be told.")
        for field, units in offered:
            if units > bound:
                yield Objection("The network fee is above what was confirmed.", field)
    elif facts.gas is None:
        yield Objection("What the transaction costs could not be found out.")
    elif facts.gas.limit <= 0 or facts.gas.fee <= 0:
        yield Objection("The plan for gas makes no sense.")
    elif facts.gas.most > bound:
        line = ClaimField("gas", GAS, Meaning.NETWORK_FEE, facts.gas.most)
        yield Objection("The gas could cost more than was confirmed.", line)


def _of_smart_account(claim: Claim, flow: Outflow) -> bool:
    return claim.act is Act.WITHDRAW and flow.field.meaning is not Meaning.VALUE


@refuses("GAS_UNFUNDED")
def account_can_pay_the_gas(case: Case) -> Objections:
    claim, facts = case.claim, case.facts
    if claim.typed:
        return
    cost = sum(units for _, units in claim.numbers(Meaning.NETWORK_FEE))
    if not claim.solana:
        cost = facts.gas.most if facts.gas is not None else 0
    # What a smart account pays is not taken from the account that signs.
    own = [one for one in claim.outflows if not _of_smart_account(claim, one)]
    sent = sum(one.units for one in own if one.token is None)
    if facts.native is None:
        yield Objection("The balance for gas could not be read.")
    elif facts.native < cost + sent:
        yield Objection("The account's coin does not pay for the gas.")


RULES = (gas_is_within_the_confirmed_bound, account_can_pay_the_gas)
