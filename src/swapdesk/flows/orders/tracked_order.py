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
"""How long after its creation the service answers requests about an order (contract 8.18)."""
FRESH = timedelta(minutes=2)
"""How long the service's last answer about an order older than :data:`KNOWN_TO_API` counts as
current."""


class TrackedOrder(Struct, frozen=True):
    """An order as this desk knows it. ``withheld`` is why the deposit address must stay hidden;
    None if it may be shown."""

    order: Order
    intent: Intent | None
    withheld: str | None
    ended: bool
    seen_at: datetime
    source: Source
    standing: DepositRelease = DepositRelease.RELEASED
    accepted: Decimal | None = None
    """The lower output that the user accepted later, in units of the received token."""
    in_batch: bool = False
    """True if a batch of this desk pays the order, so that nobody may pay it singly."""
    batch_payment: BatchPayment | None = None
    """The payment by the batch's bundle, while the service has not seen the deposit."""
    swap_payment: SwapPayment | None = None
    """The payment of a DEX swap; None for any other order, and once the service has seen the
    transaction."""
    away: str | None = None
    """The ``trouble`` that the user marked as dealt with; None if the user marked none."""
    own_payment: OrderTransaction | None = None
    """The newest deposit that this desk sent, while the order waits for it."""
    payments: tuple[PaidOnChain, ...] = ()
    """Payments to the order's deposit address that were looked up on chains."""
    paid_at: datetime | None = None
    """When the service saw the deposit arrive; None if it has not, or if this desk missed the
    moment."""
    gone: bool = False
    """True if the service, when last asked, did not know or did not list the order."""

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
        """True if the deposit address of a confirmed order is hidden only until the service has
        repeated the address."""
        return self.withheld is not None and self.standing is DepositRelease.UNREPEATED

    @property
    def awaits_address(self) -> bool:
        """True if the order was confirmed here and the service has not assigned a deposit address
        yet."""
        return self.being_confirmed and self.order.deposit_address is None

    @property
    def not_signed(self) -> bool:
        return self.swap_payment is not None and self.swap_payment.failure == "not-signed"

    @property
    def trouble(self) -> str | None:
        """The code of a problem that the user has to deal with: money stuck after the end, or a
        transaction that failed on its chain. None if there is no such problem."""
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
        """The sum of the deposit's payments on chains. None if none was looked up."""
        return deposit_on_chain(self.order, self.payments) if self.payments else None

    @property
    def begun(self) -> datetime | None:
        """When the deposit arrived or, before that, when the order was created. None if unknown."""
        created, deposit = self.order.created, self.deposit
        if created is None or not deposit_arrived(self.order):
            return created
        shown = deposit.at if deposit is not None and deposit.moved else None
        return max(shown or self.paid_at or created, created)

    def archived(self, now: datetime) -> bool:
        return self.order.created is not None and now - self.order.created > KNOWN_TO_API

    def out_of_reach(self, now: datetime) -> bool:
        """Returns whether the service can no longer be asked about the order: it lost the order, or
        the order is older than 48 hours and this desk's last answer is older than :data:`FRESH`."""
        return self.gone or (self.archived(now) and now - self.seen_at > FRESH)

    def beyond(self, now: datetime) -> str:
        """Returns the reason why the service can no longer be asked about the order, as part of a
        sentence."""
        if self.archived(now):
            return "it is older than 48 h"
        return "the service knows no such order of this account"
