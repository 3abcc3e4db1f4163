"""What can leave because of a payload once it is signed, and whether the spending policy allows it.

The amounts come from the claim (the decoded payload) that the gate judges. The result is a list of
findings, each with the code of its rule, and what is left of each limit.

Money that can leave only once is counted once (``SpendSums``): an allowance together with what its
contract takes out of it, and payloads of which the chain executes only one. If a payment goes to
the account itself or to its own smart account, only the gas counts, because the money stays with
its owner.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from swapdesk.agent.gate.case import GasPlan, once_of, taker
from swapdesk.agent.shapes.calls import nonce_of
from swapdesk.agent.shapes.claim import Claim, Outflow
from swapdesk.chain.deployments import CALL_ASSETS, PERMIT2
from swapdesk.wallet.answers import RuleFinding, Severity, Simulation
from swapdesk.wallet.rule_codes import SPENDING
from swapdesk.wallet.spending import (
    RULE,
    SECONDS,
    Limit,
    LimitUse,
    PolicyToken,
    SpendingPolicy,
    SpendWindow,
    TokenKey,
    plain_amount,
)
from swapdesk.wire.price_tiers import PriceTier, most_units

RENT = 2_039_280
"""The lamports that a token account of 165 bytes must keep. Whoever opens the account pays them."""

GAS = "gas"
"""The ``taker`` of an amount that leaves for gas. Gas leaves in addition to everything else that
the payload moves."""

Units = int | float
"""An amount in base units; infinity if it is unlimited."""


class Spend(Struct, frozen=True):
    """An amount, in base units, that can leave ``account``. ``taker`` is the address that can take
    it, empty if the payload itself moves it. ``grants`` is False if the taker uses an allowance
    from another signature."""

    token: TokenKey
    units: Units
    account: str
    taker: str = ""
    grants: bool = True

    @property
    def way(self) -> tuple[TokenKey, str, str]:
        """The key (token, paying account, taker). Amounts with the same key are added up."""
        return self.token, self.account, self.taker


class Spending(Struct, frozen=True):
    """Everything that can leave because of one payload."""

    chain_id: int | None
    spends: tuple[Spend, ...]
    payees: tuple[str, ...]
    """The addresses that receive or may take something, except the owner's."""
    content: bytes
    """Bytes that identify the payload."""
    once: str
    """An identifier: of several payloads with the same one, the chain executes only one."""
    gas: Spend | None = None
    """The amount of the native coin for gas; None if the payload pays no gas itself."""
    unreadable: bool = False
    """True if it is unknown what the payload does."""

    @property
    def all(self) -> tuple[Spend, ...]:
        return self.spends if self.gas is None else (*self.spends, self.gas)


Counted = tuple[Spend, str]
"""An amount with the ``once`` of its payload, as the records store it."""


_Ways = dict[tuple[TokenKey, str, str], tuple[dict[str, Units], dict[str, Units]]]
"""For each (token, account, taker) two dictionaries by ``once``: the units that signatures allowed
the taker to take, and the units that the taker's own payloads take."""


class SpendSums:
    """The most that can leave of each token, in base units. An allowance and the amounts taken
    under it are not added; the larger counts."""

    def __init__(self, rows: Iterable[Counted] = ()) -> None:
        self._ways: _Ways = {}
        self.totals: dict[TokenKey, Units] = {}
        self.add(rows)

    def add(self, rows: Iterable[Counted]) -> None:
        _add(self._ways, rows)
        totals: dict[TokenKey, Units] = defaultdict(int)
        for (token, _, _), both in self._ways.items():
            totals[token] += _most(both)
        self.totals = dict(totals)

    def after(self, rows: Sequence[Counted]) -> dict[TokenKey, Units]:
        keys = {spend.way for spend, _ in rows}
        before = {key: self._ways.get(key, ({}, {})) for key in keys}
        ways: _Ways = {key: (dict(way[0]), dict(way[1])) for key, way in before.items()}
        _add(ways, rows)
        totals = self.totals.copy()
        for key, both in ways.items():
            # Unlimited before stays unlimited, and infinity cannot be subtracted.
            had = _most(before[key])
            more = 0 if had == math.inf else _most(both) - had
            totals[key[0]] = totals.get(key[0], 0) + more
        return totals


def _add(ways: _Ways, rows: Iterable[Counted]) -> None:
    for spend, once in rows:
        both = ways.setdefault(spend.way, ({}, {}))
        way = both[0] if spend.grants else both[1]
        way[once] = max(way.get(once, 0), spend.units)


def _most(both: tuple[dict[str, Units], dict[str, Units]]) -> Units:
    return max(sum(both[0].values()), sum(both[1].values()))


def spending_of(
    claim: Claim,
    *,
    chain_id: int | None,
    account: str,
    smart_account: str | None = None,
    nonce: int | None = None,
    gas: GasPlan | None = None,
    simulation: Simulation | None = None,
) -> Spending:
    """Returns what can leave because of the payload ``claim``. Payments between ``account`` and
    ``smart_account`` do not count. ``nonce`` and ``gas`` are those of an EVM transaction;
    ``simulation`` shows the rent of new Solana accounts."""
    own = {account} if smart_account is None else {account, smart_account}
    taken: dict[str | None, Units] = defaultdict(int)
    allowed: dict[str | None, Units] = defaultdict(int)
    payees: dict[str, None] = {}
    for flow in claim.outflows:
        to = [flow.payee] if flow.payee is not None else _parties(claim)
        if flow.units and not own.issuperset(to):
            taken[flow.token] += flow.units
            payees.update(dict.fromkeys(payee for payee in to if payee not in own))
    by, grants = taker(claim)
    for flow in claim.allowed:
        units = _allowed(claim, flow, by)
        allowed[flow.token] += units
        if units:
            payees[by] = None
    if taken and claim.act in ("order", "swap"):
        for _, receiver in claim.texts("receiver"):
            if receiver not in own:
                payees[receiver] = None
    spends = []
    for token in {**taken, **allowed}:
        units = max(taken[token], allowed[token])
        if units:
            # Coin leaves by the signature that sends it along.
            way = ("", True) if token is None else (by, grants)
            spends.append(Spend((chain_id, token), units, account, *way))
    return Spending(
        chain_id=chain_id,
        spends=tuple(spends),
        payees=tuple(payees),
        content=_content(claim, nonce),
        once=f"{chain_id} {account} {_once(claim, nonce, by)}",
        gas=_gas(claim, chain_id, account, gas, simulation, own),
        unreadable=claim.act == "unknown",
    )


def _allowed(claim: Claim, flow: Outflow, by: str) -> Units:
    if claim.limitless is not None and flow.units >= claim.limitless:
        return math.inf
    if claim.target == "token" and by == PERMIT2:
        # Permit2 takes nothing without this signature.
        return 0
    return flow.units


def _parties(claim: Claim) -> list[str]:
    named = [text for _, text in claim.texts("payee")]
    named = named or [text for _, text in claim.texts("spender")]
    return named or ([] if claim.contract is None else [claim.contract])


def _content(claim: Claim, nonce: int | None) -> bytes:
    return claim.content if nonce is None else claim.content + nonce.to_bytes(32, "big")


def _once(claim: Claim, nonce: int | None, by: str) -> str:
    if nonce is not None:
        return f"nonce {nonce}"
    if claim.act == "bundle" and not claim.solana:
        return f"{claim.contract} {nonce_of(claim)}"
    value = next((field.value for field in claim.of("nonce")), None)
    number = value if isinstance(value, int | bytes) and not isinstance(value, bool) else None
    document = once_of(claim, number, by) if claim.typed else None
    return document or claim.content.hex()


def _gas(
    claim: Claim,
    chain_id: int | None,
    account: str,
    gas: GasPlan | None,
    simulation: Simulation | None,
    own: Collection[str],
) -> Spend | None:
    offered = sum(units for _, units in claim.numbers("network fee"))
    if claim.solana:
        offered += RENT * sum(1 for _ in claim.of("rent payee"))
        if simulation is not None:
            # The simulated cost, if that is more.
            left = -sum(
                change.units
                for change in simulation.changes
                if change.holder == account and change.contract is None
            )
            paid = sum(
                outflow.units
                for outflow in claim.outflows
                if outflow.token is None and not {outflow.payee} <= set(own)
            )
            offered = max(offered, left - paid)
    elif gas is not None and not claim.typed:
        offered += gas.most
    return Spend((chain_id, None), offered, account, GAS) if offered else None


Totals = Mapping[TokenKey, Units]
_USD_DECIMALS = 2


class Past(Struct, frozen=True):
    """What was counted earlier, for each window of a limit. ``again`` is True if the payload to
    judge was itself counted earlier."""

    windows: Mapping[SpendWindow, SpendSums]
    again: bool = False


def judge(
    policy: SpendingPolicy,
    spending: Spending,
    past: Past,
    now: datetime,
    tier: PriceTier | None = None,
) -> tuple[RuleFinding, ...]:
    """Returns the spending policy's objections to a payload; empty if it may be signed. ``tier`` is
    the price tier of a paid API call, otherwise None."""
    findings = [*_objections(policy, spending, past, now, tier)]
    if tier is not None:
        findings += _over_price(policy, spending, tier)
    return tuple(refused(code, f"Your spending policy: {words}.") for code, words in findings)


def miscounted(
    policy: SpendingPolicy, spending: Spending, decimals: Mapping[TokenKey, int]
) -> tuple[RuleFinding, ...]:
    """Returns a refusing finding for each token whose decimals in the policy differ from those in
    ``decimals``, because its limit would then allow another amount."""
    counted_by = {price.token.key: price.token for price in policy.prices}
    counted_by |= {
        limit.token.key: limit.token for limit in policy.limits if limit.token is not None
    }
    wrong = [
        (token, decimals[key])
        for key, token in counted_by.items()
        if key in {spend.token for spend in spending.all}
        and decimals.get(key, token.decimals) != token.decimals
    ]
    return tuple(
        refused(
            "DECIMALS",
            f"Your spending policy counts {token.symbol} on {token.chain} by {token.decimals}"
            f" decimals; it has {decimals}.",
        )
        for token, decimals in wrong
    )


NEEDED = (
    "Calls are paid without a question each, so your spending policy must limit their token by the"
    " hour or the day."
)


def bounds(policy: SpendingPolicy, spending: Spending) -> bool:
    """True if the policy has an hourly or daily limit, in USD or in the token itself, for every
    token that leaves."""
    limited = [limit for limit in policy.limits if limit.window in SECONDS]
    tokens = {limit.token_key for limit in limited}
    return None in tokens or {spend.token for spend in spending.all} <= tokens


def refused(code: str, words: str) -> RuleFinding:
    """Returns a refusing finding. ``code`` is from ``wallet.rule_codes``, without its prefix
    ``POLICY_``."""
    code = f"{RULE}{code}"
    assert code in SPENDING, f"{code} is not in wallet.rule_codes"
    return RuleFinding(code, Severity.REFUSE, words)


def _over_price(
    policy: SpendingPolicy, spending: Spending, tier: PriceTier
) -> Iterator[tuple[str, str]]:
    named = [limit for limit in policy.limits if limit.window is SpendWindow.CALL]
    tokens = {limit.token_key for limit in named}
    for spend in spending.spends:
        if None in tokens or spend.token in tokens:
            continue
        asset = next((o for o in CALL_ASSETS if (o.chain_id, o.contract) == spend.token), None)
        if asset is None:
            yield "CALL", f"calls are not paid in {_name(policy, spend.token)}"
        elif spend.units > most_units(tier):
            most, cost = (
                plain_amount(Fraction(units) / 10**asset.decimals, asset.decimals)
                for units in (most_units(tier), spend.units)
            )
            yield (
                "CALL",
                f"it names no limit per call, so this one ({tier.value}) may cost ten times its"
                f" price in the contract, {most} {asset.symbol}; it would cost {cost}",
            )


def _objections(
    policy: SpendingPolicy,
    spending: Spending,
    past: Past,
    now: datetime,
    tier: PriceTier | None,
) -> Iterator[tuple[str, str]]:
    if policy == SpendingPolicy():
        return
    if policy.until is not None and now >= policy.until:
        yield "UNTIL", f"it ended on {policy.until:%Y-%m-%d at %H:%M:%S} UTC"
    if policy.chains is not None and spending.chain_id not in {o.chain_id for o in policy.chains}:
        allowed = ", ".join(chain.name for chain in policy.chains) or "none"
        yield "CHAIN", f"the chain is not allowed ({allowed})"
    if spending.unreadable:
        yield "UNREADABLE", "nobody can tell what this lets leave, so it counts as without bound"
        return
    if policy.tokens is not None:
        keys = {token.key for token in policy.tokens}
        for spend in spending.spends:
            if spend.token not in keys:
                allowed = ", ".join(f"{o.symbol} on {o.chain}" for o in policy.tokens) or "none"
                yield "TOKEN", f"{_name(policy, spend.token)} is not allowed ({allowed})"
    if policy.payees is not None:
        for payee in spending.payees:
            if payee not in policy.payees:
                yield "PAYEE", f"{payee} is none of its {len(policy.payees)} payees"
    if tier is not None and policy.call_payees is not None:
        for payee in spending.payees:
            if payee not in policy.call_payees:
                yield "CALL_PAYEE", f"calls are not paid to {payee}"
    yield from _over(policy, spending, past, call=tier is not None)


_OF_ONE = frozenset({SpendWindow.CALL, SpendWindow.PAYMENT})


def _over(
    policy: SpendingPolicy, spending: Spending, past: Past, *, call: bool
) -> Iterator[tuple[str, str]]:
    """Yields (code, words) for each exceeded limit on tokens that the payload moves. ``call`` is
    True if the payload pays an API call."""
    own = [(spend, spending.once) for spend in spending.all]
    alone = SpendSums(own).totals
    ledgers: dict[SpendWindow, tuple[Totals, Totals]] = {window: ({}, alone) for window in _OF_ONE}
    prices = {price.token.key: price.exact for price in policy.prices}
    for limit in sorted(policy.limits, key=lambda limit: list(SpendWindow).index(limit.window)):
        if limit.window is SpendWindow.CALL and not call:
            continue
        keys = alone if limit.token is None else {limit.token.key} & alone.keys()
        if not any(alone[key] for key in keys):
            continue
        if limit.window not in _OF_ONE and past.again:
            continue
        if limit.window not in ledgers:
            ledger = past.windows[limit.window]
            ledgers[limit.window] = (ledger.totals, ledger.after(own))
        before, after = ledgers[limit.window]
        code = limit.window.name
        had = _measure(limit, before, prices)
        more = _measure(limit, alone, prices)
        if more is None or had is None:
            of = alone if more is None else before
            names = ", ".join(_name(policy, key) for key in of if of[key] and key not in prices)
            what = "this moves" if more is None else "what was signed moved"
            yield "PRICE", f"{what} {names} without a price, which a limit in USD needs"
            continue
        whole = _measure(limit, after, prices)
        if whole is None or whole <= limit.exact or (whole == had and whole != math.inf):
            continue
        cost = "without bound" if more == math.inf else _amount(limit, more)
        yield (
            "UNBOUND" if more == math.inf else code,
            f"per {limit.window.value} {plain_amount(limit.most)} {limit.unit},"
            f" {_amount(limit, _left(limit, had))} left, this is {cost}",
        )


def _measure(
    limit: Limit, totals: Totals, prices: Mapping[TokenKey, Fraction]
) -> Fraction | float | None:
    if limit.token is not None:
        units = totals.get(limit.token.key, 0)
        return math.inf if units == math.inf else Fraction(units)
    usd = Fraction(0)
    unbound = False
    for key, units in totals.items():
        if not units:
            continue
        if key not in prices:
            return None
        if units == math.inf:
            unbound = True
        else:
            usd += Fraction(units) * prices[key]
    return math.inf if unbound else usd


def _amount(limit: Limit, measured: Fraction | float) -> str:
    if limit.token is None:
        return plain_amount(Fraction(measured), _USD_DECIMALS)
    decimals = limit.token.decimals
    return plain_amount(Fraction(measured) / 10**decimals, decimals)


def _left(limit: Limit, measured: Fraction | float) -> Fraction:
    if measured == math.inf:
        return Fraction(0)
    left = max(Fraction(0), limit.exact - Fraction(measured))
    unit = 10**_USD_DECIMALS if limit.token is None else 1
    return Fraction(left * unit // 1) / unit


def uses(policy: SpendingPolicy, past: Past) -> tuple[LimitUse, ...]:
    prices = {price.token.key: price.exact for price in policy.prices}
    limit_uses = []
    for limit in policy.limits:
        ledger = past.windows.get(limit.window)
        used = _measure(limit, {} if ledger is None else ledger.totals, prices)
        if used is None or used == math.inf:
            limit_uses.append(LimitUse(limit, None, Decimal(0)))
            continue
        left = _decimal(limit, _left(limit, used))
        limit_uses.append(LimitUse(limit, _decimal(limit, used), left))
    return tuple(limit_uses)


def _decimal(limit: Limit, measured: Fraction | float) -> Decimal:
    return Decimal(_amount(limit, measured).replace(",", ""))


def _name(policy: SpendingPolicy, key: TokenKey) -> str:
    token: PolicyToken | None = next(
        (token for token in policy.known_tokens if token.key == key), None
    )
    if token is not None:
        return f"{token.symbol} on {token.chain}"
    chain, contract = key
    if contract is None:
        return "SOL" if chain is None else f"the coin of chain {chain}"
    return contract
