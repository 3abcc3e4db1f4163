"""One order as the desk knows it: the service's word, what was confirmed, and what stands."""

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
"""How long the service answers for an order (contract 8.18)."""
FRESH = timedelta(minutes=2)
"""For so long what the service said of an older one all the same stands for the present."""


class TrackedOrder(Struct, frozen=True):
    """One order with all that is known: ``withheld`` says why its address must stay hidden."""

    order: Order
    intent: Intent | None
    withheld: str | None
    ended: bool
    seen_at: datetime
    source: Source
    standing: DepositRelease = DepositRelease.RELEASED
    accepted: Decimal | None = None
    """Output below the confirmed one that the user accepted since, in the token received."""
    in_batch: bool = False
    """Whether a batch of this desk created it: its bundle pays it, and nobody by hand."""
    batch_payment: BatchPayment | None = None
    """How far that is, as long as the service has not seen the deposit."""
    swap_payment: SwapPayment | None = None
    """Of a swap on chains: how far its transaction is, as long as the service has not seen it."""
    away: str | None = None
    """The trouble in which its owner put it away."""
    own_payment: OrderTransaction | None = None
    """What this desk sent to pay the deposit, for as long as the service has not seen that."""
    payments: tuple[PaidOnChain, ...] = ()
    """What chains showed of its deposit, where somebody looked."""
    paid_at: datetime | None = None
    """When the service saw its deposit; None before, and where this desk did not learn that."""
    gone: bool = False
    """Whether the service did not know it, or did not list it, when it was asked last."""

    @property
    def verdict(self) -> ReleaseVerdict:
        """Whether its deposit address may be shown, as one value."""
        return ReleaseVerdict(self.standing, self.withheld)

    def judged(self, verdict: ReleaseVerdict) -> TrackedOrder:
        """The same under another verdict."""
        return replace(self, standing=verdict.standing, withheld=verdict.withheld)

    @property
    def service_id(self) -> str:
        return self.order.service_id

    @property
    def short_id(self) -> str:
        return short_id(self.order.service_id)

    @property
    def being_confirmed(self) -> bool:
        """Made here and hidden only until the service has repeated it; nobody refused it."""
        return self.withheld is not None and self.standing is DepositRelease.UNREPEATED

    @property
    def awaits_address(self) -> bool:
        """The service has still to give the deposit address of an order made here."""
        return self.being_confirmed and self.order.deposit_address is None

    @property
    def not_signed(self) -> bool:
        """Whether it is a swap on chains of which nothing was signed, and nothing will be."""
        return self.swap_payment is not None and self.swap_payment.failure == "not-signed"

    @property
    def trouble(self) -> str | None:
        """How it failed, where it holds its owner up until that is dealt with: its money is stuck,
        or its transaction failed on the chain. None for every other order."""
        swap = self.swap_payment
        if swap is not None and swap.failure is not None and not self.not_signed:
            return swap.failure
        if not ended(display_of(self.order)):
            return None
        found = unseen_match(self.order, self.deposit) or situation_of(self.order)
        return found.code if found in STRANDED else None

    @property
    def put_away(self) -> bool:
        """Whether its owner dealt with what is the matter now."""
        return self.away is not None and self.away == self.trouble

    @property
    def symbols(self) -> tuple[str, str]:
        """What the sent and the received token are called."""
        return symbols(self.order, self.intent)

    @property
    def proceeds(self) -> Proceeds:
        """What came of it, or is to come of it."""
        return proceeds(self.order, self.intent)

    @property
    def deposit(self) -> PaidOnChain | None:
        """What chains show of its deposit, as one payment."""
        return deposit_on_chain(self.order, self.payments) if self.payments else None

    @property
    def begun(self) -> datetime | None:
        """From when its time counts: from its deposit, from its creation where nobody knows
        that."""
        created, deposit = self.order.created, self.deposit
        if created is None or not deposit_arrived(self.order):
            return created
        shown = deposit.at if deposit is not None and deposit.moved else None
        return max(shown or self.paid_at or created, created)

    def archived(self, now: datetime) -> bool:
        """Whether the service no longer answers for it."""
        return self.order.created is not None and now - self.order.created > KNOWN_TO_API

    def out_of_reach(self, now: datetime) -> bool:
        """Whether the service cannot be asked for it any more: it does not know it, or it is too
        old and was last heard of a while ago."""
        return self.gone or (self.archived(now) and now - self.seen_at > FRESH)

    def beyond(self, now: datetime) -> str:
        """Why it cannot, as a part of a sentence."""
        if self.archived(now):
            return "it is older than 48 h"
        return "the service knows no such order of this account"
