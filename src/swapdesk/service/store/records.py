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
    """The routes that a request asked for, and how their payout wallets are rotated. If the order
    moves to another route, that route has to fit this choice, too.

    A filter is a list of provider codes, and None allows every provider. ``swaps`` applies to
    standard routes; the four leg filters and ``use_xmr`` apply to private routes (contract 6.15 to
    6.17).
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
        """Returns True if the filters allow a route over these venues. ``legs`` are the venue codes
        of a standard route (one) or a private one (two)."""
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

    ``legs`` are venue codes in the order in which the money passes: one for a standard route, two
    for a private one. Between two legs ``middle_amount`` of the token ``middle_token_id`` is paid.
    ``minutes`` is the time estimate for all legs. ``rates`` identify the fixed rate at each venue.
    ``payout_wallet`` is the index of the hot wallet that the last venue shall pay from. ``markup``,
    in percent, is part of the last leg's price.
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
    """The terms that a quote promises and that its order keeps, even if the order moves to another
    route.

    ``receive`` is True if the request named the amount to receive instead of the amount to send.
    ``plan`` is what an on-chain venue promised, as JSON that only the code of that venue reads.
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
    """Dollars that an on-chain venue keeps of the swap; None for other venues, which state their
    fee as a rate, and if the value is unknown."""


class StoredQuote(SwapTerms, frozen=True, kw_only=True):
    """A priced quote, kept until 15 minutes after it expires.

    ``expires`` is ``validUntil`` of the API. A ``filtered`` quote is never executed.
    """

    purpose: Literal["exchange", "private_send"]
    consumed_by: str | None = None
    requires_refund_address: bool = False
    filtered: bool = False


class StoredOrder(SwapTerms, frozen=True, kw_only=True):
    """An order as stored. The row is also the state of the order's workflow, so any worker can
    continue the order from it.

    ``status``, ``in_status`` and ``out_status`` are the API's numbers for the order and its legs.
    ``rank`` is the progress of the displayed state and never gets smaller. ``version`` is the
    counter for compare-and-set. ``due_at`` is when a worker looks at the order next; None for
    never.

    ``failure_code`` is the error that answers a repeated create request if no venue opened the
    order. ``detail`` holds JSON values that have no column of their own. ``multi_id`` is the id of
    the order's group; None if it has none.
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
    """Number of times in a row that a venue did not answer a question about this order. The larger
    it is, the longer the worker waits before it asks again."""
    detail: dict[str, str | bool | None] = field(default_factory=dict)
    multi_id: str | None = None
    commission: Decimal | None = None
    """Dollars that the order earns its partner, set when it is finished, status 4 (contract
    12.7)."""
    deposit_account: str | None = None
    told: bool = True
    """False until the call that created the order is paid for, if it has to be; nothing else
    changes this field. While it is False, the order is carried out but announced to nobody
    (contract 14.8)."""

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
    """A change of an order's state, which is to be announced. ``version`` is the order's version
    after the change."""

    sequence: int
    service_id: str
    partner_id: str
    version: int
    status: int
    rank: int


class Usage(Struct, frozen=True):
    """The number of calls (``used``) of one partner and rate class in one rate-limit window.

    Time since 1970 is divided into windows of ``seconds`` seconds each, and ``number`` is the
    number of the window.
    """

    partner_id: str
    rate_class: str
    seconds: int
    number: int
    used: int


class Counting(Protocol):
    """Calls that are about to be counted, in the rate-limit windows of ``rate_class``. ``counted``
    names whose windows these are. A partner has one set for calls with an API key, and another for
    calls with ``partner-id`` alone."""

    @property
    def counted(self) -> str: ...

    @property
    def rate_class(self) -> str: ...

    def take(self, usage: list[Usage]) -> list[Usage]:
        """Returns the new counts, computed from the counts in ``usage``, which are read from the
        store. If the method raises, the calls are refused and the store is not changed."""
        ...


class RecentPayouts(Struct, frozen=True):
    """The wallets that paid out a partner's newest private orders, of at most ``limit`` orders
    created since ``since``. Each wallet is a pair: the code of the venue that pays the receiver,
    and the index of its hot wallet."""

    partner_id: str
    since: datetime
    limit: int
    wallets: tuple[tuple[str, int], ...]


class Sums(Struct, frozen=True, kw_only=True):
    """Totals of a partner's finished orders. ``private`` is the number of private orders among
    them, ``entries`` the number of orders that earned a commission.

    ``volume`` and ``commission`` are in dollars; reversals are subtracted from ``commission``.
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
    """Orders that were created together. ``chain`` is the short name of the chain on which all of
    them sell."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


class StoredBatch(Struct, frozen=True):
    """A UserOperation (ERC-4337) of a bundle, and the orders whose deposits it pays.

    ``operation`` is the operation in the form that JSON-RPC uses, without its signature.
    ``version`` is the version of the EntryPoint contract, which decides how ``hash`` is signed.
    ``paid`` is True if the operation's calls were made successfully.
    """

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    version: str
    signature: str | None = None
    paid: bool = False


class StoredBundle(Struct, frozen=True):
    """A bundle that pays the deposits of a group, and its state.

    ``number`` is 0 until the bundle is stored. ``owner`` signs for the smart account. ``expires``
    is when the first of the bundle's orders expires.
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
        """The ids of all orders that the bundle pays."""
        return frozenset(service_id for batch in self.batches for service_id in batch.service_ids)

    @property
    def claimed(self) -> frozenset[str]:
        """The ids of orders that no other bundle may pay, because this bundle has paid them or may
        still pay them."""
        if self.state in ("submitted", "confirmed"):
            return self.service_ids
        return frozenset(
            service_id for batch in self.batches if batch.paid for service_id in batch.service_ids
        )


class BundleUnderWay(Exception):
    """Raised if another bundle has paid, or may still pay, an order of the bundle to be stored."""


class QuoteConsumed(Exception):
    """Raised if the quote was consumed before; ``service_id`` is the order that it became."""

    def __init__(self, service_id: str) -> None:
        super().__init__(service_id)
        self.service_id = service_id


class QuoteGone(Exception):
    """Raised if the quote is not in the store: it is unknown, another partner's, or was deleted
    after it expired."""


class PayoutsChanged(Exception):
    """Raised if the recent payouts, by which a payout wallet was chosen, are out of date because
    another order was begun since."""
