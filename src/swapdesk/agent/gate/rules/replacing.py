"""What takes the place of another transaction, and that nobody can promise that it does."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses, warns
from swapdesk.agent.shapes.claim import Act
from swapdesk.wallet.promise import Purpose


@refuses("CANCELS_NOTHING")
def there_is_a_transaction_to_cancel(case: Case) -> Objections:
    """On a nonce of its own it would only cost gas."""
    if Purpose.CANCEL is case.purpose and case.replaces is None:
        yield Objection("There is no transaction whose place it would take.")


@warns("CANCEL_MAY_FAIL")
def first_one_may_still_be_executed(case: Case) -> Objections:
    if case.purpose is Purpose.CANCEL and case.claim.act is Act.NOTHING:
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


RULES = (
    there_is_a_transaction_to_cancel,
    first_one_may_still_be_executed,
    one_of_the_two_is_executed,
)
