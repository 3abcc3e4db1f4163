"""How the groups of batches are paid, as the journal has it: a bundle holds what was built, what
was signed and what the wallet sends for it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.encoding.numbers import from_base_units, short

BundleKind = Literal["evm", "solana"]


class BundleState(StrEnum):
    BUILT = "built"
    """Nothing of it is signed."""
    SIGNED = "signed"
    """Every operation has its signature and nobody else has one; on Solana: a part may have
    left."""
    SENT = "sent"
    """The signatures leave now, or left without an answer that anybody here saw."""
    UNKNOWN = "unknown"
    """They left and the answer was lost: the service is asked what it has."""
    SUBMITTED = "submitted"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    REFUSED = "refused"
    """The service or the wallet said no; nothing of it can be carried out any more."""
    REPLACED = "replaced"
    """Another one was built in its place before anything of it left."""


UNDER_WAY = frozenset({BundleState.SENT, BundleState.UNKNOWN, BundleState.SUBMITTED})
"""The service has its signatures, or may have them."""
OVER = frozenset(
    {
        BundleState.CONFIRMED,
        BundleState.FAILED,
        BundleState.WITHDRAWN,
        BundleState.REFUSED,
        BundleState.REPLACED,
    }
)


class BundleDeposit(Struct, frozen=True):
    """One deposit; ``units`` is ``inAmount`` of its order, ``row`` the number in the file."""

    row: int
    service_id: str
    address: str
    units: int
    expires: datetime


class BundleItem(Struct, frozen=True):
    """What is signed once: deposits of one token, in the order in which they are paid.

    ``contract`` (mint on Solana) is None for the chain's coin. ``part`` counts the items of a
    token from 0. ``confirmed`` is what the rows asked to pay, in base units; orders may ask for
    one part in ten thousand more. ``document`` is what the service gave for it: the operation
    with its EntryPoint, release and chain id; empty on Solana, where it is fetched anew each time.
    """

    token_id: str
    symbol: str
    decimals: int
    contract: str | None
    part: int
    deposits: tuple[BundleDeposit, ...]
    confirmed: int
    document: dict[str, Any]

    @property
    def units(self) -> int:
        return sum(one.units for one in self.deposits)

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))


class FundingNeed(Struct, frozen=True):
    """What a smart account lacks of a token, or of the chain's coin (``contract`` None)."""

    symbol: str
    decimals: int
    contract: str | None
    units: int

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))


class Built(Struct, frozen=True):
    """A bundle as it was built and compared with the group. ``chain`` is its short name,
    ``account`` the wallet's, its ``sender`` the smart account that pays (on Solana the account
    itself); ``gas_units`` is what gas may cost at most, ``held`` the coin that the smart account
    has, both in base units."""

    kind: BundleKind
    chain: str
    account: str
    sender: str
    items: tuple[BundleItem, ...]
    needs: tuple[FundingNeed, ...] = ()
    gas_units: int = 0
    held: int = 0

    @property
    def deposits(self) -> tuple[BundleDeposit, ...]:
        return tuple(one for item in self.items for one in item.deposits)

    @property
    def expires(self) -> datetime:
        """When the first of its orders stops waiting."""
        return min(one.expires for one in self.deposits)


class JournaledBundle(Struct, frozen=True):
    """``signatures`` are in the order of the items, empty until all of them are there. They left
    at ``sent_at``, by the clock of the service at ``server_at``."""

    batch_id: str
    group: int
    number: int
    built: Built
    state: BundleState
    created: datetime
    signatures: tuple[str, ...]
    sent_at: datetime | None
    server_at: datetime | None
    tx_hash: str | None
    code: str | None
    reason: str | None

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY


class Paying(StrEnum):
    """What a transaction of the wallet is for."""

    FUND = "fund"
    """It fills the smart account."""
    PART = "part"
    """It pays deposits itself, on Solana."""


class WalletPayment(Struct, frozen=True):
    """One transaction that the wallet signs for a group. ``service_ids`` are the orders whose
    deposits it pays itself.

    PREPARED before it is signed, SENT with its hash before a byte leaves, then ACKED, or REFUSED
    when nothing can come of it."""

    number: int
    paying: Paying
    intent_id: str
    service_ids: tuple[str, ...]
    symbol: str
    decimals: int
    contract: str | None
    units: int
    state: StepState
    hash: str | None
    code: str | None

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))

    @property
    def open(self) -> bool:
        """Whether something may still come of it."""
        return self.state in (StepState.PREPARED, StepState.SENT)
