"""What leads from one account to another in the blocks that were read, and what still matches.

Two ways are searched: payments one after the other over any number of accounts, and one account
that had dealings with both. Equal amounts are a third. Nothing is said of what was not read: not
of other chains, not of the exchanges' own records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import ClassVar

from msgspec import Struct

from swapdesk.client.chain_lookup import ChainTransfer
from swapdesk.flows.notation import about_amount, counted, duration, percent, tracker_amount
from swapdesk.wire.encoding.numbers import ROUGH

NARROWEST = Decimal(2)
"""Percent: a watcher who does not know the fees compares within at least so much."""
_HUNDRED = Decimal(100)


class Movement(ChainTransfer, frozen=True):
    """A payment on a chain; ``amount`` is None for a token that the catalogue does not have."""

    PRINTED: ClassVar = {
        "chain": "chain", "block": "height", "hash": "hash", "from": "sender", "to": "receiver",
        "symbol": "symbol", "amount": "amount", "at": "at",
    }  # fmt: skip

    symbol: str
    amount: Decimal | None


class LinkSearch(Struct, frozen=True):
    """``blocks`` are the heights read of each chain, first and last; ``transfers`` and
    ``accounts`` how many were in them. ``path`` are payments from one end to the other, in
    order of time; ``shared`` accounts that paid or were paid by both; ``equal`` payments to the
    second account of exactly what the first one paid."""

    blocks: Mapping[str, tuple[int, int]]
    transfers: int
    accounts: int
    path: tuple[Movement, ...] = ()
    shared: tuple[str, ...] = ()
    equal: tuple[Movement, ...] = ()


def search_link(
    transfers: Sequence[Movement],
    source: str,
    target: str,
    blocks: Mapping[str, tuple[int, int]],
) -> LinkSearch:
    """Searches for a link between two accounts; an address is the same account on every chain."""
    moved = sorted(
        transfers,
        key=lambda transfer: (transfer.at, transfer.chain, transfer.height, transfer.position),
    )
    accounts = {end for payment in moved for end in (payment.sender, payment.receiver)}
    paid = {(payment.token, payment.units) for payment in moved if payment.sender == source}
    return LinkSearch(
        blocks=blocks,
        transfers=len(moved),
        accounts=len(accounts),
        path=_path(moved, source, target),
        shared=tuple(sorted(_partners(moved, source, target) & _partners(moved, target, source))),
        equal=tuple(
            payment
            for payment in moved
            if payment.receiver == target and (payment.token, payment.units) in paid
        ),
    )


def _path(moved: Iterable[Movement], source: str, target: str) -> tuple[Movement, ...]:
    """Who can hold what came from the source, in order of time: each account is reached by the
    first payment from an account reached before."""
    reached: dict[str, Movement] = {}
    for payment in moved:
        from_there = payment.sender == source or payment.sender in reached
        if from_there and payment.receiver != source and payment.receiver not in reached:
            reached[payment.receiver] = payment
    way: list[Movement] = []
    at = target
    while at in reached:
        way.append(reached[at])
        at = reached[at].sender
    return tuple(reversed(way))


def _partners(moved: Iterable[Movement], account: str, other: str) -> set[str]:
    """Everybody who paid an account or was paid by it, except ``other``."""
    ends = {
        payment.receiver if payment.sender == account else payment.sender
        for payment in moved
        if account in (payment.sender, payment.receiver)
    }
    return ends - {account, other}


class Comparison(Struct, frozen=True):
    """A figure that a watcher can still compare, and how many others it fits."""

    label: str
    value: str
    remark: str
    brief: str = ""
    """For where there is no room for the others."""


def compared_before(paid: Decimal, promised: Decimal) -> tuple[Comparison, ...]:
    """Comparisons before any payout."""
    lower_by = percent(-_lower_by(paid, promised))
    return (
        Comparison(
            "Amount",
            f"{tracker_amount(paid, 'pay')} in, {about_amount(promised)} out, {lower_by}",
            "not paid out yet, so nothing to compare with",
            f"{lower_by}, not paid out yet",
        ),
    )


def compared_after(
    transfers: Sequence[Movement],
    paid: Movement,
    got: Movement,
    since: Sequence[Movement],
    crowd: Sequence[Movement],
) -> tuple[Comparison, ...]:
    """A deposit with its payout, with the other payouts ``since``, and with the ``crowd`` of those
    that fit as well."""
    lower_by, within = _lower_by(Decimal(paid.units), Decimal(got.units)), _within(paid, got)
    fit = len(crowd)
    came, went = tracker_amount(paid.amount, "pay"), tracker_amount(got.amount)
    lower, apart = percent(-lower_by), duration((got.at - paid.at).total_seconds())
    times = sum(transfer.receiver == got.receiver for transfer in transfers)
    return (
        Comparison(
            "Amount",
            f"{came} in, {went} out, {lower}",
            f"{counted(fit, 'other payout')} since fit within {within}%",
            f"{lower}, {counted(fit, 'other')} within {within}%",
        ),
        Comparison(
            "Time",
            f"{apart} between deposit and payout",
            f"{counted(len(since), 'other payout')} of the exchanges since the deposit",
            f"{apart} apart, {counted(len(since), 'payout')} since",
        ),
        Comparison(
            "Habit",
            f"{'first' if times == 1 else 'not the first'} payment to this address",
            "a second one to the same address would be a hint",
        ),
    )


def payouts_since(
    transfers: Iterable[Movement],
    paid: Movement,
    got: Movement,
    wallets: Collection[str],
) -> list[Movement]:
    """What the exchanges paid to others since a deposit, of the same token as its payout.
    ``wallets`` are what they pay from, as explorers label them."""
    return [
        transfer
        for transfer in transfers
        if transfer.chain == got.chain
        and transfer.token == got.token
        and transfer.sender in wallets
        and transfer.receiver != got.receiver
        and transfer.at >= paid.at
    ]


def crowd_of(since: Iterable[Movement], paid: Movement, got: Movement) -> list[Movement]:
    """Those whose amount fits the deposit as well as the payout does."""
    # Whole units on both sides, so that nothing is rounded.
    most, least = paid.units * _HUNDRED, paid.units * (_HUNDRED - _within(paid, got))
    return [payout for payout in since if least <= payout.units * _HUNDRED <= most]


def _within(paid: Movement, got: Movement) -> Decimal:
    """Percent below the deposit within which a watcher looks for its payout."""
    lower_by = _lower_by(Decimal(paid.units), Decimal(got.units))
    return max(NARROWEST, lower_by.to_integral_value(ROUND_CEILING))


def _lower_by(paid: Decimal, got: Decimal) -> Decimal:
    """In percent of what was paid."""
    return ROUGH.multiply(ROUGH.divide(paid - got, paid), _HUNDRED)
