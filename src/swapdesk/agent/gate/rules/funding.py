"""What is sent to fund a bundle goes to the owner's own smart account, and no more of it."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.words import NO_FACTORY, ONE_BY_ONE, amount
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.wallet.promise import Purpose


@refuses("FUNDING_PAYEE_DIFFERS", Meaning.PAYEE)
def payee_is_the_owners_smart_account(case: Case) -> Objections:
    """Its address follows from owner and factory; a service that names another one is not paid."""
    if case.purpose is not Purpose.FUND:
        return
    own = case.policy.smart_account
    for field, payee in case.claim.texts(Meaning.PAYEE):
        if own is None:
            yield Objection(f"{NO_FACTORY} {ONE_BY_ONE}", field)
        elif payee != own:
            yield Objection("It does not pay this account's own smart account.", field)


@refuses("FUNDING_ABOVE", Meaning.SOLD_UNITS)
def no_more_is_sent_than_confirmed(case: Case) -> Objections:
    if case.purpose is not Purpose.FUND:
        return
    sell, bound = case.promise.sell, case.promise.sell_units
    for field, units in case.claim.numbers(Meaning.SOLD_UNITS):
        if units > bound:
            yield Objection(
                f"It sends {amount(units, sell)}; you confirmed {amount(bound, sell)}.", field
            )


RULES = (payee_is_the_owners_smart_account, no_more_is_sent_than_confirmed)
