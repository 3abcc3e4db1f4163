"""A smart account is made by its factory, for the owner who signs, and is the only one."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.user_operation.smart_account import NO_SALT


@refuses("SALT_DIFFERS", Meaning.SALT)
def it_is_the_owners_one_account(case: Case) -> Objections:
    for field, salt in case.claim.numbers(Meaning.SALT):
        if salt != NO_SALT:
            yield Objection("It would be another smart account than the one you pay from.", field)


RULES = (it_is_the_owners_one_account,)
