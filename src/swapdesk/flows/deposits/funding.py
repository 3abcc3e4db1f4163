"""Paying a deposit in the sandbox, where the faucet stands for the user's own wallet.

A payment is journaled before it leaves and made once for an order: not again after a lost
answer, after a restart or from a second process. Only a definite refusal frees it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from swapdesk.client.errors import ApiError, ClientError, OutcomeUnknown
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import PAYMENT, OutgoingWrites, PaidBefore
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.situations import awaits_deposit
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.codec import encode_json

log = logging.getLogger(__name__)

SENT_BEFORE = "The deposit was sent before. It is never paid twice."
MAY_BE_PAID = "The deposit may have been sent already. It is not sent again."
_LEFT = frozenset({SENT_BEFORE, MAY_BE_PAID})


class Funded(Struct, frozen=True):
    """The deposit is on its way."""

    hash: str


class NotFunded(Struct, frozen=True):
    """Nothing was paid, or nobody knows; ``reason`` says which and why. ``may_have_left``: the
    deposit is on its way, or may be."""

    reason: str
    may_have_left: bool = False


class SandboxFaucet:
    """Pays an order once; ``calls`` remembers the payments of every process on this journal."""

    def __init__(self, control: SandboxControl, clock: Clock, calls: OutgoingWrites) -> None:
        self._control = control
        self._clock = clock
        self._calls = calls

    def refusal(self, tracked: TrackedOrder) -> str | None:
        """Why this order must not be paid now; None when it may be."""
        reason = not_payable(tracked, self._clock.now())
        if reason is not None:
            return reason
        try:
            before = self._calls.payment_of(tracked.service_id)
        except JournalUnavailable:
            return NO_JOURNAL.cause
        return _said(before.state) if before is not None else None

    async def pay(self, tracked: TrackedOrder, payer: str | None = None) -> Funded | NotFunded:
        """Send exactly ``inAmount`` with the deposit memo to the deposit address, from the faucet
        or from the account of a customer of the sandbox."""
        reason = self.refusal(tracked)
        if reason is not None:
            return NotFunded(reason, reason in _LEFT)
        service_id = tracked.service_id
        try:
            call_id = self._calls.add_payment(service_id, encode_json({"serviceId": service_id}))
        except PaidBefore as error:
            return NotFunded(_said(error.call.state), may_have_left=True)
        except JournalUnavailable:
            return NotFunded(NO_JOURNAL.cause)
        try:
            paid = await self._control.deposit(service_id, payer=payer)
        except ClientError as error:
            moved = self._settle(call_id, error)
            if error.definite and not moved:
                # The order had its deposit before this was answered.
                return NotFunded(SENT_BEFORE, may_have_left=True)
            if error.definite:
                return NotFunded(f"Nothing was sent: {error}")
            said = f"The sandbox did not confirm the payment: {error}. {MAY_BE_PAID}"
            return NotFunded(said, may_have_left=True)
        self._settle(call_id, None, paid)
        return Funded(paid)

    def _settle(self, call_id: int, error: ClientError | None, paid: str | None = None) -> bool:
        """Commit how the payment ended, unless that was known before: False then. Where it cannot
        be written the payment stays sent, and is not repeated."""
        try:
            if error is None:
                return self._calls.mark_done(call_id, status=200, request_id=None, hash_=paid)
            if isinstance(error, OutcomeUnknown):
                code = error.code or "NO_ANSWER"
                return self._calls.mark_unknown(call_id, code=code, status=error.status)
            if isinstance(error, ApiError):
                code = error.code or f"HTTP_{error.status}"
                return self._calls.mark_refused(call_id, code=code, status=error.status)
            return self._calls.mark_refused(call_id, code="NOT_SENT")
        except JournalUnavailable as unavailable:
            log.warning("the end of payment %d is not in the journal: %s", call_id, unavailable)
            return True


def settle_payments(calls: OutgoingWrites, known: Callable[[str], TrackedOrder | None]) -> None:
    """Commit as done every payment from the faucet that got no answer and whose order has its
    deposit: nobody has to ask what became of it. Raises JournalUnavailable."""
    for call in calls.unresolved():
        if call.path != PAYMENT or call.service_id is None:
            continue
        tracked = known(call.service_id)
        if tracked is not None and deposit_arrived(tracked.order):
            calls.mark_done(call.id, status=200, request_id=call.request_id)


def not_payable(tracked: TrackedOrder, now: datetime) -> str | None:
    """Why nobody may pay the deposit of this order now; None when somebody may."""
    if tracked.withheld is not None:
        return tracked.withheld
    order = tracked.order
    if tracked.payments:
        return "A chain shows a payment to its address. Do not send to it again."
    if tracked.gone:
        return "The service does not know the order any more."
    if order.deposit_address is None:
        return "The order has no deposit address yet."
    if not awaits_deposit(order):
        return "The order is not waiting for a deposit."
    if order.expires is not None and order.expires <= now:
        return "The deadline has passed. Do not send to this address any more."
    return None


def _said(state: StepState) -> str:
    return SENT_BEFORE if state is StepState.ACKED else MAY_BE_PAID
