"""Which transaction paid the deposit of an order: the one this desk sent, else the one the service
named as that. Of no other transaction it is said."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.flows.journal.order_hashes import linked_deposit
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Role
from swapdesk.wire.orders import Order

_PAYS = frozenset({Role.DEPOSIT, Role.BUNDLE})


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
