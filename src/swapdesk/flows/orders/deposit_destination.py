"""Which transaction paid the deposit of an order: the one this desk sent, else the one the service
named as that. Of no other transaction it is said.

Where the deposit of an order went: told once nobody may pay there any more.

A service repeats the address and the memo of an order as long as it likes; those that it said when
the order was created stay in the journal, and what a bundle paid stands with the bundle. An address
that must not be paid is told for a payment of this desk alone, or once the order is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.flows.journal.order_merge import display_of, ended, linked_deposit
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, TransactionRole
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import Order

_PAYS = frozenset({TransactionRole.DEPOSIT, TransactionRole.BUNDLE})


def own_payment(made: Sequence[OrderTransaction]) -> OrderTransaction | None:
    """What this desk sent to pay the deposit, unless it failed; None where it sent nothing."""
    paid = (one for one in made[::-1] if one.own and one.role in _PAYS)
    return next((one for one in paid if one.fate is not Fate.FAILED), None)


def named_deposit(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """What the service names as the deposit's transaction, or named before."""
    named = (one.hash for one in made if one.fate is Fate.SEEN)
    return next(named, None) or linked_deposit(order)


def deposit_hash(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """The hash of the transaction that paid the deposit, or was sent to."""
    own = own_payment(made)
    return own.hash if own is not None else named_deposit(order, made)


def other_deposit(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """What the service names where that is another transaction than this desk sent."""
    own, named = own_payment(made), named_deposit(order, made)
    if own is None or named is None or _folded(own.hash) == _folded(named):
        return None
    return named


def _folded(hash_: str) -> str:
    """Hexadecimal is the same in any case, base58 is not."""
    return hash_.lower() if hash_[:2] in ("0x", "0X") else hash_


ARRIVED = "the deposit arrived there; do not send to it again"
ON_ITS_WAY = "this desk sent the deposit there; do not send to it again"


@dataclass(frozen=True)
class DepositDestination:
    """``memo`` went along with the deposit; ``arrived``: the service has seen it."""

    address: str
    memo: str | None
    arrived: bool

    @property
    def warning(self) -> str:
        """A part of a sentence, that nobody takes the address for one to pay to."""
        return ARRIVED if self.arrived else ON_ITS_WAY


def deposit_destination(
    tracked: TrackedOrder, made: Sequence[OrderTransaction]
) -> DepositDestination | None:
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
    return DepositDestination(address, memo, arrived)
