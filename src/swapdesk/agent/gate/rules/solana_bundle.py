"""What a transaction on Solana that pays several deposits must be beside that: fresh, plain, and
executed as it says."""

from __future__ import annotations

from collections import defaultdict

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.gate.rules.validity import LEAST_BLOCKS
from swapdesk.agent.shapes.meaning import Meaning


@refuses("BUNDLE_MEMO", Meaning.TAG)
def memo_is_the_groups_id(case: Case) -> Objections:
    """No memo at all is as good: no order of the group needs one."""
    bundle = case.promise.bundle
    tags = list(case.claim.texts(Meaning.TAG))
    for field, tag in tags:
        if bundle is None or tag != bundle.multi_id or len(tags) != 1:
            yield Objection("The memo is not the group's id.", field)


@refuses("BUNDLE_BLOCKHASH_OLD", Meaning.LIFETIME)
def blockhash_can_still_be_executed(case: Case) -> Objections:
    """How long it is good nobody tells of an answer that does not say; that it is good now the
    node said, or nothing was read at all."""
    left = case.facts.blocks_left
    if left is not None and left < LEAST_BLOCKS:
        field = next(case.claim.of(Meaning.LIFETIME), None)
        yield Objection("The transaction is too old, or nearly, to be executed.", field)


@refuses("BUNDLE_RENT_FOR_STRANGER", Meaning.RENT_PAYEE, Meaning.RENT_TOKEN)
def rent_is_paid_for_deposit_addresses_alone(case: Case) -> Objections:
    """Opening a token account costs its payer a rent that its owner can take out."""
    bundle, token = case.promise.bundle, case.promise.sell.contract
    owners = {one.address for one in bundle.deposits} if bundle is not None else set()
    for field, owner in case.claim.texts(Meaning.RENT_PAYEE):
        if owner not in owners:
            yield Objection("An account is opened at your cost for somebody else.", field)
    for field, mint in case.claim.texts(Meaning.RENT_TOKEN):
        if mint != token:
            yield Objection("An account is opened at your cost for another token.", field)


@refuses("BUNDLE_SIMULATION_DIFFERS")
def the_chain_would_do_exactly_this(case: Case) -> Objections:
    """The deposits leave and arrive, the fee and the rent of new accounts beside them, no more."""
    simulation, promise = case.facts.simulation, case.promise
    if simulation is None:
        yield Objection("What the transaction does could not be simulated.")
        return
    if simulation.failure is not None:
        yield Objection("The transaction would fail on the chain as it is now.")
        return
    token, wanted = promise.sell.contract, defaultdict[str, int](int)
    for deposit in promise.bundle.deposits if promise.bundle is not None else ():
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


RULES = (
    memo_is_the_groups_id,
    blockhash_can_still_be_executed,
    rent_is_paid_for_deposit_addresses_alone,
    the_chain_would_do_exactly_this,
)
