"""What the service keeps: quotes, orders, their changes, groups, bundles and counts."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

Route = Literal["standard", "private", "dex"]
"""The route types of quotes and orders (contract 1.25)."""

CentralizedRoute = Literal["standard", "private"]


@dataclass(frozen=True)
class RouteChoice:
    """Which routes were asked for, and how their payout is rotated; a fallback keeps to it.

    Provider codes; None means every provider. ``swaps`` counts on standard routes, the four
    leg filters and ``use_xmr`` on private ones (contract 6.15 to 6.17).
    """

    swaps: tuple[str, ...] | None = None
    in_included: tuple[str, ...] | None = None
    in_excluded: tuple[str, ...] | None = None
    out_included: tuple[str, ...] | None = None
    out_excluded: tuple[str, ...] | None = None
    use_xmr: bool | None = None
    rotate_payout_wallets: bool = False
    deviation_threshold: Decimal = Decimal(5)
    rotation_lookback: int = 10
    rotate_fallback: bool = False

    def admits(self, legs: tuple[str, ...]) -> bool:
        """Whether the provider filters let a route over these venues through."""
        if len(legs) == 1:
            return self.swaps is None or legs[0] in self.swaps
        first, last = legs[0], legs[-1]
        return (
            (self.in_included is None or first in self.in_included)
            and first not in (self.in_excluded or ())
            and (self.out_included is None or last in self.out_included)
            and last not in (self.out_excluded or ())
        )


EVERY_ROUTE = RouteChoice()


@dataclass(frozen=True)
class StoredQuote:
    """A quote as it was priced, kept until 15 minutes after it expires.

    ``legs`` names the venue codes in the order of the money: one for standard, two for
    private. ``middle_token_id`` and ``middle_amount`` describe the hop of a private route.
    ``expires`` is ``validUntil``. ``receive`` tells that the amount asked for was what shall
    arrive; ``markup`` is the percentage the route was priced with; ``rates`` names the promise
    of each leg's venue on fixed terms; ``payout_wallet`` is the hot wallet, by index, that the
    last leg's venue shall pay from. A ``filtered`` quote is never executed. ``plan`` is what an
    on-chain venue promised, as JSON; its venue alone reads it.
    """

    quote_id: str
    partner_id: str
    purpose: Literal["exchange", "private_send"]
    route: Route
    created: datetime
    expires: datetime
    token_in_id: str
    token_out_id: str
    amount_in: Decimal
    amount_out: Decimal
    amount_in_usd: Decimal | None
    amount_out_usd: Decimal | None
    minutes: Decimal
    legs: tuple[str, ...]
    middle_token_id: str | None = None
    middle_amount: Decimal | None = None
    consumed_by: str | None = None
    fixed: bool = False
    receive: bool = False
    markup: Decimal = Decimal(0)
    rates: tuple[str | None, ...] = ()
    payout_wallet: int | None = None
    requires_refund_address: bool = False
    filtered: bool = False
    choice: RouteChoice = EVERY_ROUTE
    plan: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredOrder:
    """The order row, which is the workflow.

    ``status``, ``in_status`` and ``out_status`` are the numbers of the wire; ``rank`` orders
    displayed states and only grows; ``version`` is the compare-and-set counter. ``due_at`` is
    when a worker looks next. ``failure_code`` is the answer a twin create gets when no venue
    opened. ``detail`` holds what has no column of its own, as JSON-ready values. The fields
    after it are the terms of the quote, which a fallback keeps; ``plan`` belongs to DEX orders,
    ``multi_id`` to those of a group.
    """

    service_id: str
    record_id: str
    partner_id: str
    quote_id: str
    request_digest: str
    route: Route
    created: datetime
    modified: datetime
    expires: datetime
    status: int
    display_status: str
    rank: int
    version: int
    due_at: datetime | None
    in_status: int
    out_status: int | None
    token_in_id: str
    token_out_id: str
    amount_in: Decimal
    amount_out: Decimal
    amount_in_usd: Decimal | None
    amount_out_usd: Decimal | None
    minutes: Decimal
    receiver_address: str
    receiver_tag: str | None
    refund_address: str | None
    refund_tag: str | None
    deposit_address: str | None
    deposit_tag: str | None
    legs: tuple[str, ...]
    middle_token_id: str | None
    middle_amount: Decimal | None
    failure_code: str | None = None
    attempt: int = 0
    """How often in a row a venue gave no answer; the back-off grows with it."""
    detail: dict[str, str | bool | None] = field(default_factory=dict)
    fixed: bool = False
    receive: bool = False
    markup: Decimal = Decimal(0)
    rates: tuple[str | None, ...] = ()
    payout_wallet: int | None = None
    choice: RouteChoice = EVERY_ROUTE
    plan: dict[str, Any] = field(default_factory=dict)
    multi_id: str | None = None


@dataclass(slots=True)
class OrderVersion:
    """How far the row of an order has come, without the row itself."""

    version: int
    created: datetime


@dataclass(frozen=True)
class OutboxRow:
    """One state change to deliver, in commit order; ``version`` is the order's after it."""

    sequence: int
    service_id: str
    partner_id: str
    version: int
    status: int
    rank: int


@dataclass(frozen=True)
class OrderFilter:
    """What ``GET /orders`` asks for, with the window already applied to ``since``."""

    partner_id: str
    since: datetime
    until: datetime | None
    statuses: tuple[int, ...]
    private: bool | None
    token_in_id: str | None
    token_out_id: str | None
    sort: Literal["created", "updated", "amount"]
    descending: bool
    offset: int
    limit: int
    multi_id: str | None = None


@dataclass(frozen=True)
class Usage:
    """Calls of one partner and rate class in window ``number`` of ``seconds`` since 1970."""

    partner_id: str
    rate_class: str
    seconds: int
    number: int
    used: int


def rows_after(db: sqlite3.Connection, sequence: int, limit: int) -> list[OutboxRow]:
    rows = db.execute(
        "SELECT sequence, service_id, partner_id, version, status, rank FROM outbox"
        " WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (sequence, limit),
    )
    return [OutboxRow(*row) for row in rows]


def last_sequence(db: sqlite3.Connection) -> int:
    """The highest number ever given, also after its row was dropped."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
    return 0 if row is None else int(row["seq"])


BundleState = Literal["pending", "submitted", "confirmed", "failed", "withdrawn"]


@dataclass(frozen=True)
class StoredGroup:
    """Orders that were created together; ``chain`` is the one they all sell on, by short name."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


@dataclass(frozen=True)
class StoredBatch:
    """One UserOperation of a bundle and the orders whose deposits it pays.

    ``operation`` is its form in JSON-RPC, without signature; ``version`` is that of the
    EntryPoint, by which ``hash`` is signed. ``paid`` once its calls were made.
    """

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    version: str
    signature: str | None = None
    paid: bool = False


@dataclass(frozen=True)
class StoredBundle:
    """What was built to fund a group, and how far it came; ``number`` 0 until it is stored.

    ``owner`` signs for the smart account; ``expires`` is when the first of its orders does.
    """

    number: int
    multi_id: str
    partner_id: str
    chain: str
    created: datetime
    modified: datetime
    expires: datetime
    state: BundleState
    owner: str
    batches: tuple[StoredBatch, ...]
    tx_hash: str | None = None
    failure_reason: str | None = None

    @property
    def service_ids(self) -> frozenset[str]:
        """Every order that it pays."""
        return frozenset(each for batch in self.batches for each in batch.service_ids)

    @property
    def claimed(self) -> frozenset[str]:
        """Orders that no other bundle may pay: this one has, or still may."""
        if self.state in ("submitted", "confirmed"):
            return self.service_ids
        return frozenset(each for batch in self.batches if batch.paid for each in batch.service_ids)


class BundleUnderWay(Exception):
    """Another bundle pays some of these orders already."""
