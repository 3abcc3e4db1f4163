"""Rules on amounts: what leaves, what may be taken, what arrives, and what execution may cost
(checklist 7, 12).

If a call carries a permit, the account must have signed that permit for it. The simulated effects
must be those that were confirmed and no others.
"""

from __future__ import annotations

from collections import defaultdict

from swapdesk.agent.gate.case import (
    Case,
    Objection,
    Objections,
    assets_here,
    read_of,
    refuses,
    warns,
)
from swapdesk.agent.gate.words import amount
from swapdesk.agent.shapes.claim import Act, Claim, ClaimField, Outflow
from swapdesk.agent.signers import signer_of
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import call_asset, coin_symbols
from swapdesk.wallet.accounts import COIN_DECIMALS, MAX_DECIMALS, Kind
from swapdesk.wallet.answers import Simulation
from swapdesk.wallet.promise import Asset, Purpose
from swapdesk.wire.encoding.text import safe_text

_SPENDING: frozenset[Act] = frozenset({"order", "swap"})


@refuses("TOKEN_SOLD_DIFFERS", "sold token")
def token_sold_is_the_confirmed_one(case: Case) -> Objections:
    claim, promised = case.claim, case.promise.sell.contract
    for field, token in claim.texts("sold token"):
        if token != promised:
            yield Objection("Another token is sold than the one that was confirmed.", field)
    for flow in claim.outflows + claim.allowed:
        if flow.token != promised and flow.field.meaning != "value":
            yield Objection("Another token leaves than the one that was confirmed.", flow.field)


@refuses("TOKEN_BOUGHT_DIFFERS", "bought token")
def token_bought_is_the_confirmed_one(case: Case) -> Objections:
    claim = case.claim
    if claim.act in _SPENDING and claim.bought != case.promise.buy.contract:
        field = claim.first("bought token")
        yield Objection("Another token is bought than the one that was confirmed.", field)


@refuses("TOKEN_DECIMALS", "sold units", "allowed units", "least units")
def amounts_are_counted_as_the_contract_does(case: Case) -> Objections:
    """Yields an objection if the confirmed amounts were computed with other decimals than the
    token's contract states. A wrong amount would leave."""
    claim, promise = case.claim, case.promise
    paid = claim.first("sold units", "allowed units")
    bought = claim.first("least units")
    coin = COIN_DECIMALS[Kind.SOLANA if claim.solana else Kind.EVM]
    for asset in assets_here(claim, promise):
        decimals = coin if asset.contract is None else _decimals(case, asset)
        if (words := _miscounted(asset, decimals)) is not None:
            yield Objection(words, bought if asset == promise.buy != promise.sell else paid)
    crosses = claim.act in _SPENDING and promise.chain_out != promise.chain
    if crosses and (words := _miscounted(promise.buy, case.facts.bought_decimals)) is not None:
        yield Objection(words, bought)


def _decimals(case: Case, asset: Asset) -> int | None:
    """Returns the decimals that ``asset`` should have; None if they could not be read."""
    contract = asset.contract or ""
    if case.claim.solana:
        # The transaction states them, and the token program refuses decimals that are not the
        # mint's.
        return asset.decimals
    words = case.facts.words(read_of(contract, erc20.DECIMALS), 1)
    decimals = None if words is None else words[0]
    call_token = call_asset(case.promise.chain_id, contract)
    return (
        decimals
        if call_token is None or asset.decimals == call_token.decimals
        else call_token.decimals
    )


def _miscounted(asset: Asset, decimals: int | None) -> str | None:
    if decimals is None or decimals > MAX_DECIMALS:
        return f"The contract of {asset.symbol} does not say how many decimals it has."
    if decimals != asset.decimals:
        return (
            f"{asset.symbol} would be counted by {asset.decimals} decimals; it has {decimals}"
            " on its chain."
        )
    return None


@warns("TOKEN_SYMBOL", "sold units", "allowed units", "least units")
def token_is_called_so_by_its_contract(case: Case) -> Objections:
    """Yields a warning if the confirmed symbol of a token differs from the symbol that its contract
    states: the user may mean another token."""
    claim, promise = case.claim, case.promise
    paid = claim.first("sold units", "allowed units")
    bought = claim.first("least units")
    crosses = claim.act in _SPENDING and promise.chain_out != promise.chain
    for asset in assets_here(claim, promise):
        if (words := _misnamed(asset, promise.chain_id, _symbol(case, asset))) is not None:
            yield Objection(words, bought if asset == promise.buy != promise.sell else paid)
    if crosses:
        words = _misnamed(promise.buy, promise.chain_out_id, case.facts.bought_symbol)
        if words is not None:
            yield Objection(words, bought)


def _symbol(case: Case, asset: Asset) -> str | None:
    if case.claim.solana:
        # A mint has no name of its own.
        return asset.symbol
    answer = case.facts.answers.get(read_of(asset.contract or "", erc20.SYMBOL))
    return None if answer is None else erc20.read_symbol(answer)


def _misnamed(asset: Asset, chain_id: int | None, symbol: str | None) -> str | None:
    if asset.contract is None:
        names = coin_symbols(chain_id)
        if asset.symbol.upper() in names:
            return None
        called = " or ".join(sorted(names)) if names else "not known here by a name"
        return f"{asset.symbol} would be the chain's own coin, which is {called}."
    if symbol is None:
        return f"The contract of {asset.symbol} does not say what it is called."
    if symbol.strip().casefold() != asset.symbol.strip().casefold():
        return f"The contract of {asset.symbol} calls itself {safe_text(symbol, 32)}."
    return None


@refuses("ALLOWANCE_ABOVE", "allowed units")
def allowance_is_no_more_than_sold(case: Case) -> Objections:
    """Yields an objection if an allowance exceeds the amount sold. If the user typed consent to an
    unlimited allowance, the number that means unlimited is accepted too."""
    claim, promise = case.claim, case.promise
    for flow in claim.allowed:
        consented = promise.unlimited and flow.units == claim.limitless
        if flow.units > promise.sell_units and not consented:
            endless = flow.units == claim.limitless
            yield Objection(
                "It may take the token without any bound."
                if endless
                else f"It may take more than {amount(promise.sell_units, promise.sell)}.",
                flow.field,
            )


@warns("ALLOWANCE_BELOW", "allowed units")
def allowance_is_enough(case: Case) -> Objections:
    promise = case.promise
    for flow in case.claim.allowed:
        if 0 < flow.units < promise.sell_units:
            yield Objection("It may take less than the swap needs.", flow.field)


@refuses("ALLOWANCE_SPLIT", "allowed units")
def one_allowance_at_a_time(case: Case) -> Objections:
    """Yields an objection if an approval does not grant exactly one allowance: several would add up
    to more than is shown."""
    if case.claim.act == "allow" and len(case.claim.allowed) != 1:
        yield Objection(f"It holds {len(case.claim.allowed)} allowances instead of one.")


@refuses("NOT_A_REVOCATION", "allowed units")
def revocation_allows_nothing(case: Case) -> Objections:
    if case.purpose is Purpose.REVOKE and not case.claim.revokes:
        field = case.claim.allowed[0].field if case.claim.allowed else None
        yield Objection("It was to allow nothing, and it allows something.", field)


@refuses("SOLD_ABOVE", "sold units", "fee units")
def no_more_leaves_than_confirmed(case: Case) -> Objections:
    """Yields an objection if the amount sold and the fees in the same token together exceed the
    confirmed amount."""
    claim, promise = case.claim, case.promise
    flows = [outflow for outflow in claim.outflows if outflow.field.meaning != "value"]
    total = sum(flow.units for flow in flows)
    if claim.act in _SPENDING and total > promise.sell_units:
        largest = max(flows, key=lambda flow: flow.units)
        yield Objection(
            f"{amount(total, promise.sell)} would leave instead of "
            f"{amount(promise.sell_units, promise.sell)}.",
            largest.field,
        )


@warns("SOLD_BELOW", "sold units")
def no_less_leaves_than_confirmed(case: Case) -> Objections:
    claim, promise = case.claim, case.promise
    flows = [outflow for outflow in claim.outflows if outflow.field.meaning != "value"]
    if claim.act in _SPENDING and sum(flow.units for flow in flows) < promise.sell_units:
        yield Objection("Less is sold than was confirmed.", flows[0].field if flows else None)


@refuses("NOTHING_SOLD", "sold units")
def something_is_sold_once(case: Case) -> Objections:
    claim = case.claim
    sold = list(claim.of("sold units"))
    if claim.act in _SPENDING and not sold:
        yield Objection("It does not say what is sold.")
    elif claim.act == "pay" and len(sold) != 1:
        yield Objection(f"It makes {len(sold)} payments instead of one.")


@refuses("LEAST_BELOW", "least units")
def enough_arrives(case: Case) -> Objections:
    """Yields an objection if the payload accepts less than the quoted amount minus the confirmed
    slippage."""
    claim, promise = case.claim, case.promise
    if claim.act not in _SPENDING:
        return
    stated = list(claim.numbers("least units"))
    total = sum(units for _, units in stated)
    if not stated or total < promise.least_units:
        yield Objection(
            f"Only {amount(total, promise.buy)} would have to arrive instead of "
            f"{amount(promise.least_units, promise.buy)}.",
            stated[0][0] if stated else None,
        )


@refuses("PROMISE_EMPTY", "least units", "sold units", "allowed units")
def promise_has_amounts(case: Case) -> Objections:
    """Yields an objection if the confirmed amounts are 0 or contradict each other: other rules
    would then accept any amount."""
    promise = case.promise
    if case.purpose in (Purpose.REVOKE, Purpose.CANCEL, Purpose.DEPLOY):
        return
    if promise.sell_units <= 0 or promise.gas_units < 0 or promise.fee_units < 0:
        yield Objection("The confirmed amounts make no swap.")
    if case.purpose in (Purpose.ORDER, Purpose.SWAP) and not (
        0 < promise.least_units <= promise.quoted_units
    ):
        yield Objection("The confirmed amounts make no swap.")


@refuses("PARTIAL_FILL", "partial")
def all_or_nothing(case: Case) -> Objections:
    for field in case.claim.of("partial"):
        if field.value is not False:
            yield Objection("It may be filled in part.", field)


@refuses("VALUE_ABOVE", "value")
def coin_sent_along_is_the_confirmed_fee(case: Case) -> Objections:
    for field, units in case.claim.numbers("value"):
        allowed = case.promise.fee_units if case.claim.act == "swap" else 0
        if units > allowed:
            yield Objection("More of the chain's coin goes along than was confirmed.", field)


@refuses("FUNDS_MISSING", "sold units")
def account_has_the_funds(case: Case) -> Objections:
    """Yields an objection if the account has less of a token than the payload takes. Solana
    transactions are not checked, because their simulation fails without the funds."""
    claim, facts = case.claim, case.facts
    if claim.solana or claim.act == "allow":
        return
    needed: dict[str | None, int] = {}
    for flow in claim.outflows:
        needed[flow.token] = needed.get(flow.token, 0) + flow.units
    for token, units in needed.items():
        if token is None:
            held = facts.native
        else:
            words = facts.words(read_of(token, erc20.BALANCE_OF, case.policy.account), 1)
            held = words[0] if words else None
        if held is None:
            yield Objection("The balance could not be read.")
        elif held < units:
            yield Objection("The account does not hold what would leave.")


AMOUNT_RULES = (
    token_sold_is_the_confirmed_one,
    token_bought_is_the_confirmed_one,
    amounts_are_counted_as_the_contract_does,
    token_is_called_so_by_its_contract,
    allowance_is_no_more_than_sold,
    allowance_is_enough,
    one_allowance_at_a_time,
    revocation_allows_nothing,
    no_more_leaves_than_confirmed,
    no_less_leaves_than_confirmed,
    something_is_sold_once,
    enough_arrives,
    promise_has_amounts,
    all_or_nothing,
    coin_sent_along_is_the_confirmed_fee,
    account_has_the_funds,
)


GAS = "Gas"
"""The label of the gas line in the review of an EVM transaction. Gas is not a field of the
payload."""


@refuses("GAS_ABOVE", "network fee")
def gas_is_within_the_confirmed_bound(case: Case) -> Objections:
    claim, facts, bound = case.claim, case.facts, case.promise.gas_units
    if claim.typed:
        return
    if claim.solana:
        offered = list(claim.numbers("network fee"))
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
        line = ClaimField("gas", GAS, "network fee", facts.gas.most)
        yield Objection("The gas could cost more than was confirmed.", line)


def _of_smart_account(claim: Claim, flow: Outflow) -> bool:
    return claim.act == "withdraw" and flow.field.meaning != "value"


@refuses("GAS_UNFUNDED")
def account_can_pay_the_gas(case: Case) -> Objections:
    claim, facts = case.claim, case.facts
    if claim.typed:
        return
    cost = sum(units for _, units in claim.numbers("network fee"))
    if not claim.solana:
        cost = facts.gas.most if facts.gas is not None else 0
    # What a smart account pays is not taken from the account that signs.
    own = [outflow for outflow in claim.outflows if not _of_smart_account(claim, outflow)]
    sent = sum(flow.units for flow in own if flow.token is None)
    if facts.native is None:
        yield Objection("The balance for gas could not be read.")
    elif facts.native < cost + sent:
        yield Objection("The account's coin does not pay for the gas.")


GAS_RULES = (gas_is_within_the_confirmed_bound, account_can_pay_the_gas)


_EVEN = 27
"""``v`` of a signature whose y is even. ``v`` is 28 if y is odd."""


def brings_no_permit(claim: Claim) -> bool:
    """True if the payload carries no permit, so that an allowance must exist already."""
    return not any(
        any(field.value) if isinstance(field.value, bytes) else field.value
        for field in claim.of("permit")
    )


@refuses("PERMIT_DIFFERS", "permit")
def permit_is_the_one_signed_before(case: Case) -> Objections:
    """Yields an objection if a call carries a permit that the account did not sign for this swap.
    Such a call would fail and still cost gas."""
    parts = list(case.claim.of("permit"))
    if not parts or brings_no_permit(case.claim) or _was_signed(case):
        return
    for field in parts:
        yield Objection("It is of no permit that you signed for this swap.", field)


def _was_signed(case: Case) -> bool:
    signature = _signature(case.claim)
    return signature is not None and any(
        signer_of(past.content, signature) == case.policy.account
        for past in case.memory
        if past.act == "allow"
        and past.key is not None
        and past.contract == case.promise.sell.contract
    )


def _signature(claim: Claim) -> bytes | None:
    values = {field.path: field.value for field in claim.of("permit")}
    v, r, s = (values.get(f"data.{name}") for name in ("v", "r", "s"))
    if not isinstance(r, bytes) or not isinstance(s, bytes) or v not in (_EVEN, _EVEN + 1):
        return None
    return r + s + bytes([int(v) - _EVEN])


PERMIT_RULES = (permit_is_the_one_signed_before,)


def moved_by(simulation: Simulation, holder: str) -> dict[str | None, int]:
    """Returns how a holder's balances change in a simulation: for each token contract (None for the
    native coin), the change in base units."""
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
    """Yields an objection if the account loses more in the simulation than was confirmed."""
    simulation, promise = case.facts.executed, case.promise
    if simulation is None:
        return
    paying = case.claim.act in ("order", "swap", "pay")
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
    simulation, promise = case.facts.executed, case.promise
    if simulation is None:
        return
    meant = {promise.sell.contract}
    if case.claim.act in ("order", "swap"):
        meant.add(promise.buy.contract)
        if promise.fee_units:
            meant.add(None)
    if case.claim.solana:
        meant.add(None)
    moved = moved_by(simulation, case.policy.account)
    if any(token not in meant for token in moved):
        yield Objection("A token moves that has nothing to do with the swap.")
    if case.claim.act in ("nothing", "deploy") and moved:
        yield Objection("Something moves although nothing should.")
    if case.claim.solana:
        # Another rule bounds the fee.
        moved.pop(None, None)
    if case.claim.act == "allow" and moved:
        yield Objection("Tokens move although it only allows something.")


@refuses("SIMULATION_ARRIVES_LESS")
def simulation_pays_enough(case: Case) -> Objections:
    """Yields an objection if less arrives in the simulation than was confirmed. A payout on another
    chain is not checked."""
    simulation, promise = case.facts.executed, case.promise
    if simulation is None:
        return
    if case.claim.act == "swap" and promise.chain_out == promise.chain:
        arrived = moved_by(simulation, promise.recipient).get(promise.buy.contract, 0)
        # Coin that the account spends and gets in one transaction is netted; on Solana what
        # it spends there includes the fee.
        if case.claim.solana and promise.buy.contract is None:
            arrived += promise.gas_units if promise.recipient == promise.account else 0
        if arrived < promise.least_units:
            yield Objection("Less would arrive than was confirmed.")
    if case.claim.act == "pay" and promise.deposit is not None:
        paid = moved_by(simulation, promise.deposit.address).get(promise.sell.contract, 0)
        if paid != promise.deposit.units:
            yield Objection("The order's deposit address would get another amount.")


SIMULATION_RULES = (
    transaction_was_simulated,
    simulation_succeeds,
    no_more_leaves,
    nothing_else_moves,
    simulation_pays_enough,
)
