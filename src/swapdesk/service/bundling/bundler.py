"""What the service asks of a bundler of ERC-4337, whoever runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from swapdesk.chain.user_operation.operation import EntryPointVersion, UserOperation


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
class Payment:
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
        self, chain: str, multi_id: str, owner: str, payments: Sequence[Payment]
    ) -> Build:
        """Operations that make these payments. Asked again for a group before one of its
        operations landed, it gives the same nonces, so that at most one of both lands. Raises
        BundleRefused, ValueError for no payments."""

    async def submit(self, chain: str, operation: UserOperation) -> str:
        """Hand in a signed operation; its hash, 0x-hex. Raises BundleRefused."""

    async def landed(self, chain: str, operation_hash: str) -> Landed | None:
        """None while it is in no block."""
