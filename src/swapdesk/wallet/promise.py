"""The promise (what the user confirmed) and the payloads (what is to be signed for it), in the form
in which the desk sends both to the wallet agent.

A payload comes from the service or from the desk's own planner, and nothing in it is trusted. The
agent refuses a payload that does not match the promise, whatever the desk says. Amounts are
integers of the token's smallest unit, so that nothing is rounded on the way to a signature.
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
    """What a signature is for. The agent refuses a payload whose content serves a different purpose
    from the stated one."""

    APPROVE = "approve"
    """An approval that lets a venue's contract take the token sold: an ERC-20 approval or a signed
    permit."""
    ORDER = "order"
    """A signed order (typed data) that a venue settles."""
    SWAP = "swap"
    """A transaction that swaps when it is executed."""
    DEPOSIT = "deposit"
    """A plain transfer to the deposit address of an order."""
    REVOKE = "revoke"
    """An approval of 0, which ends an earlier approval."""
    CANCEL = "cancel"
    """A transaction that pays 0 to the account itself and reuses the nonce of a waiting
    transaction. Once it is executed, the waiting transaction never can be."""
    FUND = "fund"
    """A plain transfer to the account's own smart account, which later pays a bundle from it."""
    BUNDLE = "bundle"
    """A payment of several deposits at once: a UserOperation of the account's smart account, on
    Solana a transaction of the account itself."""
    DEPLOY = "deploy"
    """The transaction that creates the account's own smart account."""
    WITHDRAW = "withdraw"
    """A payment from the account's own smart account to the account."""
    CALL = "call"
    """A signed payment for one call of the API (EIP-3009, x402). The promise's ``deposit`` says how
    much is paid to whom."""


class Asset(Struct, frozen=True, forbid_unknown_fields=True):
    """A token on its chain. ``contract`` (the mint on Solana) is None for the native coin."""

    symbol: str
    decimals: int
    contract: str | None


class DepositPromise(Struct, frozen=True, forbid_unknown_fields=True):
    """A deposit that the user confirmed: ``units`` base units, to be paid to ``address`` before
    ``expires``. The payment for an API call has this form too."""

    order_id: str
    """The order's id; for a paid API call the name of the call's operation."""
    address: str
    tag: str | None
    """The memo; None if none is needed."""
    units: int
    """``order.inAmount`` as returned, in base units."""
    expires: datetime
    refund: str | None = None
    """The address on the deposit's chain to which the money goes back if the order fails."""
    tier: PriceTier | None = None
    """The price tier of a paid API call in the contract; None for an order."""


class BundlePromise(Struct, frozen=True, forbid_unknown_fields=True):
    """The deposits, all in one token, that one signature pays at once. ``multi_id`` is the id
    shared by their orders. If one token needs several signatures, ``part`` numbers them from 0."""

    multi_id: str
    part: int
    deposits: tuple[DepositPromise, ...]


class TakenOut(Struct, frozen=True, forbid_unknown_fields=True):
    """An amount that a smart account pays its owner, in base units of ``asset``."""

    asset: Asset
    units: int


class WithdrawalPromise(Struct, frozen=True, forbid_unknown_fields=True):
    """What a smart account pays its owner: the amounts in ``taken``, and ``prepaid``, the wei that
    the EntryPoint holds for the smart account's gas. If ``prepaid`` is 0, that wei stays in the
    EntryPoint."""

    taken: tuple[TakenOut, ...]
    prepaid: int = 0


class Promise(Struct, frozen=True, forbid_unknown_fields=True):
    """What the user confirmed for one swap. The agent compares each payload with this promise. The
    bought token arrives at ``recipient`` on ``chain_out``."""

    intent_id: str
    account: str
    chain: str
    """The short name of the chain that is paid on."""
    chain_id: int | None
    """The EVM id of ``chain``; None on Solana."""
    sell: Asset
    sell_units: int
    """The most that may leave. For a bundle, the most that all its deposits together may take."""
    buy: Asset
    chain_out: str
    least_units: int
    """The least that must arrive: the quoted amount minus the confirmed slippage."""
    quoted_units: int
    recipient: str
    venue: str | None
    """The provider code of the quote."""
    quote_id: str | None
    valid_until: datetime
    gas_units: int
    """The most that one transaction may pay for gas, in the native coin's smallest unit. For a
    bundle, the most that the EntryPoint may take for gas."""
    deposit: DepositPromise | None = None
    unlimited: bool = False
    """True if the user typed consent to an approval without a limit."""
    fee_units: int = 0
    """The most of the native coin that a venue may take in addition (a bridge fee), in the coin's
    smallest unit."""
    chain_out_id: int | None = None
    """The EVM id of ``chain_out``; None if it has none."""
    bundle: BundlePromise | None = None
    """The deposits that one signature pays; None if no bundle was confirmed."""
    withdrawal: WithdrawalPromise | None = None
    """What a smart account pays its owner; None if no withdrawal was confirmed."""

    @property
    def bundled(self) -> tuple[DepositPromise, ...]:
        """The deposits that one payload pays together; empty if no bundle was confirmed."""
        return () if self.bundle is None else self.bundle.deposits

    @property
    def deposits(self) -> tuple[DepositPromise, ...]:
        """Every confirmed deposit, single or in a bundle."""
        return self.bundled if self.deposit is None else (self.deposit, *self.bundled)

    @property
    def taken(self) -> tuple[TakenOut, ...]:
        """The token amounts that a withdrawal pays, without the EntryPoint's wei."""
        return () if self.withdrawal is None else self.withdrawal.taken

    @property
    def least(self) -> Decimal:
        """The least amount that must arrive, in whole tokens."""
        return short(from_base_units(self.least_units, self.buy.decimals))


class ChainStep(Struct, frozen=True, forbid_unknown_fields=True):
    """The position of a document in the sequence of documents signed for one swap. ``step`` counts
    from 0; ``key`` identifies the sequence."""

    key: str
    step: int
    total: int
    complete: bool
    chained: bool


class TypedDataPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EIP-712 document exactly as received, with its place among the documents signed for the
    swap."""

    purpose: Purpose
    document: dict[str, Any]
    step: ChainStep


class TransactionPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An EVM call, not signed yet: ``data`` is 0x-hex and ``value`` in wei. The agent adds nonce,
    gas and fees."""

    purpose: Purpose
    to: str
    data: str
    value: int


class SolanaPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """A serialized Solana transaction in base64, perhaps partly signed. ``last_valid_height`` is
    the last block height at which it can be executed, None if not stated."""

    purpose: Purpose
    transaction: str
    last_valid_height: int | None = None


class OperationPayload(Struct, frozen=True, forbid_unknown_fields=True):
    """An unsigned ERC-4337 UserOperation in its JSON-RPC form. ``version`` is the EntryPoint's
    release, like "0.7". A hash received with the operation is ignored."""

    purpose: Purpose
    operation: dict[str, str]
    entry_point: str
    version: str
    chain_id: int


Payload = TypedDataPayload | TransactionPayload | SolanaPayload | OperationPayload
