"""What the user confirmed, and what is to be signed for it, as both are handed to the wallet agent.

A payload is what the service or the desk's own planner gave; nothing in it is trusted, and the
agent refuses one that does not match the promise, whatever the desk says. Amounts are integers of
the token's smallest unit, so that nothing is rounded on the way to a signature.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct

from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.price_tiers import PriceTier


class Purpose(StrEnum):
    """What a signature is for. A payload of another purpose is refused."""

    APPROVE = "approve"
    """Let a venue's contract take the token sold: an ERC-20 approval or a signed permit."""
    ORDER = "order"
    """A signed order that a venue settles."""
    SWAP = "swap"
    """A transaction that swaps at once."""
    DEPOSIT = "deposit"
    """A plain transfer to the deposit address of an order."""
    REVOKE = "revoke"
    """An approval of nothing."""
    CANCEL = "cancel"
    """A payment of nothing to the account itself, on the nonce of a transaction that waits."""
    FUND = "fund"
    """A plain transfer to the account's own smart account, which pays a bundle out of it."""
    BUNDLE = "bundle"
    """A UserOperation by which the account's smart account pays deposits of a group."""
    DEPLOY = "deploy"
    """Creates the account's own smart account at its address."""
    WITHDRAW = "withdraw"
    """The account's own smart account pays its holdings to the account."""
    CALL = "call"
    """A signed payment of one call of the API, which is its ``deposit`` (EIP-3009, x402)."""


class Asset(Struct, frozen=True, forbid_unknown_fields=True):
    """A token on its chain; ``contract`` (mint on Solana) is None for the native coin."""

    symbol: str
    decimals: int
    contract: str | None


class DepositPromise(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an order's deposit goes; ``units`` is ``order.inAmount`` as returned. Of a call that is
    paid, ``order_id`` is its operation, ``tier`` what that costs by the contract, and all else is
    what its 402 asked for.

    ``refund`` is where the order sends the money if it fails, on the chain of the deposit.
    """

    order_id: str
    address: str
    tag: str | None
    units: int
    expires: datetime
    refund: str | None = None
    tier: PriceTier | None = None


class BundlePromise(Struct, frozen=True, forbid_unknown_fields=True):
    """The deposits that one operation of a group pays, in its order.

    All of them are of the token that the promise sells. ``part`` counts the operations of that
    token in the group from 0.
    """

    multi_id: str
    part: int
    deposits: tuple[DepositPromise, ...]


class TakenOut(Struct, frozen=True, forbid_unknown_fields=True):
    """An amount, in base units, that a smart account pays its owner."""

    asset: Asset
    units: int


class WithdrawalPromise(Struct, frozen=True, forbid_unknown_fields=True):
    """What the smart account pays its owner, in this order and nothing else, and last of all
    ``prepaid``: the wei that the EntryPoint keeps for its gas, 0 where they stay there."""

    taken: tuple[TakenOut, ...]
    prepaid: int = 0


class Promise(Struct, frozen=True, forbid_unknown_fields=True):
    """One confirmed swap.

    ``chain`` is the short name of the chain that is paid on and ``chain_id`` its EVM id, None
    on Solana. ``sell_units`` is the most that may leave, ``least_units`` the least that must
    arrive: what was quoted less the confirmed slippage. ``recipient`` is where it arrives, on
    ``chain_out``. ``venue`` is the provider code of the quote and ``valid_until`` its end.
    ``unlimited`` records the typed consent to an approval without a bound. ``gas_units`` is the
    most that may be paid for gas by one transaction, in units of the native coin, and
    ``fee_units`` the most that a venue may take beside it in that coin (a bridge fee).
    ``chain_out_id`` is the EVM id of ``chain_out``, None where it has none. ``bundle`` is what
    an operation pays: ``sell_units`` is then the most of all of it, and ``gas_units`` bounds what
    the EntryPoint may take for its gas. ``withdrawal`` is what a smart account pays its owner.
    """

    intent_id: str
    account: str
    chain: str
    chain_id: int | None
    sell: Asset
    sell_units: int
    buy: Asset
    chain_out: str
    least_units: int
    quoted_units: int
    recipient: str
    venue: str | None
    quote_id: str | None
    valid_until: datetime
    gas_units: int
    deposit: DepositPromise | None = None
    unlimited: bool = False
    fee_units: int = 0
    chain_out_id: int | None = None
    bundle: BundlePromise | None = None
    withdrawal: WithdrawalPromise | None = None

    @property
    def bundled(self) -> tuple[DepositPromise, ...]:
        """The deposits that a bundle pays, in its order."""
        return () if self.bundle is None else self.bundle.deposits

    @property
    def deposits(self) -> tuple[DepositPromise, ...]:
        """Every deposit that may be paid."""
        return self.bundled if self.deposit is None else (self.deposit, *self.bundled)

    @property
    def taken(self) -> tuple[TakenOut, ...]:
        """What a withdrawal pays, but for what the EntryPoint keeps."""
        return () if self.withdrawal is None else self.withdrawal.taken

    @property
    def least(self) -> Decimal:
        """The least that must arrive, in whole tokens."""
        return short(from_base_units(self.least_units, self.buy.decimals))


class ChainStep(Struct, frozen=True, forbid_unknown_fields=True):
    """The place of a document in a chain of signatures; ``step`` counts from 0."""

    key: str
    step: int
    total: int
    complete: bool
    chained: bool


class TypedDataPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EIP-712 document exactly as it came, and its place in the chain of signatures."""

    purpose: Purpose
    document: dict[str, Any]
    step: ChainStep


class TransactionPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EVM call: ``data`` is 0x-hex and ``value`` in wei. Nonce, gas and fees are the agent's."""

    purpose: Purpose
    to: str
    data: str
    value: int


class SolanaPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """A serialized Solana transaction in base64, which others may have signed in part.

    ``last_valid_height`` is the height of blocks at which it is executed last, where whoever
    made it said so.
    """

    purpose: Purpose
    transaction: str
    last_valid_height: int | None = None


class OperationPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """A UserOperation of ERC-4337 as the service wrote it in JSON-RPC's form, unsigned.

    It is hashed for ``entry_point`` (of the release ``version``, as "0.7") on the chain with
    ``chain_id``; a hash that somebody tells beside it is not asked for.
    """

    purpose: Purpose
    operation: dict[str, str]
    entry_point: str
    version: str
    chain_id: int


Payload = TypedDataPayload | TransactionPayload | SolanaPayload | OperationPayload
