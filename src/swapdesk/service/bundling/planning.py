"""How payments of a group become operations: one for each token, as few as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.user_operation.batch import MOST_CALLS, InnerCall
from swapdesk.service.bundling.bundler import Payment

AROUND_GAS = 40_000
"""Of the account's own work."""
COIN_GAS, TOKEN_GAS = 46_000, 75_000
"""At most, of one payment: the call, an account that is touched or made, two words written."""


@dataclass(frozen=True)
class Part:
    """The payments of one operation, all of one token. ``places`` are theirs in what was asked
    for, ``number`` counts the operations of the token from 0."""

    token: str | None
    number: int
    places: tuple[int, ...]
    calls: tuple[InnerCall, ...]
    units: int

    @property
    def call_gas(self) -> int:
        """A bound for its calls where they cannot be executed yet."""
        each = COIN_GAS if self.token is None else TOKEN_GAS
        return AROUND_GAS + each * len(self.calls)


def parts_of(payments: Sequence[Payment]) -> tuple[Part, ...]:
    """Payments in their order, tokens in that of their first payment. Raises ValueError for no
    payments, and for a payment of nothing."""
    if not payments:
        raise ValueError("there is nothing to pay")
    if any(one.units <= 0 for one in payments):
        raise ValueError("a payment is of an amount")
    by_token: dict[str | None, list[int]] = {}
    for place, payment in enumerate(payments):
        key = None if payment.token is None else payment.token.lower()
        by_token.setdefault(key, []).append(place)
    return tuple(
        _part(payments, places[first : first + MOST_CALLS], first // MOST_CALLS)
        for places in by_token.values()
        for first in range(0, len(places), MOST_CALLS)
    )


def _part(payments: Sequence[Payment], places: Sequence[int], number: int) -> Part:
    chosen = [payments[place] for place in places]
    return Part(
        token=chosen[0].token,
        number=number,
        places=tuple(places),
        calls=tuple(_call(one) for one in chosen),
        units=sum(one.units for one in chosen),
    )


def _call(payment: Payment) -> InnerCall:
    if payment.token is None:
        return InnerCall(payment.to, payment.units)
    return InnerCall(payment.token, 0, TRANSFER.call(payment.to, payment.units))
