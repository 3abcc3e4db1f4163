"""Reads from the journal the state of payments that this desk makes: the bundle of a batch, the
deposit of a single order, the transaction of a DEX swap. The service says only that these orders
wait."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol, TypeVar

from msgspec.structs import replace

from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.creation.creates import acts_of
from swapdesk.flows.intents.intent import IN_BATCH_TEXT, DepositRelease, Intent
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import EXECUTED_IN_VAIN, Ledger, Operation, State
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.payment_progress import BatchPayment, SwapFailure, SwapPayment, venue_of
from swapdesk.flows.orders.told_transaction import NotThisSwap, settled_by_venue, told_by
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import DisplayStatus, Order

log = logging.getLogger(__name__)

T = TypeVar("T")


def told_by_journal(ask: Callable[[], T], otherwise: T) -> T:
    """Returns the result of ``ask``, which reads the journal, or ``otherwise`` if the journal
    cannot be read."""
    try:
        return ask()
    except JournalUnavailable as error:
        log.error("the journal cannot be read: %s", error)
        return otherwise


class BatchPayments(Protocol):
    """Reads from the journal how far batches have paid their orders. Methods return None for orders
    of another desk, and may raise JournalUnavailable."""

    def mark(self, multi_id: str) -> object | None:
        """Returns a value that changes when the payment of the batch ``multi_id`` changes."""

    def of(self, multi_id: str, service_id: str) -> BatchPayment | None:
        """Returns how far the deposit of one order of a batch is paid."""


class BatchedOrders:
    """The orders created by batches (files with many recipients) of this desk, with their payments
    in the journal."""

    def __init__(self, ledger: Ledger, payments: BatchPayments) -> None:
        self._ledger = ledger
        self._payments = payments
        self._groups: dict[str, set[str]] = {}
        """By group, the orders whose payment by a bundle the service has not seen yet."""
        self._marks: dict[str, object] = {}
        """By group, the value of ``BatchPayments.mark`` when it was last read."""

    def put(self, tracked: TrackedOrder) -> None:
        group = tracked.order.multi_id
        if group is None:
            return
        if _awaits_batch(tracked):
            self._groups.setdefault(group, set()).add(tracked.service_id)
        elif group in self._groups:
            self._groups[group].discard(tracked.service_id)

    def moved(self) -> Iterator[str]:
        """Yields the ids of the orders whose payment by a batch changed in the journal since the
        last call."""
        for group in [group for group, names in self._groups.items() if names]:
            before = self._marks.get(group, _NEVER)
            # One query for all orders of a group.
            mark = told_by_journal(partial(self._payments.mark, group), before)
            if mark != before:
                self._marks[group] = mark
                yield from tuple(self._groups[group])

    def with_batch(self, tracked: TrackedOrder, seen: Order) -> TrackedOrder:
        """Returns ``tracked`` marked as created by a batch of this desk, with its payment.
        Unchanged if the journal does not have the batch of ``seen``, the order's newest state."""
        group = seen.multi_id
        if tracked.standing is not DepositRelease.FOREIGN or group is None:
            return tracked
        if not tracked.in_batch:
            made_here = "subject = ? AND kind = 'create_group'"
            if not told_by_journal(lambda: any(self._ledger.where(made_here, group)), False):
                return tracked
            tracked = replace(tracked, in_batch=True, withheld=IN_BATCH_TEXT)
        return self.with_payment(tracked, seen)

    def with_payment(self, tracked: TrackedOrder, seen: Order) -> TrackedOrder:
        """Returns ``tracked`` with its payment by a batch. Unchanged if the order is in no batch,
        was confirmed on its own, or has a deposit that the service has seen."""
        group, payments = seen.multi_id, self._payments
        if group is None or not _unpaid(tracked):
            return tracked
        payment = told_by_journal(
            lambda: payments.of(group, tracked.service_id), tracked.batch_payment
        )
        if payment == tracked.batch_payment:
            return tracked
        return replace(tracked, batch_payment=payment)


_NEVER = object()
"""Stands in ``_marks`` for a group that was not read yet, so that it differs from every mark."""


def _unpaid(tracked: TrackedOrder) -> bool:
    if tracked.standing is not DepositRelease.FOREIGN:
        return False
    expired = display_of(tracked.order) == DisplayStatus.EXPIRED
    return _waits(tracked) or (expired and not deposit_arrived(tracked.order))


def _awaits_batch(tracked: TrackedOrder) -> bool:
    payment = tracked.batch_payment
    left = payment is not None and (payment.state is State.SENT or payment.in_account)
    return _unpaid(tracked) and (_waits(tracked) or left)


def _waits(tracked: TrackedOrder) -> bool:
    return display_of(tracked.order) in (DisplayStatus.WAITING_FOR_DEPOSIT, None)


def awaits_own_deposit(tracked: TrackedOrder) -> bool:
    """Returns whether the order was confirmed here and waits for its deposit. False for a DEX swap,
    which has none."""
    return tracked.intent is not None and not tracked.order.is_dex and _waits(tracked)


_CLOSED = frozenset({DisplayStatus.EXPIRED, DisplayStatus.FAILED, DisplayStatus.DELETED})


def read_swap_payment(ledger: Ledger, intent: Intent | None, order: Order) -> SwapPayment | None:
    """Returns how far this desk has paid a DEX swap. None for other orders, and once the service
    has seen the transaction. After the order's end, None unless the swap was never signed. Raises
    JournalUnavailable."""
    if intent is None or not order.is_dex or deposit_arrived(order):
        return None
    closed = display_of(order) in _CLOSED
    if not closed and display_of(order) not in (DisplayStatus.WAITING_FOR_DEPOSIT, None):
        return None
    create = acts_of(ledger, intent.id)
    if not create:
        return None
    payment = swap_payment(intent, create, settles=_settles(order), closed=closed)
    unsigned = payment is not None and payment.failure == "not-signed"
    return payment if unsigned or not closed else None


def _settles(order: Order) -> bool:
    try:
        return settled_by_venue(told_by(order))
    except NotThisSwap:
        return False


def swap_payment(
    intent: Intent, acts: Sequence[Operation], *, settles: bool, closed: bool = False
) -> SwapPayment | None:
    """Returns how the payment of a DEX swap stands while the service has not seen the payment. None
    if the swap's transaction may have been sent, or if the venue sends it (``settles``). ``acts``
    are the swap's journaled operations. ``closed`` is True if the service stopped waiting."""
    swap = next((act for act in reversed(acts) if act.kind == "swap"), None)
    money = f"{wallet_money(intent, acts)}."
    failure: SwapFailure = "not-signed"
    if swap is not None and swap.state is State.DONE:
        return SwapPayment(State.DONE, money)
    if swap is not None and swap.state is State.REFUSED:
        if swap.hash is not None:
            failure = "reverted" if swap.code == EXECUTED_IN_VAIN else "not-executed"
        return SwapPayment(State.REFUSED, money, failure)
    if any(act.state is State.REFUSED for act in (acts[0], acts[-1]) if act.kind != "confirm"):
        return SwapPayment(State.REFUSED, money, failure)
    if settles or (swap is not None and swap.left) or any(act.kind == "confirm" for act in acts):
        return None
    if not closed:
        return SwapPayment(State.PREPARED, money)
    # A desk that was killed may have signed what it had begun.
    return SwapPayment(State.REFUSED, money, failure) if swap is None else None


def wallet_money(intent: Intent, acts: Sequence[Operation]) -> str:
    """Returns, without a full stop, where the money of an unpaid DEX swap is and which approvals
    and signatures still allow somebody to take the money."""
    place = "in your wallet; nothing was swapped"
    amount = f"{exact_amount(intent.amount_in)} {intent.token_in.symbol}"
    allowed = (State.SENT, State.DONE)
    approved = [act for act in acts if act.kind == "approve" and act.state in allowed]
    if approved and all(act.result.get("spender") == PERMIT2.lower() for act in approved):
        place += (
            f"; Permit2 may pass on up to {amount} by a signature of yours, until you revoke that"
        )
    elif approved:
        place += f"; {venue_of(intent)} may still take up to {amount} until you revoke that"
    signed = {
        act.body["name"]: act for act in acts if act.kind == "sign" and act.state is State.DONE
    }
    if signed:
        place += f"; {_signatures(intent, list(signed.values()))}"
    return place


def _signatures(intent: Intent, signed: Sequence[Operation]) -> str:
    token, counted = intent.token_in, [act.result.get("taken") for act in signed]
    if None in counted:
        # Of an earlier release, which counted no sum.
        amount, of_all = intent.amount_in, "each"
    else:
        most = max(int(str(units)) for units in counted)
        amount, of_all = short(from_base_units(most, token.decimals)), "in all"
    total = f"{exact_amount(amount)} {token.symbol}"
    if len(signed) > 1:
        return f"{len(signed)} signatures for {total} {of_all} were made and end by themselves"
    return f"a signature for {total} was made and ends by itself"
