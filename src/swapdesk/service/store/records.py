"""What the service keeps, and what it asks of its store, whatever database stands behind it.

Quotes, orders, their changes, groups, bundles and counts. Every write of ``Store`` is one durable
transaction with its outbox rows; a method returns after the commit. State moves by
compare-and-set only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from swapdesk.service.access import StoredPartner

Route = Literal["standard", "private", "dex"]
"""The route types of quotes and orders (contract 1.25)."""

CentralizedRoute = Literal["standard", "private"]


class RouteChoice(Struct, frozen=True):
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


class SwapTerms(Struct, frozen=True, kw_only=True):
    """What a quote promises, and what its order keeps of it; a fallback keeps to it.

    ``legs`` names the venue codes in the order of the money: one for standard, two for
    private. ``middle_token_id`` and ``middle_amount`` describe the hop of a private route.
    ``receive`` tells that the amount asked for was what shall arrive; ``markup`` is the
    percentage the route was priced with; ``rates`` names the promise of each leg's venue on
    fixed terms; ``payout_wallet`` is the hot wallet, by index, that the last leg's venue shall
    pay from. ``plan`` is what an on-chain venue promised, as JSON; its venue alone reads it.
    """

    quote_id: str
    partner_id: str
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
    fixed: bool = False
    receive: bool = False
    markup: Decimal = Decimal(0)
    rates: tuple[str | None, ...] = ()
    payout_wallet: int | None = None
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


class OrderFilter(Struct, frozen=True):
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


class PartnerBook(Struct, frozen=True):
    """The days of a partner that something happened on, oldest first, and what was paid out by
    month of the earnings (``YYYY-MM``), in dollars."""

    days: tuple[DaySum, ...]
    paid: dict[str, Decimal]


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


class StoreUnavailable(Exception):
    """The store did not answer; nothing is known to have changed."""


class Store(Protocol):
    """Durable state of the service. Any method raises StoreUnavailable when it cannot answer."""

    async def save_quotes(self, quotes: Sequence[StoredQuote]) -> None: ...

    async def get_quote(self, partner_id: str, quote_id: str) -> StoredQuote | None: ...

    async def owner_of_quote(self, quote_id: str) -> str | None:
        """Id of the partner whose quote it is, or was before it became an order."""
        ...

    async def drop_quotes(self, expired_before: datetime) -> int: ...

    async def begin_order(
        self,
        order: StoredOrder,
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
    ) -> None:
        """Consume the quote, insert the order and count the call in one commit. With a ``payment``
        nobody is told of the order until that is settled.

        Raises QuoteConsumed, or QuoteGone for a quote of nobody or of another partner;
        PayoutsChanged when ``payouts``, which the order's wallet was chosen by, are no longer the
        newest; what refuses the call.
        """
        ...

    async def begin_group(
        self,
        group: StoredGroup,
        orders: Sequence[StoredOrder],
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
    ) -> None:
        """Insert a group and its orders, which have no stored quote, and count the call, in one
        commit. Raises PayoutsChanged and what refuses the call; ``payment`` as ``begin_order``."""
        ...

    async def get_group(self, partner_id: str, multi_id: str) -> StoredGroup | None:
        """None, too, while its create is not paid."""
        ...

    async def owner_of_group(self, multi_id: str) -> str | None:
        """Id of the partner whose group it is."""
        ...

    async def orders_of_group(self, partner_id: str, multi_id: str) -> list[StoredOrder]:
        """In the order they were asked for; for whoever found the group, or has just made it."""
        ...

    async def save_bundle(self, bundle: StoredBundle) -> None:
        """Keep a pending bundle in place of the group's other pending one.

        Raises BundleUnderWay when one that was submitted, or paid, has an order in common.
        """
        ...

    async def bundles_of_group(self, partner_id: str, multi_id: str) -> list[StoredBundle]:
        """Newest first."""
        ...

    async def move_bundle(self, bundle: StoredBundle, *, expected: BundleState) -> bool:
        """Write what became of a bundle; False when it was in another state, or is gone."""
        ...

    async def bundles_under_way(self) -> list[StoredBundle]:
        """Everybody's that were submitted and have no outcome, oldest first."""
        ...

    async def order_of_quote(self, partner_id: str, quote_id: str) -> StoredOrder | None:
        """The one order a quote became, also after the quote itself was dropped: for its create,
        whether or not it is paid."""
        ...

    async def advance_order(self, order: StoredOrder, *, expected_version: int) -> bool:
        """Write the new state, its outbox row and ``expected_version + 1``, and end the lease.

        False when someone was first, the rank would fall, or the transaction the order was
        confirmed with is another order's already.
        """
        ...

    async def postpone_order(
        self, service_id: str, *, owner: str, due_at: datetime | None, attempt: int
    ) -> None:
        """End the owner's lease without a change of state and look again at ``due_at``."""
        ...

    async def get_order(self, partner_id: str, service_id: str) -> StoredOrder | None:
        """The order, if it is the partner's and its create is paid."""
        ...

    async def current_order(self, service_id: str) -> StoredOrder | None:
        """As it stands, whoever's it is and whether or not its create is paid: for whoever carries
        it out."""
        ...

    async def order_of_transaction(self, chain: str, transaction: str) -> str | None:
        """Id of the DEX order that this transaction was confirmed for, whoever's it is."""
        ...

    async def gave_out(self, account: str, since: datetime) -> bool:
        """Whether an order that was created since then has this deposit account, whoever's it is
        and whatever became of it."""
        ...

    async def order_version(self, partner_id: str, service_id: str) -> tuple[int, datetime] | None:
        """The version of an order as it stands and when it was created, read anew each time; None
        where ``get_order`` finds none."""
        ...

    async def recent_payouts(
        self, partner_id: str, since: datetime, limit: int
    ) -> RecentPayouts: ...

    async def list_orders(self, wanted: OrderFilter) -> tuple[list[ListedOrder], int]:
        """One page and the total of all pages, of orders whose create is paid."""
        ...

    async def claim_due(
        self, now: datetime, *, owner: str, lease_until: datetime, limit: int
    ) -> list[StoredOrder]:
        """Rows whose ``due_at`` has come and that nobody else leases."""
        ...

    async def next_due(self) -> datetime | None: ...

    async def reserve_payment(self, payment: str, ends: datetime) -> bool:
        """Write down that a payment serves a call; False when it has served one already."""
        ...

    async def free_payment(self, payment: str) -> None:
        """Take that back, unless it was settled."""
        ...

    async def pay_for(self, payment: str, service_id: str) -> None:
        """Let a payment that is reserved be for an order that was begun before."""
        ...

    async def note_payment_sent(self, payment: str, transaction: str) -> None:
        """Write down the transaction of a payment before a chain hears of it."""
        ...

    async def payments_under_way(self, ended_after: datetime) -> list[tuple[str, str]]:
        """Those that were sent and not settled, except for those that ended by then: each with
        its transaction."""
        ...

    async def settle_payment(self, payment: str, transaction: str) -> None:
        """Write down that a payment is made. What it is for is told from here on, in the same
        commit: orders are announced as they stand, and count if they are finished."""
        ...

    async def drop_payments(self, ended_before: datetime) -> int: ...

    async def hasten_orders(self, service_ids: Sequence[str], now: datetime) -> None:
        """Make orders due that a worker looks at later. Unknown ones, those that are being opened
        and those that nobody looks at any more stay as they are."""
        ...

    async def note_webhook(self, source: str, event_id: str, ends: datetime) -> bool:
        """Remember an event until its signatures are too old; False when it is known."""
        ...

    async def drop_webhooks(self, now: datetime) -> int:
        """Forget events that have ended."""
        ...

    async def read_outbox(self, after: int, limit: int) -> list[OutboxRow]: ...

    async def last_outbox(self) -> int: ...

    async def outbox_beyond(self, sequence: int) -> None:
        """Return once there are rows after ``sequence``."""
        ...

    async def drop_outbox(self, committed_before: datetime) -> int: ...

    async def add_requests(self, month: str, counts: dict[str, int]) -> None:
        """Add to the request counters of partners for a month ``YYYY-MM``."""
        ...

    async def count_calls(self, call: Counting) -> None:
        """Write what ``call`` makes of the counts there are; between the two nobody else counts.
        Raises what refuses it."""
        ...

    async def free_calls(self, unused: Sequence[Usage]) -> None:
        """Take calls that were counted, and never made, out of the windows they counted in."""
        ...

    def usage(self, partner_id: str, rate_class: str) -> list[Usage]:
        """The counts as they stand; asked on the loop."""
        ...

    async def claim_scan(
        self, token_id: str, now: datetime, until: datetime
    ) -> tuple[bytes | None, bool]:
        """The verdict of a token as it stands, as its JSON on the wire. Where it is missing or
        stale and nobody else scans the token, the caller does, until then: True."""
        ...

    async def save_scan(self, token_id: str, verdict: bytes, expires: datetime) -> None:
        """Keep the newest security verdict of a token, as its JSON on the wire; ends the claim."""
        ...

    async def load_scans(self) -> list[tuple[str, bytes]]:
        """Token ids and verdicts."""
        ...

    async def requests_in_month(self, partner_id: str, month: str) -> int: ...

    async def partner_book(self, partner_id: str) -> PartnerBook:
        """Sums that moved in the transactions that finished the orders."""
        ...

    def partner_changes(self) -> int:
        """How often accounts and keys were changed, by whichever process; asked on the loop."""
        ...

    async def read_partners(self) -> tuple[int, tuple[StoredPartner, ...]]:
        """All accounts at one moment, behind the number of changes until then."""
        ...

    async def add_partners(self, partners: Sequence[StoredPartner]) -> None:
        """Write the accounts and keys that are not there yet."""
        ...

    async def close(self) -> None: ...
