"""The records of the service: quotes, orders, their changes, groups, bundles, counts and sums."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

from msgspec import Struct, field

Route = Literal["standard", "private", "dex"]
"""The route types of quotes and orders (contract 1.25)."""

CentralizedRoute = Literal["standard", "private"]


class RouteChoice(Struct, frozen=True, omit_defaults=True):
    """Which routes were asked for, and how their payout is rotated; a fallback keeps to it.

    Provider codes; None means every provider. ``swaps`` applies to standard routes, the four leg
    filters and ``use_xmr`` to private ones (contract 6.15 to 6.17).
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
        """Returns True if the provider filters admit a route over these venues."""
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


class RouteTerms(Struct, frozen=True, kw_only=True):
    """A route and its price.

    ``legs`` are venue codes in the order of the money: one on standard routes, two on private ones,
    which hop over ``middle_amount`` of the token ``middle_token_id``. ``minutes`` is the estimate
    for all legs. ``rates`` name the promise of each venue on fixed terms; ``payout_wallet`` is the
    index of the hot wallet that the last venue shall pay from; ``markup`` is the percentage that
    the last leg was priced with.
    """

    legs: tuple[str, ...]
    amount_in: Decimal
    amount_out: Decimal
    minutes: Decimal
    middle_token_id: str | None = None
    middle_amount: Decimal | None = None
    rates: tuple[str | None, ...] = ()
    payout_wallet: int | None = None
    markup: Decimal = Decimal(0)

    def route_terms(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RouteTerms.__struct_fields__}


class SwapTerms(RouteTerms, frozen=True, kw_only=True):
    """The terms that a quote promises and its order keeps, also on a fallback.

    ``receive``: the amount asked for is what shall arrive. ``plan`` is the promise of an on-chain
    venue, as JSON that this venue alone reads.
    """

    quote_id: str
    partner_id: str
    route: Route
    created: datetime
    expires: datetime
    token_in_id: str
    token_out_id: str
    amount_in_usd: Decimal | None
    amount_out_usd: Decimal | None
    fixed: bool = False
    receive: bool = False
    choice: RouteChoice = EVERY_ROUTE
    plan: dict[str, Any] = field(default_factory=dict)
    fee_usd: Decimal | None = None
    """Dollars that an on-chain venue keeps of the swap; other venues state a rate."""


class StoredQuote(SwapTerms, frozen=True, kw_only=True):
    """A priced quote, kept until 15 minutes after it expires.

    ``expires`` is ``validUntil``. A ``filtered`` quote is never executed.
    """

    purpose: Literal["exchange", "private_send"]
    consumed_by: str | None = None
    requires_refund_address: bool = False
    filtered: bool = False


class StoredOrder(SwapTerms, frozen=True, kw_only=True):
    """The order row, which is the workflow.

    ``status``, ``in_status`` and ``out_status`` are the numbers of the wire; ``rank`` orders
    displayed states and only grows; ``version`` is the compare-and-set counter. ``due_at`` is when
    a worker looks next. ``failure_code`` is the answer to a twin create when no venue opened.
    ``detail`` holds what has no column of its own, as JSON-ready values. ``multi_id`` belongs to
    orders of a group.
    """

    service_id: str
    record_id: str
    request_digest: str
    modified: datetime
    status: int
    display_status: str
    rank: int
    version: int
    due_at: datetime | None
    in_status: int
    out_status: int | None
    receiver_address: str
    receiver_tag: str | None
    refund_address: str | None
    refund_tag: str | None
    deposit_address: str | None
    deposit_tag: str | None
    failure_code: str | None = None
    attempt: int = 0
    """Consecutive questions without an answer of a venue; the back-off grows with it."""
    detail: dict[str, str | bool | None] = field(default_factory=dict)
    multi_id: str | None = None
    commission: Decimal | None = None
    """Dollars that its partner earns; set with status 4 (contract 12.7)."""
    deposit_account: str | None = None
    told: bool = True
    """False until the payment of its create is settled.

    The order is carried out, and announced to nobody (contract 14.8). Only the settlement changes
    it.
    """

    def text(self, name: str) -> str | None:
        value = self.detail.get(name)
        return value if isinstance(value, str) else None

    def amount(self, name: str) -> Decimal | None:
        value = self.text(name)
        return None if value is None else Decimal(value)


class ListedOrder(Struct):
    service_id: str
    version: int
    read: Callable[[], StoredOrder]


class OutboxRow(Struct, frozen=True):
    """A state change to deliver, in commit order; ``version`` is the order's after it."""

    sequence: int
    service_id: str
    partner_id: str
    version: int
    status: int
    rank: int


class Usage(Struct, frozen=True):
    """Calls of one partner and rate class in window ``number`` of ``seconds`` since 1970."""

    partner_id: str
    rate_class: str
    seconds: int
    number: int
    used: int


class Counting(Protocol):
    """Calls about to count in the windows of ``counted`` and of their class."""

    @property
    def counted(self) -> str: ...

    @property
    def rate_class(self) -> str: ...

    def take(self, usage: list[Usage]) -> list[Usage]:
        """Returns the new counts. Raises what refuses the calls; then nothing is written."""
        ...


class RecentPayouts(Struct, frozen=True):
    """Payout sources of a partner's newest private orders since a time, at most ``limit``: venue
    code and hot wallet of each last leg.
    """

    partner_id: str
    since: datetime
    limit: int
    wallets: tuple[tuple[str, int], ...]


class Sums(Struct, frozen=True, kw_only=True):
    """Totals of a partner's finished orders, in dollars.

    ``commission`` includes reversals; ``entries`` counts positive commissions.
    """

    orders: int = 0
    private: int = 0
    volume: Decimal = Decimal(0)
    commission: Decimal = Decimal(0)
    entries: int = 0


class DaySum(Sums, frozen=True, kw_only=True):
    """Totals of the orders that were finished on one UTC day."""

    day: date


BundleState = Literal["pending", "submitted", "confirmed", "failed", "withdrawn"]


class StoredGroup(Struct, frozen=True):
    """Orders that were created together; ``chain`` is the one they all sell on, by short name."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


class StoredBatch(Struct, frozen=True):
    """A UserOperation of a bundle and the orders whose deposits it pays.

    ``operation`` is its form in JSON-RPC, without signature; ``version`` is that of the EntryPoint,
    by which ``hash`` is signed. ``paid`` once its calls were made.
    """

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    version: str
    signature: str | None = None
    paid: bool = False


class StoredBundle(Struct, frozen=True):
    """A bundle that funds a group, and its state; ``number`` is 0 until it is stored.

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
        return frozenset(service_id for batch in self.batches for service_id in batch.service_ids)

    @property
    def claimed(self) -> frozenset[str]:
        """Orders that no other bundle may pay: this one has, or still may."""
        if self.state in ("submitted", "confirmed"):
            return self.service_ids
        return frozenset(
            service_id for batch in self.batches if batch.paid for service_id in batch.service_ids
        )


class BundleUnderWay(Exception):
    """Another bundle pays some of these orders already."""


class QuoteConsumed(Exception):
    """The quote was consumed before: ``service_id`` is the order it became."""

    def __init__(self, service_id: str) -> None:
        super().__init__(service_id)
        self.service_id = service_id


class QuoteGone(Exception):
    """The quote is not in the store: unknown, foreign or deleted after it expired."""


class PayoutsChanged(Exception):
    """Another order was begun since the recent payouts were read."""
