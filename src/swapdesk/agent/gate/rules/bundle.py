"""Rules for a bundle, a payload that pays several orders of a group at once. It must pay exactly
the deposits of that group, once.

On an EVM chain a bundle is a UserOperation that the owner's own smart account executes (checklist
13). The smart account must be made by the known factory, for the owner who signs.

On Solana a bundle is a transaction of the account itself. It must have a fresh blockhash and make
plain payments, and its simulation must show exactly these.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

from swapdesk.agent.gate.case import Case, Objection, Objections, operation_nonce_read, refuses
from swapdesk.agent.gate.rules.envelope import LEAST_BLOCKS, LEAST_LEFT
from swapdesk.agent.gate.words import NO_FACTORY, ONE_BY_ONE, amount
from swapdesk.agent.shapes.calls import SHAPE, nonce_of
from swapdesk.agent.shapes.claim import Act
from swapdesk.chain.addresses import evm, sol
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import NO_SALT, EntryPointVersion, nonce_key
from swapdesk.wallet.promise import Purpose

_ENTRY_POINTS = {
    f"{SHAPE} {EntryPointVersion.V07}": ENTRY_POINT,
    f"{SHAPE} {EntryPointVersion.V08}": ENTRY_POINT_08,
}
_PAYING: frozenset[Act] = frozenset({"bundle", "pay", "swap", "order"})


@refuses("BUNDLE_MISSING")
def there_are_deposits_to_pay(case: Case) -> Objections:
    if not case.promise.bundled:
        yield Objection("No deposits were confirmed that this operation could pay.")
    if case.promise.sell_units <= 0 or case.promise.gas_units <= 0:
        yield Objection("The confirmed amounts make no bundle.")


@refuses("ENTRY_POINT_UNKNOWN", "contract")
def entry_point_is_the_canonical_one(case: Case) -> Objections:
    claim = case.claim
    if claim.contract != _ENTRY_POINTS.get(claim.shape):
        yield Objection(
            "The EntryPoint is not the one that everybody uses.", case.claim.first("contract")
        )


@refuses("SENDER_DIFFERS", "smart account")
def sender_is_the_owners_account(case: Case) -> Objections:
    """Yields an objection if the operation's sender is not the owner's smart account. The agent
    computes that address itself and asks no service for it."""
    own = case.policy.smart_account
    for field, sender in case.claim.texts("smart account"):
        if own is None:
            pays = case.purpose is Purpose.BUNDLE
            yield Objection(f"{NO_FACTORY} {ONE_BY_ONE}" if pays else NO_FACTORY, field)
            continue
        if sender != own:
            yield Objection("The smart account is not this account's.", field)


@refuses("FACTORY_DIFFERS", "account factory", "owner")
def account_is_made_once_and_for_its_owner(case: Case) -> Objections:
    claim, accounts = case.claim, case.policy.smart_accounts
    senders = [sender for _, sender in claim.texts("smart account")]
    code = case.facts.code.get(senders[0]) if senders else None
    if code is None:
        yield Objection(
            "Whether the smart account exists could not be read.",
            case.claim.first("smart account"),
        )
    for field, maker in claim.texts("account factory"):
        if not accounts or maker != SANDBOX_ACCOUNT_FACTORY:
            yield Objection("The smart account would be made by somebody else.", field)
        elif code:
            yield Objection("The smart account exists already and cannot be made again.", field)
    for field, owner in claim.texts("owner"):
        if owner != case.policy.account:
            yield Objection("The smart account would be made for somebody else.", field)


@refuses("OPERATION_NONCE", "nonce")
def nonce_is_the_groups_next(case: Case) -> Objections:
    """Yields an objection if the nonce is not the next one that the chain states for this group of
    orders. A rebuilt bundle has the same nonce, so that it replaces the first."""
    bundle, claim = case.promise.bundle, case.claim
    for field, nonce in claim.numbers("nonce"):
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


@refuses("BUNDLE_CALLS_DIFFER", "payee", "sold units")
def it_makes_the_promised_payments_alone(case: Case) -> Objections:
    deposits, paid = case.promise.bundled, len(case.claim.outflows)
    if paid > len(deposits):
        yield Objection(f"It makes {paid} payments; {len(deposits)} were confirmed.")
    elif paid < len(deposits):
        yield Objection(f"It makes {paid} payments of the {len(deposits)} that were confirmed.")


@refuses("BUNDLE_RECIPIENT_DIFFERS", "payee")
def each_payment_goes_to_its_deposit_address(case: Case) -> Objections:
    payees = list(case.claim.of("payee"))
    for field, deposit in zip_longest(payees, case.promise.bundled):
        if field is not None and deposit is None:
            yield Objection("It pays somebody whom no order of the group names.", field)
        elif field is not None and field.value != deposit.address:
            yield Objection("It does not pay the order's deposit address.", field)


@refuses("BUNDLE_AMOUNT_DIFFERS", "sold units")
def each_payment_is_of_its_orders_amount(case: Case) -> Objections:
    sell = case.promise.sell
    for flow, deposit in zip(case.claim.outflows, case.promise.bundled, strict=False):
        if flow.units != deposit.units:
            yield Objection(
                f"It pays {amount(flow.units, sell)} instead of {amount(deposit.units, sell)}.",
                flow.field,
            )
        if deposit.units <= 0:
            yield Objection("The order asks for no amount.", flow.field)


@refuses("BUNDLE_TOKEN_DIFFERS", "sold token")
def each_payment_is_of_the_promised_token(case: Case) -> Objections:
    for flow in case.claim.outflows:
        if flow.token != case.promise.sell.contract:
            yield Objection("It pays with another token than was confirmed.", flow.field)


@refuses("BUNDLE_ABOVE", "sold units")
def all_of_it_is_within_what_was_confirmed(case: Case) -> Objections:
    """Yields an objection if the payments together exceed the confirmed amount by more than 0.01 %,
    a margin for rounding."""
    sold = case.promise.sell_units
    total = sum(flow.units for flow in case.claim.outflows)
    if total > sold + sold // 10_000:
        yield Objection(
            f"It pays {amount(total, case.promise.sell)} in all; you confirmed "
            f"{amount(sold, case.promise.sell)}."
        )


@refuses("BUNDLE_PAYEE_UNSAFE", "payee")
def nobody_is_paid_who_keeps_it_for_ever(case: Case) -> Objections:
    promise, claim = case.promise, case.claim
    taboo = {promise.sell.contract, claim.contract, case.policy.account}
    taboo |= {venue.address for venue in case.policy.venues}
    taboo |= {sender for _, sender in claim.texts("smart account")}
    read = sol.read if claim.solana else evm.read
    for field, payee in claim.texts("payee"):
        try:
            read(payee)
        except (AddressProblem, ValueError):
            yield Objection("Nobody can use what is sent to this address.", field)
        if payee in taboo:
            yield Objection("This address belongs to none of the group's orders.", field)


@refuses("BUNDLE_ORDER_EXPIRED")
def every_order_still_waits(case: Case) -> Objections:
    earliest = case.facts.now + LEAST_LEFT
    late = sum(deposit.expires < earliest for deposit in case.promise.bundled)
    if late:
        yield Objection(f"{late} of its orders wait for less than 30 seconds or no longer.")


@refuses("BUNDLE_TAG_NEEDED")
def no_order_needs_a_memo(case: Case) -> Objections:
    """Yields an objection if an order needs a memo, which a bundle cannot carry. A deposit without
    its memo is credited to nobody."""
    if any(deposit.tag for deposit in case.promise.bundled):
        yield Objection("An order of the group needs a memo, which a bundle cannot carry.")


@refuses("BUNDLE_GAS_ABOVE", "network fee")
def gas_is_within_the_bound(case: Case) -> Objections:
    for field, units in case.claim.numbers("network fee"):
        if units > case.promise.gas_units:
            yield Objection("The gas could cost more than was confirmed.", field)


@refuses("BUNDLE_PAID_ALREADY")
def group_is_paid_once(case: Case) -> Objections:
    """Yields an objection if an earlier signature that pays these orders may still be executed. An
    EVM bundle with the nonce of an earlier bundle is accepted, because the chain executes only one
    of the two."""
    own = None if case.claim.solana else nonce_of(case.claim)
    for past in case.memory:
        if past.act in _PAYING and not past.spent and past.content != case.claim.content:
            if past.act == "bundle" and own is not None and past.key == own:
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
"""The rules for every bundle, on EVM chains and on Solana."""

OPERATION_RULES = (
    entry_point_is_the_canonical_one,
    sender_is_the_owners_account,
    account_is_made_once_and_for_its_owner,
    nonce_is_the_groups_next,
)
"""The additional rules for bundles that are UserOperations."""

GROUP_RULES = (*OPERATION_RULES, *PAYMENT_RULES)


@refuses("BUNDLE_MEMO", "tag")
def memo_is_the_groups_id(case: Case) -> Objections:
    """Yields an objection if a Solana bundle carries a memo other than the id shared by its orders,
    or more than one memo."""
    bundle = case.promise.bundle
    tags = list(case.claim.texts("tag"))
    for field, tag in tags:
        if bundle is None or tag != bundle.multi_id or len(tags) != 1:
            yield Objection("The memo is not the group's id.", field)


@refuses("BUNDLE_BLOCKHASH_OLD", "lifetime")
def blockhash_can_still_be_executed(case: Case) -> Objections:
    """Yields an objection if the transaction's blockhash will expire within too few blocks."""
    left = case.facts.blocks_left
    if left is not None and left < LEAST_BLOCKS:
        field = case.claim.first("lifetime")
        yield Objection("The transaction is too old, or nearly, to be executed.", field)


@refuses("BUNDLE_RENT_FOR_STRANGER", "rent payee", "rent token")
def rent_is_paid_for_deposit_addresses_alone(case: Case) -> Objections:
    """Yields an objection if the bundle pays the rent of a token account whose owner is not a
    deposit address or whose token is not sold. That owner could withdraw the rent."""
    owners = {deposit.address for deposit in case.promise.bundled}
    for field, owner in case.claim.texts("rent payee"):
        if owner not in owners:
            yield Objection("An account is opened at your cost for somebody else.", field)
    for field, mint in case.claim.texts("rent token"):
        if mint != case.promise.sell.contract:
            yield Objection("An account is opened at your cost for another token.", field)


@refuses("BUNDLE_SIMULATION_DIFFERS")
def the_chain_would_do_exactly_this(case: Case) -> Objections:
    """Yields an objection if the simulation failed or is missing. Also objects if a deposit address
    would get another amount than its order asks for, or the account would lose more than was
    confirmed."""
    simulation, promise = case.facts.simulation, case.promise
    if simulation is None:
        yield Objection("What the transaction does could not be simulated.")
        return
    if simulation.failure is not None:
        yield Objection("The transaction would fail on the chain as it is now.")
        return
    token, wanted = promise.sell.contract, defaultdict[str, int](int)
    for deposit in promise.bundled:
        wanted[deposit.address] += deposit.units
    moved = defaultdict[tuple[str, str | None], int](int)
    for change in simulation.changes:
        moved[change.holder, change.contract] += change.units
    for address, units in wanted.items():
        if moved[address, token] != units:
            yield Objection("A deposit address would get another amount than its order asks for.")
            break
    for (holder, contract), units in moved.items():
        if holder != case.policy.account or units >= 0:
            continue
        bound = sum(wanted.values()) if contract == token else 0
        bound += promise.gas_units if contract is None else 0
        if -units > bound:
            yield Objection("More would leave the account than was confirmed.")


SOLANA_RULES = (
    memo_is_the_groups_id,
    blockhash_can_still_be_executed,
    rent_is_paid_for_deposit_addresses_alone,
    the_chain_would_do_exactly_this,
)


@refuses("SALT_DIFFERS", "salt")
def it_is_the_owners_one_account(case: Case) -> Objections:
    for field, salt in case.claim.numbers("salt"):
        if salt != NO_SALT:
            yield Objection("It would be another smart account than the one you pay from.", field)


DEPLOYMENT_RULES = (it_is_the_owners_one_account,)
