"""A withdrawal pays the owner of a smart account exactly what was confirmed, and nobody else."""

from __future__ import annotations

from collections import defaultdict

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.rules.simulation import moved_by
from swapdesk.agent.gate.words import COIN
from swapdesk.agent.shapes.claim import Meaning, Outflow
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.wallet.promise import Promise, TakenOut, WithdrawalPromise


def confirmed(promise: Promise) -> tuple[TakenOut, ...]:
    """Every payment in its order; what the EntryPoint keeps for gas comes last."""
    whole = promise.withdrawal or WithdrawalPromise(())
    prepaid = (TakenOut(COIN, whole.prepaid),) if whole.prepaid else ()
    return (*whole.taken, *prepaid)


def _payments(case: Case) -> list[Outflow]:
    return [one for one in case.claim.outflows if one.field.meaning is Meaning.SOLD_UNITS]


@refuses("WITHDRAWAL_MISSING")
def there_is_something_to_take_out(case: Case) -> Objections:
    promise, whole = case.promise, confirmed(case.promise)
    held = promise.withdrawal.taken if promise.withdrawal is not None else ()
    if not whole:
        yield Objection("Nothing was confirmed that the smart account should pay you.")
    elif (
        any(one.units <= 0 for one in whole)
        or len({one.asset.contract for one in held}) < len(held)
        or promise.gas_units <= 0
    ):
        yield Objection("The confirmed amounts make no withdrawal.")


@refuses("WITHDRAWAL_PAYMENTS_DIFFER", Meaning.PAYEE, Meaning.SOLD_UNITS)
def it_makes_the_promised_payments_alone(case: Case) -> Objections:
    paid, promised = len(_payments(case)), len(confirmed(case.promise))
    if paid != promised:
        yield Objection(f"It makes {paid} payments; {promised} were confirmed.")


@refuses("WITHDRAWAL_PAYEE_DIFFERS", Meaning.PAYEE)
def the_owner_alone_is_paid(case: Case) -> Objections:
    for field, payee in case.claim.texts(Meaning.PAYEE):
        if payee != case.policy.account:
            yield Objection("Somebody else than the owner would be paid.", field)


@refuses("WITHDRAWAL_AMOUNT_DIFFERS", Meaning.SOLD_UNITS)
def each_payment_is_of_its_amount(case: Case) -> Objections:
    for flow, one in zip(_payments(case), confirmed(case.promise), strict=False):
        if flow.units != one.units:
            yield Objection("It is another amount than the one that was confirmed.", flow.field)


@refuses("WITHDRAWAL_TOKEN_DIFFERS", Meaning.SOLD_TOKEN)
def each_payment_is_of_its_token(case: Case) -> Objections:
    for flow, one in zip(_payments(case), confirmed(case.promise), strict=False):
        if flow.token != one.asset.contract:
            yield Objection("It is another token than the one that was confirmed.", flow.field)


@refuses("WITHDRAWAL_KEEPER_DIFFERS", Meaning.CONTRACT)
def the_entry_point_alone_gives_back(case: Case) -> Objections:
    """Only what was confirmed as prepaid, and only by the EntryPoint that everybody uses."""
    keepers = list(case.claim.texts(Meaning.CONTRACT))
    whole = case.promise.withdrawal
    prepaid = whole is not None and whole.prepaid > 0
    if len(keepers) != int(prepaid):
        yield Objection(
            "What the EntryPoint keeps for gas was not confirmed as it is taken out.",
            keepers[0][0] if keepers else None,
        )
    for field, keeper in keepers:
        if keeper != ENTRY_POINT:
            yield Objection("The EntryPoint is not the one that everybody uses.", field)


@refuses("WITHDRAWAL_MOVES_DIFFER")
def nothing_else_moves(case: Case) -> Objections:
    """As simulated: the smart account loses what was confirmed and the owner gets all of it."""
    simulation, whole = case.facts.simulation, case.promise.withdrawal
    if simulation is None or simulation.failure is not None or whole is None:
        return
    lost: dict[str | None, int] = defaultdict(int)
    for one in whole.taken:
        lost[one.asset.contract] -= one.units
    got = defaultdict(int, {token: -units for token, units in lost.items()})
    got[None] += whole.prepaid
    account = case.claim.contract or ""
    if moved_by(simulation, account) != {token: units for token, units in lost.items() if units}:
        yield Objection("Something else would leave the smart account than was confirmed.")
    if moved_by(simulation, case.policy.account) != {
        token: units for token, units in got.items() if units
    }:
        yield Objection("Something else would come to the account than was confirmed.")


RULES = (
    there_is_something_to_take_out,
    it_makes_the_promised_payments_alone,
    the_owner_alone_is_paid,
    each_payment_is_of_its_amount,
    each_payment_is_of_its_token,
    the_entry_point_alone_gives_back,
    nothing_else_moves,
)
