"""Decides who can pay the deposit of an order at this desk: the profile's wallet, or the sandbox's
faucet.

The wallet pays on chains for which the profile has a node. The faucet pays on every chain of the
sandbox, also on simulated chains, which exist only in the sandbox's ledger. A payment is journaled
before it is sent. An order is paid once, even after a lost answer, a restart or an attempt by a
second process. It may be paid anew only if the first payment was certainly refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from swapdesk.client.errors import ApiError, ClientError, OutcomeUnknown
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, Failure
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Ledger, Operation, State
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.situations import awaits_deposit
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import (
    begin_payment,
    end_payment,
    payment_of,
    unanswered,
    waits_for_signature,
)
from swapdesk.flows.transactions import SAME_AGAIN, Outcome, refused, still_open
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import ChainLink
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.codec import encode_json

if TYPE_CHECKING:
    from swapdesk.flows.wallet.local_wallet import LocalWallet

log = logging.getLogger(__name__)

SENT_BEFORE = "The deposit was sent before. It is never paid twice."
MAY_BE_PAID = "The deposit may have been sent already. It is not sent again."
WAITS_FOR_SIGNATURE = "A payment from your wallet waits for your signature. Nothing else pays it."
_LEFT = frozenset({SENT_BEFORE, MAY_BE_PAID})
NOT_FUNDED = "NOT_FUNDED"


UNPAID = f"{IN_WALLET}; nothing was paid"
MAYBE = "on its way to the deposit address, or still in your wallet"
LOOK = "you: look at the order"


def not_paid(code: str, reason: str, hash_: str | None = None) -> Outcome:
    """Returns the outcome of a payment that will never be made. ``hash_`` is the transaction that
    failed and cost gas, None if no gas was spent."""
    money = f"{IN_WALLET}, but for the gas it cost" if hash_ else UNPAID
    return refused(code, Failure(reason, money, LOOK), hash_)


def payment_open(code: str, reason: str, hash_: str | None = None) -> Outcome:
    """Returns the outcome of a payment that may have been sent. ``hash_`` is its signed
    transaction, with which a later attempt continues."""
    return still_open(code, Failure(reason, MAYBE, SAME_AGAIN), hash_)


class SandboxFaucet:
    """The sandbox's faucet, which pays the deposit of an order at most once, even from several
    processes."""

    def __init__(self, control: SandboxControl, clock: Clock, ledger: Ledger) -> None:
        self._control = control
        self._clock = clock
        self._ledger = ledger

    def refusal(self, tracked: TrackedOrder) -> str | None:
        """Returns the reason why the faucet must not pay this order now; None if it may pay."""
        reason = not_payable(tracked, self._clock.now())
        if reason is not None:
            return reason
        try:
            before = payment_of(self._ledger, tracked.service_id)
        except JournalUnavailable:
            return NO_JOURNAL.cause
        return left_words(before) if before is not None else None

    async def pay(self, tracked: TrackedOrder, payer: str | None = None) -> Outcome:
        """Pays exactly the order's deposit, from the customer's account ``payer`` or, if None, from
        the faucet. The outcome is open if the payment may have been sent."""
        reason = self.refusal(tracked)
        if reason is not None:
            return _unfunded(reason)
        service_id = tracked.service_id
        try:
            body = encode_json({"serviceId": service_id})
            payment = begin_payment(self._ledger, service_id, "faucet", body)
        except ClaimTaken as error:
            return _unfunded(left_words(error.holder))
        except JournalUnavailable:
            return _unfunded(NO_JOURNAL.cause)
        try:
            paid = await self._control.deposit(service_id, payer=payer)
        except ClientError as error:
            moved = self._settle(payment, error)
            if error.definite and not moved:
                # The order had its deposit before this was answered.
                return _unfunded(SENT_BEFORE)
            if error.definite:
                return _unfunded(f"Nothing was sent: {error}")
            said = f"The sandbox did not confirm the payment: {error}. {MAY_BE_PAID}"
            return payment_open(NOT_FUNDED, said)
        self._settle(payment, None, paid)
        return Outcome(hash=paid)

    def _settle(
        self, payment: Operation, error: ClientError | None, paid: str | None = None
    ) -> bool:
        """Records how the payment ended; ``error`` None means that it succeeded. Returns False if
        the end was recorded before."""
        try:
            if error is None:
                return end_payment(self._ledger, payment, paid, status=200)
            if isinstance(error, OutcomeUnknown):
                state, code, status = State.UNKNOWN, error.code or "NO_ANSWER", error.status
            elif isinstance(error, ApiError):
                state, code = State.REFUSED, error.code or f"HTTP_{error.status}"
                status = error.status
            else:
                state, code, status = State.REFUSED, "NOT_SENT", None
            return self._ledger.move(payment.id, state, code=code, status=status)
        except JournalUnavailable as unavailable:
            log.warning("the end of payment %s is not in the journal: %s", payment.id, unavailable)
            return True


def _unfunded(reason: str) -> Outcome:
    return (payment_open if reason in _LEFT else not_paid)(NOT_FUNDED, reason)


def settle_payments(ledger: Ledger, known: Callable[[str], TrackedOrder | None]) -> None:
    """Finds faucet payments whose answer was lost, and records them as done if the deposit has
    arrived. ``known`` returns the order with a given id, or None. Raises JournalUnavailable."""
    for act in unanswered(ledger):
        if act.body.get("by") != "faucet" or act.subject is None:
            continue
        tracked = known(act.subject)
        if tracked is not None and deposit_arrived(tracked.order):
            end_payment(ledger, act, None, status=200)


def not_payable(tracked: TrackedOrder, now: datetime) -> str | None:
    """Returns the reason why nobody may pay the deposit of this order now; None if it may be
    paid."""
    if tracked.withheld is not None:
        return tracked.withheld
    order = tracked.order
    reasons = (
        (
            bool(tracked.payments),
            "A chain shows a payment to its address. Do not send to it again.",
        ),
        (tracked.gone, "The service does not know the order any more."),
        (order.deposit_address is None, "The order has no deposit address yet."),
        (not awaits_deposit(order), "The order is not waiting for a deposit."),
        (
            order.expires is not None and order.expires <= now,
            "The deadline has passed. Do not send to this address any more.",
        ),
    )
    return next((reason for holds, reason in reasons if holds), None)


def left_words(payment: Operation) -> str:
    """Returns why an order is not paid a second time. ``payment`` is the order's first payment in
    the journal."""
    if waits_for_signature(payment):
        return WAITS_FOR_SIGNATURE
    return SENT_BEFORE if payment.state is State.DONE else MAY_BE_PAID


PayBy = Literal["wallet", "faucet"]


class DepositWays:
    """Tells how this desk can pay the deposit of an order. ``chains`` returns the chains that
    currently have a node."""

    def __init__(
        self,
        chains: Callable[[], Sequence[ChainLink]],
        faucet: Callable[[], SandboxFaucet | None],
        clock: Clock,
        ledger: Ledger,
        *,
        live: bool,
    ) -> None:
        self._chains = chains
        self._faucet = faucet
        self._clock = clock
        self._ledger = ledger
        self._live = live
        self._lacks: dict[str, str] = {}

    def node(self, tracked: TrackedOrder) -> ChainLink | None:
        """Returns the chain on which the order is paid, with its node. None if the chain has no
        node or the order was not confirmed at this desk."""
        if tracked.intent is None:
            return None
        chain = tracked.intent.token_in.chain.lower()
        return next((link for link in self._chains() if link.name.lower() == chain), None)

    def simulated(self, tracked: TrackedOrder) -> bool:
        """True if the order is paid on a simulated chain, which exists only in the sandbox's
        ledger."""
        return not self._live and tracked.intent is not None and self.node(tracked) is None

    def of(self, tracked: TrackedOrder) -> PayBy | None:
        """Returns who pays if the user presses the key: ``wallet``, or ``faucet`` if the chain has
        no node or :meth:`lacks` was called for the order. None if neither can pay."""
        faucet = self._faucet() is not None
        if self.node(tracked) is not None and not (faucet and tracked.service_id in self._lacks):
            return "wallet"
        return "faucet" if faucet else None

    def missing(self, tracked: TrackedOrder) -> str | None:
        """Returns which node must be configured before the wallet can pay. None if it is configured
        or the wallet cannot sign for this kind of chain."""
        intent = tracked.intent
        if intent is None or self.node(tracked) is not None or intent.token_in.kind not in KINDS:
            return None
        return f"no node of {intent.token_in.chain_name} is configured"

    def lacks(self, service_id: str, reason: str) -> None:
        """Records why the wallet cannot pay this order, so that the faucet is offered instead."""
        self._lacks[service_id] = reason

    def lack_of(self, tracked: TrackedOrder) -> str | None:
        """Returns why the wallet cannot pay this order, as recorded by :meth:`lacks`; None if
        nothing was recorded."""
        return self._lacks.get(tracked.service_id)

    # What was paid

    def refusal(self, tracked: TrackedOrder) -> str | None:
        """Returns why the wallet must not begin or continue the order's payment; None if it may."""
        payment = self.payment(tracked.service_id)
        if isinstance(payment, str):
            return payment
        if payment is None:
            return not_payable(tracked, self._clock.now())
        if payment.state is State.DONE:
            return SENT_BEFORE
        return None if payment.body["by"] == "wallet" else MAY_BE_PAID

    def payment(self, service_id: str) -> Operation | str | None:
        """Returns the journal's entry for the payment of an order, None if there is none; a
        sentence if the journal is unavailable."""
        try:
            return payment_of(self._ledger, service_id)
        except JournalUnavailable as error:
            log.warning("it is not known whether %s was paid: %s", service_id, error)
            return NO_JOURNAL.cause

    def under_way(self, tracked: TrackedOrder) -> bool:
        """True if the wallet began to pay the order and the journal does not say that the payment
        is done."""
        payment = self.payment(tracked.service_id)
        return (
            isinstance(payment, Operation)
            and payment.body["by"] == "wallet"
            and payment.state is not State.DONE
        )


async def none_signed(wallet: LocalWallet, tracked: TrackedOrder | None) -> bool:
    """True if the wallet's records prove that no payment of the order was ever signed. False
    without such proof, and always if another process has the wallet."""
    if tracked is None or tracked.intent is None or not wallet.has_records:
        return False
    try:
        client = await wallet.client()
        if client.accounts.read_only:
            return False
        signed = await client.transactions(tracked.intent.id)
    except WalletError as error:
        log.warning("what the wallet signed is not known: %s", error.words)
        return False
    return all(transaction.purpose is not Purpose.DEPOSIT for transaction in signed)


def open_payment_words(payment: Operation, *, none_signed: bool, payable: bool) -> str:
    """Returns sentences about a wallet payment that has not ended. ``none_signed`` is True if it is
    proven that nothing was signed, ``payable`` if the order still waits for its deposit."""
    begun = (
        f"The payment of order {payment.subject} from your wallet,"
        f" begun {payment.prepared_at:%Y-%m-%d %H:%M:%S} UTC,"
    )
    if waits_for_signature(payment) or none_signed:
        waits = "waits for your signature in the desk" if payable else "was never signed"
        return f"{begun} {waits}. Nothing was signed, and nothing left your wallet for it."
    if payment.hash is not None:
        return f"{begun} was signed as {payment.hash} and may have been made."
    return f"{begun} may have been signed, and made."
