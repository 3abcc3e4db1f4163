"""An order as this desk knows it: the service's state, the confirmed intent, its payments, and
whether its address may be shown."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.intents.intent import DepositRelease, Intent, ReleaseVerdict
from swapdesk.flows.orders.order_fields import (
    Proceeds,
    deposit_arrived,
    proceeds,
    short_id,
    symbols,
)
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain, Source
from swapdesk.flows.orders.payment_progress import (
    BatchPayment,
    SwapPayment,
)
from swapdesk.flows.orders.situations import STRANDED, deposit_on_chain, situation_of, unseen_match
from swapdesk.wire.orders import Order

KNOWN_TO_API = timedelta(hours=48)
"""How long the service answers requests about an order (contract 8.18)."""
FRESH = timedelta(minutes=2)
"""How long the last answer about an order older than :data:`KNOWN_TO_API` counts as current."""


class TrackedOrder(Struct, frozen=True):
    """An order as this desk knows it. ``withheld`` is a sentence that says why the deposit address
    must stay hidden; None if it may be shown."""

    order: Order
    intent: Intent | None
    withheld: str | None
    ended: bool
    seen_at: datetime
    source: Source
    standing: DepositRelease = DepositRelease.RELEASED
    accepted: Decimal | None = None
    """The lower output that the user accepted after confirming, in the received token."""
    in_batch: bool = False
    """True if a batch of this desk created the order, so that its bundle pays it and nobody pays by
    hand."""
    batch_payment: BatchPayment | None = None
    """The payment by the batch's bundle; None once the service has seen the deposit."""
    swap_payment: SwapPayment | None = None
    """The transaction of a swap on a chain; None once the service has seen it."""
    away: str | None = None
    """The ``trouble`` that the order's owner marked as dealt with."""
    own_payment: OrderTransaction | None = None
    """The deposit that this desk sent; None once the service has seen it."""
    payments: tuple[PaidOnChain, ...] = ()
    """Payments to the order's deposit address that were looked up on chains."""
    paid_at: datetime | None = None
    """When the service saw the deposit; None if this desk does not know."""
    gone: bool = False
    """True if the service's last answer did not know or list the order."""

    @property
    def verdict(self) -> ReleaseVerdict:
        return ReleaseVerdict(self.standing, self.withheld)

    def judged(self, verdict: ReleaseVerdict) -> TrackedOrder:
        return replace(self, standing=verdict.standing, withheld=verdict.withheld)

    @property
    def service_id(self) -> str:
        return self.order.service_id

    @property
    def short_id(self) -> str:
        return short_id(self.order.service_id)

    @property
    def being_confirmed(self) -> bool:
        """True if the order was made here and its address is hidden only until the service has
        repeated it."""
        return self.withheld is not None and self.standing is DepositRelease.UNREPEATED

    @property
    def awaits_address(self) -> bool:
        """True if the order was made here and the service has not assigned a deposit address
        yet."""
        return self.being_confirmed and self.order.deposit_address is None

    @property
    def not_signed(self) -> bool:
        """True for a swap on chains that was not signed and never will be."""
        return self.swap_payment is not None and self.swap_payment.failure == "not-signed"

    @property
    def trouble(self) -> str | None:
        """The code of a failure that the order's owner has to deal with: stuck money, or a
        transaction that failed on the chain. None if there is no such failure."""
        swap = self.swap_payment
        if swap is not None and swap.failure is not None and not self.not_signed:
            return swap.failure
        if not ended(display_of(self.order)):
            return None
        situation = unseen_match(self.order, self.deposit) or situation_of(self.order)
        return situation.code if situation in STRANDED else None

    @property
    def put_away(self) -> bool:
        return self.away is not None and self.away == self.trouble

    @property
    def recipient_label(self) -> str | None:
        return self.intent.recipient_label if self.intent is not None else None

    @property
    def symbols(self) -> tuple[str, str]:
        return symbols(self.order, self.intent)

    @property
    def proceeds(self) -> Proceeds:
        return proceeds(self.order, self.intent)

    @property
    def deposit(self) -> PaidOnChain | None:
        """The deposit as chains show it, added up to one payment."""
        return deposit_on_chain(self.order, self.payments) if self.payments else None

    @property
    def begun(self) -> datetime | None:
        """The time from which the order's duration counts: when its deposit came, else when it was
        created."""
        created, deposit = self.order.created, self.deposit
        if created is None or not deposit_arrived(self.order):
            return created
        shown = deposit.at if deposit is not None and deposit.moved else None
        return max(shown or self.paid_at or created, created)

    def archived(self, now: datetime) -> bool:
        return self.order.created is not None and now - self.order.created > KNOWN_TO_API

    def out_of_reach(self, now: datetime) -> bool:
        """Returns whether the service can no longer be asked about the order: it does not know the
        order, or the order is older than 48 hours and the last answer is not fresh."""
        return self.gone or (self.archived(now) and now - self.seen_at > FRESH)

    def beyond(self, now: datetime) -> str:
        """Returns why the service can no longer be asked about the order, as part of a sentence."""
        if self.archived(now):
            return "it is older than 48 h"
        return "the service knows no such order of this account"
