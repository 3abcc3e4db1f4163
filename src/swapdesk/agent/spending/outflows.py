"""What leaves by a payload once it is signed, out of the claim that the gate judges.

What a contract is allowed and what it takes out of it are the same money, and so are payloads of
which the chain executes one: both count once (``SpendSums``). A payment to the account itself, or
to its own smart account, stays with its owner: only its gas counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from swapdesk.agent.gate.case import GasPlan, once_of, taker
from swapdesk.agent.shapes.claim import Act, Claim, Meaning, Outflow, Target
from swapdesk.agent.shapes.operations import nonce_of
from swapdesk.chain.deployments import PERMIT2
from swapdesk.wallet.review import Simulation
from swapdesk.wallet.spending import TokenKey

RENT = 2_039_280
"""Lamports that a token account of 165 bytes keeps, for which whoever opens it pays."""

GAS = "gas"
"""Stands for those who execute a payload: gas leaves beside all else that the payload moves."""

Units = int | float
"""Base units; infinite where there is no bound."""


class Spend(Struct, frozen=True):
    """``units`` of a token that leave, or that ``taker`` may take; ``taker`` is empty where they
    leave by the signature alone. With ``grants`` the signature itself lets it take them, else it
    takes them out of what it was granted elsewhere."""

    token: TokenKey
    units: Units
    account: str
    taker: str = ""
    grants: bool = True

    @property
    def way(self) -> tuple[TokenKey, str, str]:
        """Whose money it is and who takes it."""
        return self.token, self.account, self.taker


class Spending(Struct, frozen=True):
    """All that one payload lets leave. ``gas`` is the coin it is paid in, None where the payload
    pays none itself. ``payees`` are those who get or may take something, but for the owner.

    ``content`` tells the payload from any other; of payloads with the same ``once`` the chain
    executes one. ``unreadable``: nobody knows what it does.
    """

    chain_id: int | None
    spends: tuple[Spend, ...]
    payees: tuple[str, ...]
    content: bytes
    once: str
    gas: Spend | None = None
    unreadable: bool = False

    @property
    def all(self) -> tuple[Spend, ...]:
        return self.spends if self.gas is None else (*self.spends, self.gas)


Counted = tuple[Spend, str]
"""A spend with its payload's ``once``, as the records have it."""


def counted(one: Spending) -> tuple[Counted, ...]:
    return tuple((spend, one.once) for spend in one.all)


_Ways = dict[tuple[TokenKey, str, str], tuple[dict[str, Units], dict[str, Units]]]
"""What each taker of each account's token was granted and takes, by ``once``."""


class SpendSums:
    """The most that can leave of each token by all that was counted."""

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
        """The same once these are counted too."""
        keys = {spend.way for spend, _ in rows}
        before = {key: self._ways.get(key, ({}, {})) for key in keys}
        ways: _Ways = {key: (dict(one[0]), dict(one[1])) for key, one in before.items()}
        _add(ways, rows)
        totals = self.totals.copy()
        for key, both in ways.items():
            # Without a bound before is without one after, and nothing is subtracted from it.
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
    """What leaves by ``claim`` on a chain. ``nonce`` and ``gas`` are those of an EVM transaction;
    ``simulation`` is looked at on Solana alone, for the rent of new accounts."""
    own = {account} if smart_account is None else {account, smart_account}
    taken: dict[str | None, Units] = defaultdict(int)
    allowed: dict[str | None, Units] = defaultdict(int)
    payees: dict[str, None] = {}
    for flow in claim.outflows:
        to = [flow.payee] if flow.payee is not None else _parties(claim)
        if flow.units and not own.issuperset(to):
            taken[flow.token] += flow.units
            payees.update(dict.fromkeys(one for one in to if one not in own))
    by, grants = taker(claim)
    for flow in claim.allowed:
        units = _allowed(claim, flow, by)
        allowed[flow.token] += units
        if units:
            payees[by] = None
    if taken and claim.act in (Act.ORDER, Act.SWAP):
        for _, receiver in claim.texts(Meaning.RECEIVER):
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
        unreadable=claim.act is Act.UNKNOWN,
    )


def _allowed(claim: Claim, flow: Outflow, by: str) -> Units:
    if claim.limitless is not None and flow.units >= claim.limitless:
        return math.inf
    if claim.target is Target.TOKEN and by == PERMIT2:
        # The way of what is signed for Permit2, which takes nothing without it.
        return 0
    return flow.units


def _parties(claim: Claim) -> list[str]:
    """Whom the money of a payload goes to that names nobody for each payment."""
    named = [text for _, text in claim.texts(Meaning.PAYEE)]
    named = named or [text for _, text in claim.texts(Meaning.SPENDER)]
    return named or ([] if claim.contract is None else [claim.contract])


def _content(claim: Claim, nonce: int | None) -> bytes:
    """The same call on another nonce is another payment."""
    return claim.content if nonce is None else claim.content + nonce.to_bytes(32, "big")


def _once(claim: Claim, nonce: int | None, by: str) -> str:
    if nonce is not None:
        return f"nonce {nonce}"
    if claim.act is Act.BUNDLE and not claim.solana:
        return f"{claim.contract} {nonce_of(claim)}"
    value = next((one.value for one in claim.of(Meaning.NONCE)), None)
    known = value if isinstance(value, int | bytes) and not isinstance(value, bool) else None
    document = once_of(claim, known, by) if claim.typed else None
    return document or claim.content.hex()


def _gas(
    claim: Claim,
    chain_id: int | None,
    account: str,
    gas: GasPlan | None,
    simulation: Simulation | None,
    own: Collection[str],
) -> Spend | None:
    offered = sum(units for _, units in claim.numbers(Meaning.NETWORK_FEE))
    if claim.solana:
        offered += RENT * sum(1 for _ in claim.of(Meaning.RENT_PAYEE))
        if simulation is not None:
            # What it costs by the chain's own word, if that is more.
            left = -sum(
                one.units
                for one in simulation.changes
                if one.holder == account and one.contract is None
            )
            paid = sum(
                one.units
                for one in claim.outflows
                if one.token is None and not {one.payee} <= set(own)
            )
            offered = max(offered, left - paid)
    elif gas is not None and not claim.typed:
        offered += gas.most
    return Spend((chain_id, None), offered, account, GAS) if offered else None
