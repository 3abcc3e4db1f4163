"""Paying the deposit of an order from the profile's own wallet: once, exactly, and in time.

The payment is journaled before anything is signed, and signed into the wallet's records before a
byte leaves. Whoever comes back finds it there: what was signed is sent on as it is, what never
left is given up when the order may no longer be paid, and nothing is signed a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.flows.deposits.deposit_promise import NotPayable, check_payable, deposit_promise
from swapdesk.flows.deposits.deposit_transfer import DepositTransfer
from swapdesk.flows.deposits.funding import MAY_BE_PAID, SENT_BEFORE, Funded, not_payable
from swapdesk.flows.deposits.payment_entry import PaymentEntry, settled
from swapdesk.flows.journal.call_log import JournaledCall, PaidBefore
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.transactions.delivery import Pace, deliver
from swapdesk.flows.transactions.same_nonce import decisive
from swapdesk.flows.transactions.transactor import Agreed, Look, NotAgreed, NotSignable, Watch
from swapdesk.flows.wording import NO_JOURNAL
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone, Refused
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import (
    EXECUTED,
    HARMLESS,
    SignedTransaction,
    TransactionState,
)

LEAST_LEFT = timedelta(seconds=30)
"""Nothing leaves for an order that waits no longer than this."""
TAKEN_BACK = "TAKEN_BACK"
_TAKEN_BACK = (
    "Its payment was cancelled, and the wallet pays nothing again under the same confirmation."
    " Pay it by hand, or let it expire."
)
_TAKEN = frozenset({RefusalCode.READ_ONLY, RefusalCode.ALREADY_SIGNED})
"""Another process has the wallet, or has signed: whose payment stands is not ours to say."""


@dataclass(frozen=True)
class NotPaid:
    """Nothing was paid now, and nothing will be by this payment. ``hash`` of a transaction that
    cost gas, or that paid the order before."""

    code: str
    reason: str
    hash: str | None = None


@dataclass(frozen=True)
class PaymentOpen:
    """It may be on its way: the same bytes are followed by whoever asks again."""

    code: str
    reason: str
    hash: str | None = None


FundingOutcome = Funded | NotPaid | PaymentOpen


class WalletFunding:
    """``current`` tells how an order stands now; ``look`` shows the review of the transfer."""

    def __init__(
        self,
        client: WalletClient,
        journal: Journal,
        clock: Clock,
        look: Look,
        current: Callable[[str], TrackedOrder | None],
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        watch: Watch | None = None,
    ) -> None:
        self._client = client
        self._journal = journal
        self._clock = clock
        self._look = look
        self._current = current
        self._pace = pace
        self._watch = watch or Watch()

    async def fund(
        self, tracked: TrackedOrder, account: Account, coin_price: Decimal | None
    ) -> FundingOutcome:
        """Pay ``inAmount`` to the deposit address from an account of that chain, or go on with
        the payment that was begun. Raises WalletError for what happened before a signature."""
        try:
            earlier = self._journal.calls.payment_of(tracked.service_id)
            kept = await self.kept(tracked)
            if (paid := _paid_before(earlier, kept)) is not None:
                return paid
            if kept is not None:
                entry = self._noted(tracked, earlier, account.address)
                return await self._followed(tracked, kept, entry)
            if await self._taken_back(tracked):
                self._free(earlier, TAKEN_BACK)
                return NotPaid(TAKEN_BACK, _TAKEN_BACK)
            return await self._paid(tracked, account, coin_price, earlier)
        except JournalUnavailable:
            return NotPaid("NO_JOURNAL", NO_JOURNAL.cause)
        except PaidBefore as error:
            return NotPaid("PAID_BEFORE", _said(error.call))

    async def paid_before(self, tracked: TrackedOrder) -> NotPaid | None:
        """What is told of an order that was paid, or may be, by what this wallet does not go on
        with. It needs no key, so that it is known also while another desk has them. Raises
        WalletError."""
        try:
            earlier = self._journal.calls.payment_of(tracked.service_id)
            return _paid_before(earlier, await self.kept(tracked))
        except JournalUnavailable:
            return NotPaid("NO_JOURNAL", NO_JOURNAL.cause)

    async def kept(self, tracked: TrackedOrder) -> SignedTransaction | None:
        """The transaction that pays this order or may still. Raises WalletError."""
        if tracked.intent is None:
            return None
        signed = await self._client.transactions(tracked.intent.id)
        kept = [one for one in signed if one.purpose is Purpose.DEPOSIT]
        kept = [one for one in kept if one.state not in HARMLESS]
        return decisive(kept)

    async def _taken_back(self, tracked: TrackedOrder) -> bool:
        """Whether its payment was cancelled: the wallet signs no other one for what was confirmed
        then. Raises WalletError."""
        if tracked.intent is None:
            return False
        signed = await self._client.transactions(tracked.intent.id)
        return any(one.purpose is Purpose.CANCEL and one.state in EXECUTED for one in signed)

    def _noted(
        self, tracked: TrackedOrder, earlier: JournaledCall | None, account: str
    ) -> PaymentEntry:
        return PaymentEntry.noted(self._journal.calls, tracked.service_id, earlier, account)

    def _free(self, earlier: JournaledCall | None, code: str) -> None:
        """What was begun and never signed is over."""
        if earlier is not None:
            PaymentEntry(self._journal.calls, earlier.id).refused(code)

    # Signing

    async def _paid(
        self,
        tracked: TrackedOrder,
        account: Account,
        coin_price: Decimal | None,
        earlier: JournaledCall | None,
    ) -> FundingOutcome:
        reason = self._refusal(tracked)
        if reason is not None:
            self._free(earlier, "NOT_PAYABLE")
            return NotPaid("NOT_PAYABLE", reason)
        try:
            promise = deposit_promise(tracked, account, coin_price)
            check_payable(promise)
        except NotPayable as error:
            self._free(earlier, "NOT_PAYABLE")
            return NotPaid("NOT_PAYABLE", str(error))
        entry = self._noted(tracked, earlier, account.address)
        transfer = DepositTransfer(
            self._client,
            self._journal,
            self._clock,
            promise,
            lambda review: self._looked(tracked, review),
            lambda: self._refusal(tracked),
            self._pace,
            self._watch,
        )
        try:
            signed = await transfer.signed()
        except NotAgreed as said_no:
            entry.refused(said_no.code)
            return NotPaid(said_no.code, str(said_no))
        except NotSignable as refused:
            code = refused.findings[0].code if refused.findings else "GATE"
            entry.refused(code)
            words = " ".join(f"{one.words} Rule {one.code}." for one in refused.findings)
            return NotPaid("GATE", words)
        except AgentGone as gone:
            return PaymentOpen("AGENT_GONE", gone.words)
        except Refused as refused:
            if earlier is None or refused.code not in _TAKEN:
                entry.refused(refused.code.upper())
            raise
        return await self._followed(tracked, signed, entry)

    def _refusal(self, tracked: TrackedOrder) -> str | None:
        """Why the order must not be paid now, as it stands now."""
        now = self._clock.now()
        known = self._current(tracked.service_id) or tracked
        reason = not_payable(known, now)
        if reason is None and known.order.expires is None:
            return "The order does not say until when it waits."
        if reason is None and known.order.expires is not None:
            if known.order.expires - now <= LEAST_LEFT:
                return "The order waits for its deposit for less than 30 seconds."
            if _asks(known) != _asks(tracked):
                return "The order asks for another payment than the one that was looked at."
        return reason

    async def _looked(self, tracked: TrackedOrder, review: Review) -> Agreed | None:
        """What the trader says, unless the order changed while the review was looked at."""
        agreed = await self._look(review)
        reason = None if agreed is None else self._refusal(tracked)
        if reason is not None:
            raise NotAgreed(reason, "NOT_PAYABLE")
        return agreed

    # Following

    async def _followed(
        self, tracked: TrackedOrder, signed: SignedTransaction, entry: PaymentEntry
    ) -> FundingOutcome:
        """Send the bytes while the order waits for them, and wait for their end."""
        entry.signed(signed.hash)
        self._watch.seen(signed)
        came = await deliver(
            self._client,
            self._clock,
            signed,
            self._pace,
            wanted=lambda: self._refusal(tracked) is None,
            seen=self._watch.seen,
        )
        if came.transaction.state is TransactionState.SUCCEEDED:
            entry.paid(came.transaction.hash)
            return Funded(came.transaction.hash)
        if came.final:
            return self._unpaid(tracked, came.transaction, entry)
        if isinstance(came.error, AgentGone):
            return PaymentOpen("AGENT_GONE", came.reason, signed.hash)
        if came.error is not None:
            return PaymentOpen("NOT_SENT", came.reason, signed.hash)
        return PaymentOpen("ON_ITS_WAY", came.reason or "It is not confirmed yet.", signed.hash)

    def _unpaid(
        self, tracked: TrackedOrder, signed: SignedTransaction, entry: PaymentEntry
    ) -> NotPaid:
        entry.refused(signed.state.value.upper(), signed.hash)
        if signed.state is TransactionState.ABANDONED:
            reason = self._refusal(tracked) or "It was given up."
            return NotPaid("NOT_PAYABLE", f"{reason} The signed transfer never left.")
        gas = signed.hash if signed.state is TransactionState.FAILED else None
        reason = f"The transaction {signed.hash} is {signed.state.value} and paid nothing."
        return NotPaid(signed.state.value.upper(), reason, gas)


def _paid_before(earlier: JournaledCall | None, kept: SignedTransaction | None) -> NotPaid | None:
    if earlier is None:
        return None
    if kept is not None:
        done = kept.state is TransactionState.SUCCEEDED and settled(earlier)
        return NotPaid("PAID_BEFORE", _said(earlier), kept.hash) if done else None
    if earlier.by_wallet and not settled(earlier):
        return None
    return NotPaid("PAID_BEFORE", _said(earlier))


def _said(call: JournaledCall) -> str:
    return SENT_BEFORE if call.state is StepState.ACKED else MAY_BE_PAID


def _asks(tracked: TrackedOrder) -> tuple[object, ...]:
    order = tracked.order
    return order.in_amount, order.deposit_address, order.deposit_tag
