"""What leads from one account to another in the blocks that were read, and what still matches.

Two ways are searched: payments one after the other over any number of accounts, and one account
that had dealings with both. Equal amounts are a third. Nothing is said of what was not read: not
of other chains, not of the exchanges' own records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal

from msgspec import Struct

from swapdesk.client.chain_transfers import ChainTransfer
from swapdesk.wire.encoding.numbers import ROUGH

NARROWEST = Decimal(2)
"""Percent: a watcher who does not know the fees compares within at least so much."""
_HUNDRED = Decimal(100)


class LinkSearch(Struct, frozen=True):
    """``blocks`` are the heights read of each chain, first and last; ``transfers`` and
    ``accounts`` how many were in them. ``path`` are payments from one end to the other, in
    order of time; ``shared`` accounts that paid or were paid by both; ``equal`` payments to the
    second account of exactly what the first one paid."""

    blocks: Mapping[str, tuple[int, int]]
    transfers: int
    accounts: int
    path: tuple[ChainTransfer, ...] = ()
    shared: tuple[str, ...] = ()
    equal: tuple[ChainTransfer, ...] = ()

    @property
    def found(self) -> bool:
        return bool(self.path or self.shared or self.equal)


def search_link(
    transfers: Sequence[ChainTransfer],
    source: str,
    target: str,
    blocks: Mapping[str, tuple[int, int]],
) -> LinkSearch:
    """Look for a link between two accounts; an address is the same account on every chain."""
    moved = sorted(transfers, key=lambda each: (each.at, each.chain, each.height, each.position))
    accounts = {end for each in moved for end in (each.sender, each.receiver)}
    paid = {(each.token, each.units) for each in moved if each.sender == source}
    return LinkSearch(
        blocks=blocks,
        transfers=len(moved),
        accounts=len(accounts),
        path=_path(moved, source, target),
        shared=tuple(sorted(_partners(moved, source, target) & _partners(moved, target, source))),
        equal=tuple(
            each for each in moved if each.receiver == target and (each.token, each.units) in paid
        ),
    )


def _path(moved: Iterable[ChainTransfer], source: str, target: str) -> tuple[ChainTransfer, ...]:
    """Who can hold what came from the source, in order of time: each account is reached by the
    first payment that comes from one that was reached before."""
    reached: dict[str, ChainTransfer] = {}
    for each in moved:
        from_there = each.sender == source or each.sender in reached
        if from_there and each.receiver != source and each.receiver not in reached:
            reached[each.receiver] = each
    way: list[ChainTransfer] = []
    at = target
    while at in reached:
        way.append(reached[at])
        at = reached[at].sender
    return tuple(reversed(way))


def _partners(moved: Iterable[ChainTransfer], account: str, other: str) -> set[str]:
    """Everybody who paid an account or was paid by it, but for ``other``."""
    ends = {
        each.receiver if each.sender == account else each.sender
        for each in moved
        if account in (each.sender, each.receiver)
    }
    return ends - {account, other}


class Remainder(Struct, frozen=True):
    """What a watcher can still compare. ``lower_by`` is in percent of what was paid, ``seconds``
    lie between the two payments. ``others`` is how many other payouts of the exchanges since the
    deposit are less than it by at most ``within`` percent."""

    paid: Decimal
    got: Decimal
    lower_by: Decimal
    seconds: float
    within: Decimal
    others: int
    payouts: int
    """All other payouts of the token since the deposit."""


def what_remains(
    transfers: Iterable[ChainTransfer],
    paid: ChainTransfer,
    got: ChainTransfer,
    wallets: Collection[str],
    decimals: int,
) -> Remainder:
    """Compare a deposit with a payout; ``wallets`` are what the exchanges pay from, as explorers
    label them."""
    lower_by = ROUGH.multiply(
        ROUGH.divide(Decimal(paid.units - got.units), Decimal(paid.units)), _HUNDRED
    )
    within = max(NARROWEST, lower_by.to_integral_value(ROUND_CEILING))
    since = [
        each
        for each in transfers
        if each.chain == got.chain
        and each.token == got.token
        and each.sender in wallets
        and each.receiver != got.receiver
        and each.at >= paid.at
    ]
    # Whole units on both sides, so that nothing is rounded.
    least = paid.units * (_HUNDRED - within)
    fit = [each for each in since if least <= each.units * _HUNDRED <= paid.units * _HUNDRED]
    return Remainder(
        paid=Decimal(paid.units).scaleb(-decimals),
        got=Decimal(got.units).scaleb(-decimals),
        lower_by=lower_by,
        seconds=(got.at - paid.at).total_seconds(),
        within=within,
        others=len(fit),
        payouts=len(since),
    )
