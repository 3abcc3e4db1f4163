"""Rules for payments (checklist 19, 22).

A deposit must go to the order's deposit address, with the exact amount and its memo. A transfer
that funds a bundle must go to the owner's own smart account, with no more than confirmed. A
withdrawal must pay the owner exactly what was confirmed, and nobody else.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses, warns
from swapdesk.agent.gate.rules.amounts import moved_by
from swapdesk.agent.gate.rules.envelope import LEAST_LEFT
from swapdesk.agent.gate.words import COIN, NO_FACTORY, ONE_BY_ONE, amount
from swapdesk.agent.shapes.claim import Outflow
from swapdesk.chain.addresses import evm, sol
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.wallet.promise import Promise, Purpose, TakenOut, WithdrawalPromise

LONGEST_CALL = timedelta(minutes=10)


def _pays(case: Case) -> bool:
    if case.purpose is Purpose.FUND:
        return False
    return case.purpose is Purpose.DEPOSIT or case.claim.act == "pay"


@refuses("DEPOSIT_MISSING", "payee")
def there_is_an_order_to_pay(case: Case) -> Objections:
    if _pays(case) and case.promise.deposit is None:
        yield Objection("No order was confirmed whose deposit this could be.")


@refuses("DEPOSIT_ADDRESS_DIFFERS", "payee")
def payee_is_the_deposit_address(case: Case) -> Objections:
    deposit = case.promise.deposit
    if deposit is None or not _pays(case):
        return
    payees = list(case.claim.texts("payee"))
    if len(payees) != 1:
        yield Objection(f"It pays {len(payees)} addresses instead of one.")
    for field, payee in payees:
        if payee != deposit.address:
            yield Objection("It does not pay the order's deposit address.", field)


@refuses("DEPOSIT_AMOUNT_DIFFERS", "sold units")
def amount_is_the_orders(case: Case) -> Objections:
    """Yields an objection if the payload does not pay exactly the order's amount. A deposit of
    another amount is held back or priced anew."""
    deposit, promise = case.promise.deposit, case.promise
    if deposit is None or not _pays(case):
        return
    for field, units in case.claim.numbers("sold units"):
        if units != deposit.units:
            yield Objection(
                f"It pays {amount(units, promise.sell)} instead of "
                f"{amount(deposit.units, promise.sell)}.",
                field,
            )
    if deposit.units <= 0:
        yield Objection("The order asks for no amount.")


@refuses("DEPOSIT_ABOVE", "sold units")
def order_asks_for_what_was_confirmed(case: Case) -> Objections:
    """Yields an objection if the order asks for over 0.01 % more than the confirmed amount."""
    deposit, sold = case.promise.deposit, case.promise.sell_units
    if deposit is not None and _pays(case) and deposit.units > sold + sold // 10_000:
        field = case.claim.first("sold units")
        yield Objection(
            f"The order asks for {amount(deposit.units, case.promise.sell)}; you confirmed "
            f"{amount(sold, case.promise.sell)}.",
            field,
        )


@refuses("DEPOSIT_EXPIRED")
def order_still_waits(case: Case) -> Objections:
    deposit = case.promise.deposit
    if deposit is not None and _pays(case) and deposit.expires < case.facts.now + LEAST_LEFT:
        yield Objection("The order waits for its deposit for less than 30 seconds or no longer.")


@refuses("DEPOSIT_TAG_DIFFERS", "tag")
def memo_is_the_orders(case: Case) -> Objections:
    """Yields an objection if the payload lacks the memo that the order needs. A deposit without its
    memo is credited to nobody."""
    deposit = case.promise.deposit
    if deposit is None or not _pays(case) or not deposit.tag:
        return
    tags = list(case.claim.texts("tag"))
    if not tags:
        yield Objection("The order's deposit needs its memo, and it carries none.")
    for field, tag in tags:
        if tag != deposit.tag or len(tags) != 1:
            yield Objection("The memo is not the order's.", field)


@warns("DEPOSIT_TAG_UNNEEDED", "tag")
def memo_that_nobody_asked_for_is_told(case: Case) -> Objections:
    """Yields a warning if a deposit carries a memo although the order needs none. The order's own
    id is accepted as a memo."""
    deposit = case.promise.deposit
    if deposit is None or not _pays(case) or deposit.tag:
        return
    for field, tag in case.claim.texts("tag"):
        if tag != deposit.order_id:
            yield Objection("The order's deposit needs no memo, and it carries one.", field)


@refuses("DEPOSIT_TO_ITSELF", "payee")
def deposit_goes_to_somebody_else(case: Case) -> Objections:
    for field, payee in case.claim.texts("payee"):
        if payee == case.policy.account:
            yield Objection("It pays the account itself.", field)


@refuses("CALL_LATE", "ends")
def call_is_paid_at_once(case: Case) -> Objections:
    """Yields an objection if the signed payment for an API call stays valid for more than ten
    minutes. Whoever has the signature can take the money until it expires."""
    if case.purpose is not Purpose.CALL:
        return
    latest = (case.facts.now + LONGEST_CALL).timestamp()
    for field, end in case.claim.numbers("ends"):
        if end > latest:
            yield Objection(
                "A call is paid within ten minutes, and this may be taken later.", field
            )


@warns("CALL_PAYEE_CHANGED", "payee")
def payee_of_calls_that_changed_is_told(case: Case) -> Objections:
    """Yields a warning if earlier API calls were paid, but none on this chain in this token to this
    payee. A service that was taken over could redirect payments."""
    if case.purpose is not Purpose.CALL or not case.policy.calls:
        return
    for flow in case.claim.outflows:
        for field, payee in case.claim.texts("payee"):
            if (case.claim.chain_id, flow.token, payee) not in case.policy.calls:
                yield Objection(
                    f"Calls were paid to somebody else or in another token before, not to {payee}.",
                    field,
                )


@refuses("CALL_UNSIGNED")
def call_is_paid_by_a_signature(case: Case) -> Objections:
    if case.purpose is Purpose.CALL and not case.claim.typed:
        yield Objection("A call is paid by a signed document, and this is none.")


@refuses("REFUND_ADDRESS")
def refund_comes_back_to_this_chain(case: Case) -> Objections:
    deposit = case.promise.deposit
    if deposit is None or deposit.refund is None or not _pays(case):
        return
    if deposit.refund == deposit.address:
        yield Objection("The order would refund to its own deposit address.")
    read = evm.read if case.promise.chain_id is not None else sol.read
    try:
        read(deposit.refund)
    except (AddressProblem, ValueError):
        yield Objection("The order's refund address is none of the chain that is paid on.")


DEPOSIT_RULES = (
    there_is_an_order_to_pay,
    payee_is_the_deposit_address,
    amount_is_the_orders,
    order_asks_for_what_was_confirmed,
    order_still_waits,
    memo_is_the_orders,
    memo_that_nobody_asked_for_is_told,
    deposit_goes_to_somebody_else,
    call_is_paid_at_once,
    payee_of_calls_that_changed_is_told,
    call_is_paid_by_a_signature,
    refund_comes_back_to_this_chain,
)


@refuses("FUNDING_PAYEE_DIFFERS", "payee")
def payee_is_the_owners_smart_account(case: Case) -> Objections:
    """Yields an objection if a funding transfer does not pay the account's own smart account. The
    agent computes that address itself and takes it from no service."""
    if case.purpose is not Purpose.FUND:
        return
    own = case.policy.smart_account
    for field, payee in case.claim.texts("payee"):
        if own is None:
            yield Objection(f"{NO_FACTORY} {ONE_BY_ONE}", field)
        elif payee != own:
            yield Objection("It does not pay this account's own smart account.", field)


@refuses("FUNDING_ABOVE", "sold units")
def no_more_is_sent_than_confirmed(case: Case) -> Objections:
    if case.purpose is not Purpose.FUND:
        return
    sell, bound = case.promise.sell, case.promise.sell_units
    for field, units in case.claim.numbers("sold units"):
        if units > bound:
            yield Objection(
                f"It sends {amount(units, sell)}; you confirmed {amount(bound, sell)}.", field
            )


FUNDING_RULES = (payee_is_the_owners_smart_account, no_more_is_sent_than_confirmed)


def confirmed(promise: Promise) -> tuple[TakenOut, ...]:
    """Returns the payments of the confirmed withdrawal in order, with the wei from the EntryPoint
    last if any was confirmed. Empty if no withdrawal was confirmed."""
    whole = promise.withdrawal or WithdrawalPromise(())
    prepaid = (TakenOut(COIN, whole.prepaid),) if whole.prepaid else ()
    return (*whole.taken, *prepaid)


def _payments(case: Case) -> list[Outflow]:
    return [outflow for outflow in case.claim.outflows if outflow.field.meaning == "sold units"]


@refuses("WITHDRAWAL_MISSING")
def there_is_something_to_take_out(case: Case) -> Objections:
    promise, whole = case.promise, confirmed(case.promise)
    if not whole:
        yield Objection("Nothing was confirmed that the smart account should pay you.")
    elif (
        any(payment.units <= 0 for payment in whole)
        or len({payment.asset.contract for payment in promise.taken}) < len(promise.taken)
        or promise.gas_units <= 0
    ):
        yield Objection("The confirmed amounts make no withdrawal.")


@refuses("WITHDRAWAL_PAYMENTS_DIFFER", "payee", "sold units")
def it_makes_the_promised_payments_alone(case: Case) -> Objections:
    paid, promised = len(_payments(case)), len(confirmed(case.promise))
    if paid != promised:
        yield Objection(f"It makes {paid} payments; {promised} were confirmed.")


@refuses("WITHDRAWAL_PAYEE_DIFFERS", "payee")
def the_owner_alone_is_paid(case: Case) -> Objections:
    for field, payee in case.claim.texts("payee"):
        if payee != case.policy.account:
            yield Objection("Somebody else than the owner would be paid.", field)


@refuses("WITHDRAWAL_AMOUNT_DIFFERS", "sold units")
def each_payment_is_of_its_amount(case: Case) -> Objections:
    for flow, deposit in zip(_payments(case), confirmed(case.promise), strict=False):
        if flow.units != deposit.units:
            yield Objection("It is another amount than the one that was confirmed.", flow.field)


@refuses("WITHDRAWAL_TOKEN_DIFFERS", "sold token")
def each_payment_is_of_its_token(case: Case) -> Objections:
    for flow, deposit in zip(_payments(case), confirmed(case.promise), strict=False):
        if flow.token != deposit.asset.contract:
            yield Objection("It is another token than the one that was confirmed.", flow.field)


@refuses("WITHDRAWAL_KEEPER_DIFFERS", "contract")
def the_entry_point_alone_gives_back(case: Case) -> Objections:
    """Yields an objection if wei is taken back from the EntryPoint without confirmation, or is not
    taken although confirmed. Also objects to any other EntryPoint than the well-known one."""
    keepers = list(case.claim.texts("contract"))
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
    """Yields an objection unless, in the simulation, the smart account loses and the owner receives
    exactly the confirmed amounts."""
    simulation, whole = case.facts.executed, case.promise.withdrawal
    if simulation is None or whole is None:
        return
    lost: dict[str | None, int] = defaultdict(int)
    for payment in whole.taken:
        lost[payment.asset.contract] -= payment.units
    got = defaultdict(int, {token: -units for token, units in lost.items()})
    got[None] += whole.prepaid
    account = case.claim.contract or ""
    if moved_by(simulation, account) != {token: units for token, units in lost.items() if units}:
        yield Objection("Something else would leave the smart account than was confirmed.")
    if moved_by(simulation, case.policy.account) != {
        token: units for token, units in got.items() if units
    }:
        yield Objection("Something else would come to the account than was confirmed.")


WITHDRAWAL_RULES = (
    there_is_something_to_take_out,
    it_makes_the_promised_payments_alone,
    the_owner_alone_is_paid,
    each_payment_is_of_its_amount,
    each_payment_is_of_its_token,
    the_entry_point_alone_gives_back,
    nothing_else_moves,
)
