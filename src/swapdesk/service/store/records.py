"""The records that the store reads and writes: quotes, orders, changes of orders, groups, bundles,
counts of calls, and sums."""

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
    """The routes that a request allows, even if its order changes the route later, and the rotation
    of payout wallets. Filters are provider codes; None allows all (contract 6.15 to 6.17)."""

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
        """Returns whether the filters allow a route over these venues, one for a standard and two
        for a private route."""
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
    """A route and its price. ``legs`` are venue codes: one, or two for a private route, with
    ``middle_amount`` paid between them. ``minutes`` covers all legs. ``markup``, in percent, is
    part of the last leg's price."""

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
    """The terms that a quote promises and its order keeps on every route. ``receive`` is True if
    the request named the amount to receive. ``plan`` is an on-chain venue's promise, as JSON."""

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
    """Dollars that an on-chain venue keeps; None for other venues, or if unknown."""


class StoredQuote(SwapTerms, frozen=True, kw_only=True):
    """A priced quote, kept until 15 minutes after it expires. A ``filtered`` quote is never
    executed."""

    purpose: Literal["exchange", "private_send"]
    consumed_by: str | None = None
    requires_refund_address: bool = False
    filtered: bool = False


class StoredOrder(SwapTerms, frozen=True, kw_only=True):
    """An order as stored, with all that a worker needs to continue it. ``rank`` never falls;
    ``version`` is for compare-and-set. If ``due_at`` is None, no worker handles the order again.
    ``detail`` holds JSON values that have no column."""

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
    """How often in a row a venue did not answer about this order; later questions are delayed."""
    detail: dict[str, str | bool | None] = field(default_factory=dict)
    multi_id: str | None = None
    commission: Decimal | None = None
    """Dollars that the finished order earns its partner (contract 12.7); None before."""
    deposit_account: str | None = None
    told: bool = True
    """False until the call that created the order is paid for. Until then the order is carried out
    but announced to nobody (contract 14.8)."""

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
    """A change of an order's state that is to be announced. ``version`` is the order's new
    version."""

    sequence: int
    service_id: str
    partner_id: str
    version: int
    status: int
    rank: int


class Usage(Struct, frozen=True):
    """The number of calls of one partner and rate class in one rate-limit window. ``seconds`` is
    the length of the window; ``number`` is its number, counted from 1970."""

    partner_id: str
    rate_class: str
    seconds: int
    number: int
    used: int


class Counting(Protocol):
    """Calls that are to be counted under the name ``counted``. A partner's calls with an API key
    and calls with ``partner-id`` alone are counted apart."""

    @property
    def counted(self) -> str: ...

    @property
    def rate_class(self) -> str: ...

    def take(self, usage: list[Usage]) -> list[Usage]:
        """Returns the new counts, given those in the store. If it raises, the calls are refused and
        the store is unchanged."""
        ...


class RecentPayouts(Struct, frozen=True):
    """The wallets that paid out a partner's newest private orders, each as (venue code, index of
    the hot wallet). At most ``limit`` orders, created at ``since`` or later, were considered."""

    partner_id: str
    since: datetime
    limit: int
    wallets: tuple[tuple[str, int], ...]


class Sums(Struct, frozen=True, kw_only=True):
    """Totals of a partner's finished orders. ``entries`` is the number of orders that earned a
    commission. ``volume`` and ``commission`` are dollars; reversals are deducted from
    ``commission``."""

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
    """A batch of orders that were created together. ``chain`` is the chain of the tokens that the
    orders sell."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


class StoredBatch(Struct, frozen=True):
    """A UserOperation (ERC-4337) of a bundle, as JSON without signature, and the orders whose
    deposits it pays. ``version``, the EntryPoint's, determines how ``hash`` is signed. ``paid`` is
    True if the operation's calls succeeded."""

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    version: str
    signature: str | None = None
    paid: bool = False


class StoredBundle(Struct, frozen=True):
    """A bundle that pays the deposits of a batch. ``number`` is 0 until the bundle is stored.
    ``expires`` is when the first of its orders expires."""

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
        """The ids of all orders that the bundle pays."""
        return frozenset(service_id for batch in self.batches for service_id in batch.service_ids)

    @property
    def claimed(self) -> frozenset[str]:
        """The ids of orders that this bundle has paid or may still pay. No other bundle may pay
        these orders."""
        if self.state in ("submitted", "confirmed"):
            return self.service_ids
        return frozenset(
            service_id for batch in self.batches if batch.paid for service_id in batch.service_ids
        )


class BundleUnderWay(Exception):
    """Raised if another bundle has paid, or may still pay, an order of the bundle to be stored."""


class QuoteConsumed(Exception):
    """Raised if the quote was consumed before, by the order ``service_id``."""

    def __init__(self, service_id: str) -> None:
        super().__init__(service_id)
        self.service_id = service_id


class QuoteGone(Exception):
    """Raised if the quote is unknown, another partner's, or was deleted after it expired."""


class PayoutsChanged(Exception):
    """Raised if the payouts from which a payout wallet was chosen are out of date, because another
    order was begun since."""
