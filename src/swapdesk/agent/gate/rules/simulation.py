"""What the chain would do now is what was confirmed, and nothing else (checklist 12)."""

from __future__ import annotations

from collections import defaultdict

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses
from swapdesk.agent.shapes.claim import Act
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Simulation


def moved_by(simulation: Simulation, holder: str) -> dict[str | None, int]:
    """Units by token for one holder, changes that cancel each other left out."""
    moved: dict[str | None, int] = defaultdict(int)
    for change in simulation.changes:
        if change.holder == holder:
            moved[change.contract] += change.units
    return {token: units for token, units in moved.items() if units}


@refuses("SIMULATION_MISSING")
def transaction_was_simulated(case: Case) -> Objections:
    if not case.claim.typed and case.facts.simulation is None:
        yield Objection("What the transaction does could not be simulated.")


@refuses("SIMULATION_FAILED")
def simulation_succeeds(case: Case) -> Objections:
    simulation = case.facts.simulation
    if simulation is not None and simulation.failure is not None:
        yield Objection("The transaction would fail on the chain as it is now.")


@refuses("SIMULATION_TAKES_MORE")
def no_more_leaves(case: Case) -> Objections:
    """On Solana the fee and the rent of new accounts are among the changes."""
    simulation, promise = case.facts.simulation, case.promise
    if simulation is None or simulation.failure is not None:
        return
    paying = case.claim.act in (Act.ORDER, Act.SWAP, Act.PAY)
    bounds: dict[str | None, int] = defaultdict(int)
    if paying:
        payment = promise.deposit.units if promise.deposit is not None else 0
        bounds[promise.sell.contract] += (
            payment if case.purpose is Purpose.DEPOSIT else promise.sell_units
        )
        if case.purpose is Purpose.SWAP:
            bounds[None] += promise.fee_units
    if case.claim.solana:
        bounds[None] += promise.gas_units
    for token, units in moved_by(simulation, case.policy.account).items():
        if units < 0 and -units > bounds[token]:
            yield Objection("More would leave the account than was confirmed.")


@refuses("SIMULATION_MOVES_OTHERS")
def nothing_else_moves(case: Case) -> Objections:
    simulation, promise = case.facts.simulation, case.promise
    if simulation is None or simulation.failure is not None:
        return
    meant = {promise.sell.contract}
    if case.claim.act in (Act.ORDER, Act.SWAP):
        meant.add(promise.buy.contract)
        if promise.fee_units:
            meant.add(None)
    if case.claim.solana:
        meant.add(None)
    if any(token not in meant for token in moved_by(simulation, case.policy.account)):
        yield Objection("A token moves that has nothing to do with the swap.")
    moved = moved_by(simulation, case.policy.account)
    if case.claim.solana:
        # The fee, which another rule bounds.
        moved.pop(None, None)
    if case.claim.act is Act.ALLOW and moved:
        yield Objection("Tokens move although it only allows something.")
    if case.claim.act in (Act.NOTHING, Act.DEPLOY) and moved_by(simulation, case.policy.account):
        yield Objection("Something moves although nothing should.")


@refuses("SIMULATION_ARRIVES_LESS")
def enough_arrives(case: Case) -> Objections:
    """Only where the payout is on the same chain; another chain's part cannot be simulated."""
    simulation, promise = case.facts.simulation, case.promise
    if simulation is None or simulation.failure is not None:
        return
    if case.claim.act is Act.SWAP and promise.chain_out == promise.chain:
        arrived = moved_by(simulation, promise.recipient).get(promise.buy.contract, 0)
        # Coin that the account spends and gets in one transaction is netted; on Solana what
        # it spends there includes the fee.
        if case.claim.solana and promise.buy.contract is None:
            arrived += promise.gas_units if promise.recipient == promise.account else 0
        if arrived < promise.least_units:
            yield Objection("Less would arrive than was confirmed.")
    if case.claim.act is Act.PAY and promise.deposit is not None:
        paid = moved_by(simulation, promise.deposit.address).get(promise.sell.contract, 0)
        if paid != promise.deposit.units:
            yield Objection("The order's deposit address would get another amount.")


RULES = (
    transaction_was_simulated,
    simulation_succeeds,
    no_more_leaves,
    nothing_else_moves,
    enough_arrives,
)
