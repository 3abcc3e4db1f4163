"""Where the deposit of an order went: told once nobody may pay there any more.

A service repeats the address and the memo of an order as long as it likes; those that it said when
the order was created stay in the journal, and what a bundle paid stands with the bundle. An address
that must not be paid is told for a payment of this desk alone, or once the order is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.flows.journal.folding import display_of, ended
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.tracked_order import TrackedOrder

ARRIVED = "the deposit arrived there; do not send to it again"
ON_ITS_WAY = "this desk sent the deposit there; do not send to it again"


@dataclass(frozen=True)
class PaidPlace:
    """``memo`` went along with the deposit; ``arrived``: the service has seen it."""

    address: str
    memo: str | None
    arrived: bool

    @property
    def warning(self) -> str:
        """A part of a sentence, that nobody takes the address for one to pay to."""
        return ARRIVED if self.arrived else ON_ITS_WAY


def paid_place(tracked: TrackedOrder, made: Sequence[OrderTransaction]) -> PaidPlace | None:
    """None where nothing was paid as far as anybody knows, or the place is not known."""
    order, own = tracked.order, own_payment(made)
    arrived = deposit_arrived(order)
    hidden = tracked.withheld is not None and not ended(display_of(order))
    if order.is_dex or (own is None and (hidden or not arrived)):
        return None
    address = own.address if own is not None and own.address else order.deposit_address
    if address is None:
        return None
    memo = order.deposit_tag if address == order.deposit_address else None
    return PaidPlace(address, memo, arrived)
