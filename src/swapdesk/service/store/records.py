"""What the service keeps: quotes, orders, their changes, groups, bundles, counts and sums."""

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


class RouteTerms(Struct, frozen=True, kw_only=True):
    """A route and its price.

    ``legs`` are venue codes in the order of the money: one on standard routes, two on private
    ones, which hop over ``middle_amount`` of the token ``middle_token_id``. ``minutes`` is the
    estimate for all legs. ``rates`` name the promise of each venue on fixed terms;
    ``payout_wallet`` is the hot wallet, by index, that the last venue shall pay from; ``markup``
    is the percentage that the last leg was priced with.
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
        """These fields by name, to be given to a quote or an order."""
        return {name: getattr(self, name) for name in RouteTerms.__struct_fields__}


class SwapTerms(RouteTerms, frozen=True, kw_only=True):
    """What a quote promises, and what its order keeps of it; a fallback keeps to it.

    ``receive``: the amount asked for is what shall arrive. ``plan`` is what an on-chain venue
    promised, as JSON; its venue alone reads it.
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
    """What an on-chain venue keeps of the swap, in dollars; other venues state a rate."""


class StoredQuote(SwapTerms, frozen=True, kw_only=True):
    """A quote as it was priced, kept until 15 minutes after it expires.

    ``expires`` is ``validUntil``. A ``filtered`` quote is never executed.
    """

    purpose: Literal["exchange", "private_send"]
    consumed_by: str | None = None
    requires_refund_address: bool = False
    filtered: bool = False


class StoredOrder(SwapTerms, frozen=True, kw_only=True):
    """The order row, which is the workflow.

    ``status``, ``in_status`` and ``out_status`` are the numbers of the wire; ``rank`` orders
    displayed states and only grows; ``version`` is the compare-and-set counter. ``due_at`` is
    when a worker looks next. ``failure_code`` is the answer a twin create gets when no venue
    opened. ``detail`` holds what has no column of its own, as JSON-ready values. ``multi_id``
    belongs to orders of a group.
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
    """How often in a row a venue gave no answer; the back-off grows with it."""
    detail: dict[str, str | bool | None] = field(default_factory=dict)
    multi_id: str | None = None
    commission: Decimal | None = None
    """What its partner earns, in dollars; set with status 4 (contract 12.7)."""
    deposit_account: str | None = None
    """What all spellings of the deposit address have in common."""
    told: bool = True
    """False until the payment of its create is settled: the order is carried out, and nobody is
    told anything about it (contract 14.8). Only the settlement changes it."""

    def text(self, name: str) -> str | None:
        """A text of ``detail``."""
        value = self.detail.get(name)
        return value if isinstance(value, str) else None

    def amount(self, name: str) -> Decimal | None:
        """An amount of ``detail``."""
        value = self.text(name)
        return None if value is None else Decimal(value)


class ListedOrder(Struct):
    """One order of a page; its row is read when it is asked for."""

    service_id: str
    version: int
    read: Callable[[], StoredOrder]


class OutboxRow(Struct, frozen=True):
    """One state change to deliver, in commit order; ``version`` is the order's after it."""

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
    """Calls that are about to count in the windows of ``counted`` and of their class."""

    @property
    def counted(self) -> str: ...

    @property
    def rate_class(self) -> str: ...

    def take(self, known: list[Usage]) -> list[Usage]:
        """What the counts become. Raises what refuses the calls; then nothing is written."""
        ...


class RecentPayouts(Struct, frozen=True):
    """What the newest private orders of a partner since a time, at most ``limit``, are paid from:
    venue code and hot wallet of each last leg."""

    partner_id: str
    since: datetime
    limit: int
    wallets: tuple[tuple[str, int], ...]


class Sums(Struct, frozen=True, kw_only=True):
    """What finished orders of a partner come to, in dollars.

    ``commission`` has the reversals in it; ``entries`` counts commissions above 0.
    """

    orders: int = 0
    private: int = 0
    volume: Decimal = Decimal(0)
    commission: Decimal = Decimal(0)
    entries: int = 0


class DaySum(Sums, frozen=True, kw_only=True):
    """Of the orders that were finished on one UTC day."""

    day: date


BundleState = Literal["pending", "submitted", "confirmed", "failed", "withdrawn"]


class StoredGroup(Struct, frozen=True):
    """Orders that were created together; ``chain`` is the one they all sell on, by short name."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


class StoredBatch(Struct, frozen=True):
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


class StoredBundle(Struct, frozen=True):
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


class QuoteConsumed(Exception):
    """The quote was consumed before: ``service_id`` is the order it became."""

    def __init__(self, service_id: str) -> None:
        super().__init__(service_id)
        self.service_id = service_id


class QuoteGone(Exception):
    """The quote is not in the store: unknown, foreign or dropped after it expired."""


class PayoutsChanged(Exception):
    """Another order was begun since the recent payouts were read."""
