"""A bundle pays exactly the deposits of its group, once: a UserOperation out of the owner's own
smart account (checklist 13), a transaction on Solana out of the account itself."""

from __future__ import annotations

from itertools import zip_longest

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.facts import operation_nonce_read
from swapdesk.agent.gate.rules.validity import LEAST_LEFT
from swapdesk.agent.gate.words import NO_FACTORY, ONE_BY_ONE, amount
from swapdesk.agent.shapes.claim import Act, ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.agent.shapes.operations import SHAPE, nonce_of
from swapdesk.chain.addresses import evm, sol
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
from swapdesk.chain.user_operation.nonces import nonce_key
from swapdesk.chain.user_operation.operation import EntryPointVersion
from swapdesk.wallet.promise import DepositPromise, Purpose

_ENTRY_POINTS = {
    f"{SHAPE} {EntryPointVersion.V07}": ENTRY_POINT,
    f"{SHAPE} {EntryPointVersion.V08}": ENTRY_POINT_08,
}
_PAYING = frozenset({Act.BUNDLE, Act.PAY, Act.SWAP, Act.ORDER})


def _deposits(case: Case) -> tuple[DepositPromise, ...]:
    bundle = case.promise.bundle
    return () if bundle is None else bundle.deposits


def _field(case: Case, meaning: Meaning) -> ClaimField | None:
    return next(case.claim.of(meaning), None)


@refuses("BUNDLE_MISSING")
def there_are_deposits_to_pay(case: Case) -> Objections:
    if not _deposits(case):
        yield Objection("No deposits were confirmed that this operation could pay.")
    if case.promise.sell_units <= 0 or case.promise.gas_units <= 0:
        yield Objection("The confirmed amounts make no bundle.")


@refuses("ENTRY_POINT_UNKNOWN", Meaning.CONTRACT)
def entry_point_is_the_canonical_one(case: Case) -> Objections:
    claim = case.claim
    if claim.contract != _ENTRY_POINTS.get(claim.shape):
        yield Objection(
            "The EntryPoint is not the one that everybody uses.", _field(case, Meaning.CONTRACT)
        )


@refuses("SENDER_DIFFERS", Meaning.SMART_ACCOUNT)
def sender_is_the_owners_account(case: Case) -> Objections:
    """The address follows from owner and factory, and is asked of nobody."""
    own = case.policy.smart_account
    for field, sender in case.claim.texts(Meaning.SMART_ACCOUNT):
        if own is None:
            pays = case.purpose is Purpose.BUNDLE
            yield Objection(f"{NO_FACTORY} {ONE_BY_ONE}" if pays else NO_FACTORY, field)
            continue
        if sender != own:
            yield Objection("The smart account is not this account's.", field)


@refuses("FACTORY_DIFFERS", Meaning.ACCOUNT_FACTORY, Meaning.OWNER)
def account_is_made_once_and_for_its_owner(case: Case) -> Objections:
    claim, factory = case.claim, case.policy.accounts
    senders = [sender for _, sender in claim.texts(Meaning.SMART_ACCOUNT)]
    code = case.facts.code.get(senders[0]) if senders else None
    if code is None:
        yield Objection(
            "Whether the smart account stands could not be read.",
            _field(case, Meaning.SMART_ACCOUNT),
        )
    for field, maker in claim.texts(Meaning.ACCOUNT_FACTORY):
        if factory is None or maker != factory.address:
            yield Objection("The smart account would be made by somebody else.", field)
        elif code:
            yield Objection("The smart account stands already and cannot be made again.", field)
    for field, owner in claim.texts(Meaning.OWNER):
        if owner != case.policy.account:
            yield Objection("The smart account would be made for somebody else.", field)


@refuses("OPERATION_NONCE", Meaning.NONCE)
def nonce_is_the_groups_next(case: Case) -> Objections:
    """Of its own key, so that a bundle that is built again takes the place of the one before."""
    bundle, claim = case.promise.bundle, case.claim
    for field, nonce in claim.numbers(Meaning.NONCE):
        if bundle is None or nonce >> 64 != nonce_key(
            bundle.multi_id, case.promise.sell.contract, bundle.part
        ):
            yield Objection("The nonce is not one of this group.", field)
        read = operation_nonce_read(claim)
        words = None if read is None else case.facts.words(read, 1)
        if words is None:
            yield Objection("The nonce could not be read from the chain.", field)
        elif words[0] != nonce:
            yield Objection("The nonce was used, or it is not the next one.", field)


@refuses("BUNDLE_CALLS_DIFFER", Meaning.PAYEE, Meaning.SOLD_UNITS)
def it_makes_the_promised_payments_alone(case: Case) -> Objections:
    deposits, paid = _deposits(case), len(case.claim.outflows)
    if paid > len(deposits):
        yield Objection(f"It makes {paid} payments; {len(deposits)} were confirmed.")
    elif paid < len(deposits):
        yield Objection(f"It makes {paid} payments of the {len(deposits)} that were confirmed.")


@refuses("BUNDLE_RECIPIENT_DIFFERS", Meaning.PAYEE)
def each_payment_goes_to_its_deposit_address(case: Case) -> Objections:
    payees = list(case.claim.of(Meaning.PAYEE))
    for field, deposit in zip_longest(payees, _deposits(case)):
        if field is not None and deposit is None:
            yield Objection("It pays somebody whom no order of the group names.", field)
        elif field is not None and field.value != deposit.address:
            yield Objection("It does not pay the order's deposit address.", field)


@refuses("BUNDLE_AMOUNT_DIFFERS", Meaning.SOLD_UNITS)
def each_payment_is_of_its_orders_amount(case: Case) -> Objections:
    sell = case.promise.sell
    for flow, deposit in zip(case.claim.outflows, _deposits(case), strict=False):
        if flow.units != deposit.units:
            yield Objection(
                f"It pays {amount(flow.units, sell)} instead of {amount(deposit.units, sell)}.",
                flow.field,
            )
        if deposit.units <= 0:
            yield Objection("The order asks for no amount.", flow.field)


@refuses("BUNDLE_TOKEN_DIFFERS", Meaning.SOLD_TOKEN)
def each_payment_is_of_the_promised_token(case: Case) -> Objections:
    for flow in case.claim.outflows:
        if flow.token != case.promise.sell.contract:
            yield Objection("It pays with another token than was confirmed.", flow.field)


@refuses("BUNDLE_ABOVE", Meaning.SOLD_UNITS)
def all_of_it_is_within_what_was_confirmed(case: Case) -> Objections:
    """One part in ten thousand is what orders may ask for above the confirmed amount."""
    sold = case.promise.sell_units
    total = sum(flow.units for flow in case.claim.outflows)
    if total > sold + sold // 10_000:
        yield Objection(
            f"It pays {amount(total, case.promise.sell)} in all; you confirmed "
            f"{amount(sold, case.promise.sell)}."
        )


@refuses("BUNDLE_PAYEE_UNSAFE", Meaning.PAYEE)
def nobody_is_paid_who_keeps_it_for_ever(case: Case) -> Objections:
    promise, claim = case.promise, case.claim
    taboo = {promise.sell.contract, claim.contract, case.policy.account}
    taboo |= {one.address for one in case.policy.venues}
    taboo |= {sender for _, sender in claim.texts(Meaning.SMART_ACCOUNT)}
    read = sol.read if claim.solana else evm.read
    for field, payee in claim.texts(Meaning.PAYEE):
        try:
            read(payee)
        except (AddressProblem, ValueError):
            yield Objection("Nobody can use what is sent to this address.", field)
        if payee in taboo:
            yield Objection("This address belongs to none of the group's orders.", field)


@refuses("BUNDLE_ORDER_EXPIRED")
def every_order_still_waits(case: Case) -> Objections:
    earliest = case.facts.now + LEAST_LEFT
    late = sum(deposit.expires < earliest for deposit in _deposits(case))
    if late:
        yield Objection(f"{late} of its orders wait for less than 30 seconds or no longer.")


@refuses("BUNDLE_TAG_NEEDED")
def no_order_needs_a_memo(case: Case) -> Objections:
    """An operation carries none, a transaction one for all; a deposit without its tag is credited
    to nobody."""
    if any(deposit.tag for deposit in _deposits(case)):
        yield Objection("An order of the group needs a memo, which a bundle cannot carry.")


@refuses("BUNDLE_GAS_ABOVE", Meaning.NETWORK_FEE)
def gas_is_within_the_bound(case: Case) -> Objections:
    for field, units in case.claim.numbers(Meaning.NETWORK_FEE):
        if units > case.promise.gas_units:
            yield Objection("The gas could cost more than was confirmed.", field)


@refuses("BUNDLE_PAID_ALREADY")
def group_is_paid_once(case: Case) -> Objections:
    """What was signed before may land, unless this one takes its nonce. On Solana there is none:
    only what can never be executed any more makes room for another one."""
    own = None if case.claim.solana else nonce_of(case.claim)
    for one in case.memory:
        if one.act in _PAYING and not one.spent and one.content != case.claim.content:
            if one.act is Act.BUNDLE and own is not None and one.key == own:
                continue
            yield Objection("Something that pays these orders was signed already.")


PAYMENT_RULES = (
    there_are_deposits_to_pay,
    it_makes_the_promised_payments_alone,
    each_payment_goes_to_its_deposit_address,
    each_payment_is_of_its_orders_amount,
    each_payment_is_of_the_promised_token,
    all_of_it_is_within_what_was_confirmed,
    nobody_is_paid_who_keeps_it_for_ever,
    every_order_still_waits,
    no_order_needs_a_memo,
    gas_is_within_the_bound,
    group_is_paid_once,
)
"""Of every bundle."""

OPERATION_RULES = (
    entry_point_is_the_canonical_one,
    sender_is_the_owners_account,
    account_is_made_once_and_for_its_owner,
    nonce_is_the_groups_next,
)
"""Of UserOperations alone."""

RULES = (*OPERATION_RULES, *PAYMENT_RULES)
