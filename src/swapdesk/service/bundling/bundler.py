"""Bundles of ERC-4337: what the service asks of any bundler, and how payments become operations.

One operation for each token, with as many payments as fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.user_operation.operation import EntryPointVersion, UserOperation
from swapdesk.chain.user_operation.smart_account import MOST_CALLS, InnerCall


class BundlerUnreachable(Exception):
    """It did not answer. What was handed in may have been taken; the same may be handed in
    again, since an operation is known by its hash."""


class BundleRefused(Exception):
    """It will not take the operation as it is. ``code`` is the field's (-32500 to -32521, or
    -32602); ``words`` are the bundler's and therefore data."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


@dataclass(frozen=True)
class OperationPayment:
    """One deposit out of the smart account: ``units`` of the token with this contract, None for
    the chain's coin."""

    token: str | None
    to: str
    units: int


@dataclass(frozen=True)
class FundingCall:
    """What the owner sends so that the account can pay: ``value`` in wei, ``token_amount`` the
    units of a token where the call moves one, 0 when the account holds enough of it.

    Of a coin's operation the call sends ``Build.deposit_needed``, once for the whole bundle. A
    bundle of tokens alone has no such call, and the wei for its gas are sent to the account
    beside the tokens.
    """

    to: str
    data: bytes
    value: int
    token_amount: int | None = None


@dataclass(frozen=True)
class BuiltOperation:
    """One operation, unsigned. ``payments`` are the places of its payments in what was asked
    for; ``hash`` is what the owner signs as ``version`` says."""

    payments: tuple[int, ...]
    operation: UserOperation
    hash: bytes
    entry_point: str
    version: EntryPointVersion
    chain_id: int
    funding: FundingCall


@dataclass(frozen=True)
class Build:
    """``deposit_needed`` is the wei that the account still needs for coins and gas, 0 when it is
    funded; ``account_balance`` the wei that it has. One operation for each token, and several
    where one has more payments than an operation takes."""

    account: str
    operations: tuple[BuiltOperation, ...]
    deposit_needed: int
    account_balance: int


@dataclass(frozen=True)
class Landed:
    """An operation in a block. ``success`` is what the EntryPoint's event says of the calls
    inside, never the transaction's status; ``reason`` what they said when they failed."""

    transaction_hash: str
    height: int
    confirmations: int
    success: bool
    reason: str = ""


class Bundler(Protocol):
    """All methods raise BundlerUnreachable."""

    def serves(self, chain: str) -> bool:
        """Whether operations can be made on the chain with this short name."""

    async def account_of(self, chain: str, owner: str) -> str:
        """The smart account of an owner, whether it stands or not."""

    async def build(
        self, chain: str, multi_id: str, owner: str, payments: Sequence[OperationPayment]
    ) -> Build:
        """Operations that make these payments. Asked again for a group before one of its
        operations landed, it gives the same nonces, so that at most one of both lands. Raises
        BundleRefused, ValueError for no payments."""

    async def submit(self, chain: str, operation: UserOperation) -> str:
        """Hand in a signed operation; its hash, 0x-hex. Raises BundleRefused."""

    async def landed(self, chain: str, operation_hash: str) -> Landed | None:
        """None while it is in no block."""


AROUND_GAS = 40_000
"""Of the account's own work."""
COIN_GAS, TOKEN_GAS = 46_000, 75_000
"""At most, of one payment: the call, an account that is touched or made, two words written."""


@dataclass(frozen=True)
class OperationPart:
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


def parts_of(payments: Sequence[OperationPayment]) -> tuple[OperationPart, ...]:
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


def _part(
    payments: Sequence[OperationPayment], places: Sequence[int], number: int
) -> OperationPart:
    chosen = [payments[place] for place in places]
    return OperationPart(
        token=chosen[0].token,
        number=number,
        places=tuple(places),
        calls=tuple(_call(one) for one in chosen),
        units=sum(one.units for one in chosen),
    )


def _call(payment: OperationPayment) -> InnerCall:
    if payment.token is None:
        return InnerCall(payment.to, payment.units)
    return InnerCall(payment.token, 0, TRANSFER.call(payment.to, payment.units))
