"""Searches blocks that were read from the chains for signs that one account paid another.

The search looks for a series of payments over any number of accounts, for an account that had
payments with both, and for payments of equal amounts. It says nothing about data that was not read,
such as other chains or the exchanges' own records.
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
"""The least tolerance, in percent, of a watcher who matches payouts to a deposit by their
amounts."""
_HUNDRED = Decimal(100)


class Movement(ChainTransfer, frozen=True):
    """A payment on a chain. ``amount`` is in token units; None for an unknown token."""

    PRINTED: ClassVar = {
        "chain": "chain", "block": "height", "hash": "hash", "from": "sender", "to": "receiver",
        "symbol": "symbol", "amount": "amount", "at": "at",
    }  # fmt: skip

    symbol: str
    amount: Decimal | None


class LinkSearch(Struct, frozen=True):
    """The result of a search for a link between two accounts."""

    blocks: Mapping[str, tuple[int, int]]
    """The first and the last block read, by chain."""
    transfers: int
    """The number of payments in these blocks."""
    accounts: int
    """The number of accounts in these blocks."""
    path: tuple[Movement, ...] = ()
    """Payments from the first account to the second, in order of time."""
    shared: tuple[str, ...] = ()
    """Accounts that had payments with both."""
    equal: tuple[Movement, ...] = ()
    """Payments to the second account of an amount that the first paid."""


def search_link(
    transfers: Sequence[Movement],
    source: str,
    target: str,
    blocks: Mapping[str, tuple[int, int]],
) -> LinkSearch:
    """Searches ``transfers`` for a link between two addresses. ``blocks`` has the first and last
    block read, by chain."""
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
    """Returns payments, in order of time, that may have brought money from ``source`` to
    ``target``; empty if there are none."""
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
    ends = {
        payment.receiver if payment.sender == account else payment.sender
        for payment in moved
        if account in (payment.sender, payment.receiver)
    }
    return ends - {account, other}


class Comparison(Struct, frozen=True):
    """One thing that a watcher can compare between deposit and payout; ``remark`` says how much it
    reveals."""

    label: str
    value: str
    remark: str
    brief: str = ""
    """``value`` and ``remark`` in a few words, for a narrow screen."""


def compared_before(paid: Decimal, promised: Decimal) -> tuple[Comparison, ...]:
    """Returns what a watcher can compare before the payout. ``paid`` is Alice's amount,
    ``promised`` is Bob's."""
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
    """Returns what a watcher can compare after Bob was paid. ``since`` are the exchanges' payouts
    to others; ``crowd`` are the ones among them that could come from the same deposit."""
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
    """Returns the payouts to others since the deposit ``paid``, on the chain and in the token of
    Bob's payout ``got``. ``wallets`` are the exchanges' addresses."""
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
    """Returns the payouts that, like Bob's ``got``, could come from the deposit ``paid``."""
    # Whole units on both sides, so that nothing is rounded.
    most, least = paid.units * _HUNDRED, paid.units * (_HUNDRED - _within(paid, got))
    return [payout for payout in since if least <= payout.units * _HUNDRED <= most]


def _within(paid: Movement, got: Movement) -> Decimal:
    lower_by = _lower_by(Decimal(paid.units), Decimal(got.units))
    return max(NARROWEST, lower_by.to_integral_value(ROUND_CEILING))


def _lower_by(paid: Decimal, got: Decimal) -> Decimal:
    return ROUGH.multiply(ROUGH.divide(paid - got, paid), _HUNDRED)
