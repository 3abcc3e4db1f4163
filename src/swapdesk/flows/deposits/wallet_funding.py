"""Paying the deposit of an order from the profile's own wallet: once, exactly, and in time.

The promise is made of the locked intent and the journaled order; the amount is ``inAmount`` as it
was returned (contract 7.13). The payment is journaled before it is signed, and signed into the
wallet's records before a byte leaves. Whoever comes back sends on what was signed, gives up what
never left once the order may no longer be paid, and signs nothing a second time.

A transfer on Solana names a block and can be executed for about a minute after it. One that grew
too old is made over a newer block and reviewed again. What cannot be written after the beginning
is only logged: an entry that stays open pays nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from swapdesk.acts import State
from swapdesk.chain.addresses import evm
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.clock import Clock
from swapdesk.flows.deposits.funding import (
    LOOK,
    UNPAID,
    left_words,
    not_paid,
    not_payable,
    payment_open,
)
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Ledger, Operation
from swapdesk.flows.journal.payments import (
    begin_payment,
    payment_of,
    waits_for_signature,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.transactions import (
    ActEntry,
    Agreed,
    Look,
    NotAgreed,
    NotSignable,
    Outcome,
    Pace,
    Transactor,
    Watch,
    refused,
)
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.answers import Review, Signature, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    DepositPromise,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
)
from swapdesk.wallet.protocol import AgentGone
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.numbers import NumberError, to_base_units

log = logging.getLogger(__name__)

_TRANSFER = "0xa9059cbb"
"""``transfer(address,uint256)``; the agent decodes what was made of it."""


def kind_of(tracked: TrackedOrder) -> Kind | None:
    """Whose accounts can pay the order: those of its first chain; None for no chain of theirs."""
    return None if tracked.intent is None else KINDS.get(tracked.intent.token_in.kind)


def deposit_promise(tracked: TrackedOrder, account: Account, coin_price: Decimal | None) -> Promise:
    """``coin_price`` in dollars of the coin of the chain that is paid on. Raises NotAgreed."""
    order, intent = tracked.order, tracked.intent
    if intent is None:
        raise NotAgreed("The order was not confirmed at this desk.", NOT_PAYABLE)
    token = intent.token_in
    if order.deposit_address is None or order.expires is None or order.in_amount is None:
        raise NotAgreed(
            "The order does not say what is to be paid, where to, and until when.", NOT_PAYABLE
        )
    try:
        units = to_base_units(order.in_amount, token.decimals)
        confirmed = to_base_units(intent.amount_in, token.decimals)
        address = _spelled(order.deposit_address, token.kind)
        refund = order.refund_address and _spelled(order.refund_address, token.kind)
    except (NumberError, AddressProblem, ValueError) as error:
        raise NotAgreed(f"The order cannot be paid as it stands: {error}.", NOT_PAYABLE) from None
    return Promise(
        intent_id=intent.id,
        account=account.address,
        chain=token.chain,
        chain_id=token.chain_id if token.kind == "evm" else None,
        sell=Asset(token.symbol, token.decimals, token.contract),
        sell_units=confirmed,
        buy=Asset(intent.token_out.symbol, intent.token_out.decimals, intent.token_out.contract),
        chain_out=intent.token_out.chain,
        chain_out_id=intent.token_out.chain_id,
        least_units=0,
        quoted_units=0,
        recipient=intent.recipient,
        venue=intent.provider,
        quote_id=intent.quote_id,
        valid_until=order.expires,
        gas_units=gas_bound(coin_price, token.kind),
        deposit=DepositPromise(
            order.service_id,
            address,
            order.deposit_tag or None,
            units,
            order.expires,
            refund or None,
        ),
    )


def check_payable(promise: Promise) -> None:
    """Raises NotAgreed for what no transfer on the promised chain can do."""
    if promise.deposit is not None and promise.deposit.tag and promise.chain_id is not None:
        raise NotAgreed(
            "The order asks for a memo, which no transfer on its chain can carry.", NOT_PAYABLE
        )


def deposit_payload(promise: Promise) -> TransactionPayload:
    """The transfer on an EVM chain; on Solana the agent builds it. Raises NotAgreed."""
    deposit = promise.deposit
    if deposit is None or promise.chain_id is None:
        raise NotAgreed("The order is not paid on an EVM chain.", NOT_PAYABLE)
    check_payable(promise)
    contract = promise.sell.contract
    if contract is None:
        return TransactionPayload(Purpose.DEPOSIT, deposit.address, "0x", deposit.units)
    payee = deposit.address[2:].lower().rjust(64, "0")
    return TransactionPayload(
        Purpose.DEPOSIT, contract, f"{_TRANSFER}{payee}{deposit.units:064x}", 0
    )


def _spelled(address: str, kind: str) -> str:
    return evm.read(address).normalized if kind == "evm" else address


TOO_OLD = "BLOCKHASH_OLD"
"""The gate's word for a transaction of Solana that may not be executed in time."""
MOST_UNSEEN = 3
"""How often a transfer is made anew that was too old before anybody saw it."""


class DepositTransfer:
    """``look`` shows a review; ``refusal`` tells why the order must not be paid any more."""

    def __init__(
        self,
        client: WalletClient,
        clock: Clock,
        promise: Promise,
        look: Look,
        refusal: Callable[[], str | None],
        pace: Pace,
        watch: Watch,
    ) -> None:
        self._client = client
        self._clock = clock
        self._promise = promise
        self._look = look
        self._refusal = refusal
        self._transactor = Transactor(client, clock, pace, self._looked, watch)
        self._pace = pace
        self._seen = False
        self._over = False

    async def signed(self) -> Signature | SignedTransaction:
        """Raises NotAgreed, NotSignable and WalletError; then nothing was signed."""
        unseen = 0
        while True:
            self._seen = self._over = False
            try:
                signed = await self._transactor.agree(await self._payload(), self._promise)
            except NotSignable as refused:
                if refused.code != TOO_OLD:
                    raise
                unseen += not self._seen
                if unseen > MOST_UNSEEN:
                    raise
                if not self._seen:
                    await self._clock.sleep(self._pace.look)
            except NotAgreed:
                if not self._over:
                    raise
            else:
                return signed
            reason = self._refusal()
            if reason is not None:
                raise NotAgreed(reason, "NOT_PAYABLE")

    async def _payload(self) -> TransactionPayload | SolanaPayload:
        if self._promise.chain_id is not None:
            return deposit_payload(self._promise)
        return await self._client.solana_deposit(self._promise)

    async def _looked(self, review: Review) -> Agreed | None:
        self._seen = True
        try:
            return await self._look(review)
        except NotAgreed:
            # It is the review that is over, and not the order.
            deposit, now = self._promise.deposit, self._clock.now()
            self._over = deposit is not None and review.valid_until <= now < deposit.expires
            raise


class PaymentEntry(ActEntry):
    """The payment of an order from an account. ``earlier`` is the one of an earlier run, which is
    gone on with. What cannot be written once it is signed is only logged."""

    def __init__(
        self, ledger: Ledger, service_id: str, account: str, earlier: Operation | None
    ) -> None:
        body = encode_json({"serviceId": service_id, "account": account})
        super().__init__(ledger, lambda: begin_payment(ledger, service_id, "wallet", body), earlier)
        self.asked = False
        """Whether this run asked the wallet to sign."""

    def asks(self) -> None:
        """Commit that the wallet is asked to sign now. A payment that was refused meanwhile is
        begun anew. Raises ClaimTaken and JournalUnavailable; then nothing is signed."""
        act = self._begun
        if not self._ledger.move(act.id, State.SENT):
            stands = self._ledger.get(act.id)
            if stands is None or not stands.left:
                self._act = self._begin()
                self._ledger.move(self._act.id, State.SENT)
        self.asked = True

    def unsigned(self) -> None:
        """The wallet was asked and signed nothing, by its own records. Raises
        JournalUnavailable."""
        with self._ledger.transaction():
            stands = self._ledger.get(self._begun.id)
            if stands is not None and stands.hash is None:
                self.asked = not self._ledger.move(stands.id, State.PREPARED)

    def signed(self, hash_: str) -> None:
        try:
            super().signed(hash_)
        except JournalUnavailable as unavailable:
            log.warning("transaction %s is not in the journal: %s", hash_, unavailable)

    def _end(self, state: State, code: str | None, hash_: str | None) -> None:
        try:
            super()._end(state, code, hash_)
        except JournalUnavailable as unavailable:
            log.warning("the end of a payment is not in the journal: %s", unavailable)


LEAST_LEFT = timedelta(seconds=30)
"""Nothing leaves for an order that waits no longer than this."""
NOT_PAYABLE, PAID_BEFORE, TAKEN_BACK = "NOT_PAYABLE", "PAID_BEFORE", "TAKEN_BACK"
PAID = "on its way to the venue, or there"
_TAKEN_BACK = (
    "Its payment was cancelled, and the wallet pays nothing again under the same confirmation."
    " Pay it by hand, or let it expire."
)


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
        service_clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._journal = journal
        self._clock = clock
        self._service_clock = service_clock or clock
        self._look = look
        self._current = current
        self._pace = pace
        self._watch = watch or Watch()
        self._transactor = Transactor(client, clock, pace, watch=self._watch)

    async def fund(
        self, tracked: TrackedOrder, account: Account, coin_price: Decimal | None
    ) -> Outcome:
        """Pay ``inAmount`` to the deposit address from an account of that chain, or go on with
        the payment that was begun. Raises WalletError for what happened before a signature."""
        try:
            ledger = self._journal.ledger
            earlier = payment_of(ledger, tracked.service_id)
            kept = await self.kept(tracked)
            if (paid := _paid_before(earlier, kept)) is not None:
                return paid
            entry = PaymentEntry(ledger, tracked.service_id, account.address, earlier)
            if kept is not None:
                entry.begin()
                return await self._followed(tracked, kept, entry)
            if await self._taken_back(tracked):
                entry.refused(TAKEN_BACK)
                return not_paid(TAKEN_BACK, _TAKEN_BACK)
            return await self._paid(tracked, account, coin_price, entry)
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)
        except ClaimTaken as error:
            return _paid_by(error.holder)

    async def paid_before(self, tracked: TrackedOrder) -> Outcome | None:
        """What is told of an order that was paid, or may be, by what this wallet does not go on
        with. It needs no key, so that it is known also while another desk has them. Raises
        WalletError."""
        try:
            earlier = payment_of(self._journal.ledger, tracked.service_id)
            return _paid_before(earlier, await self.kept(tracked))
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)

    async def kept(self, tracked: TrackedOrder) -> SignedTransaction | None:
        """The transaction that pays this order or may still. Raises WalletError."""
        if tracked.intent is None:
            return None
        return await self._transactor.resume(tracked.intent.id, Purpose.DEPOSIT)

    async def _taken_back(self, tracked: TrackedOrder) -> bool:
        """Whether its payment was cancelled: the wallet signs no other one for what was confirmed
        then. Raises WalletError."""
        if tracked.intent is None:
            return False
        signed = await self._transactor.signed(tracked.intent.id, Purpose.CANCEL)
        return any(one.executed for one in signed)

    # Signing

    async def _paid(
        self,
        tracked: TrackedOrder,
        account: Account,
        coin_price: Decimal | None,
        entry: PaymentEntry,
    ) -> Outcome:
        reason = self._refusal(tracked)
        try:
            if reason is not None:
                raise NotAgreed(reason, NOT_PAYABLE)
            promise = deposit_promise(tracked, account, coin_price)
            check_payable(promise)
            transfer = DepositTransfer(
                self._client,
                self._clock,
                promise,
                lambda review: self._looked(tracked, review, entry),
                lambda: self._refusal(tracked),
                self._pace,
                self._watch,
            )
            signed = await self._transactor.confirm(entry, transfer.signed)
        except NotAgreed as said_no:
            entry.refused(said_no.code)
            return not_paid(said_no.code, str(said_no))
        except NotSignable as gate:
            words = " ".join(finding.sentence for finding in gate.findings)
            return refused("GATE", Failure(words, UNPAID, gate.next(LOOK)))
        except AgentGone as gone:
            return payment_open("AGENT_GONE", gone.words)
        return await self._followed(tracked, signed, entry)

    def _refusal(self, tracked: TrackedOrder) -> str | None:
        """Why the order must not be paid now, as it stands now. Its deadline is by the service's
        clock, and one that is put back wins nothing."""
        now = max(self._service_clock.now(), self._clock.now())
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

    async def _looked(
        self, tracked: TrackedOrder, review: Review, entry: PaymentEntry
    ) -> Agreed | None:
        """What the trader says, unless the order changed while the review was looked at. The
        journal says that the wallet may have signed from here on, and not before."""
        # It is shown once more because the wallet refused to sign what had changed under it, or
        # because an earlier run ended once it had asked: only where nobody else has the wallet,
        # who may be signing it now, do its records prove that nothing was signed.
        asked = entry.asked or not (entry.fresh or self._client.accounts.read_only)
        if asked and await self.kept(tracked) is None:
            entry.unsigned()
        agreed = await self._look(review)
        reason = None if agreed is None else self._refusal(tracked)
        if reason is not None:
            raise NotAgreed(reason, NOT_PAYABLE)
        if agreed is not None:
            entry.asks()
        return agreed

    # Following

    async def _followed(
        self, tracked: TrackedOrder, signed: SignedTransaction, entry: PaymentEntry
    ) -> Outcome:
        """Send the bytes while the order waits for them, and wait for their end."""
        came = await self._transactor.follow(
            signed, entry, wanted=lambda: self._refusal(tracked) is None
        )
        if came.transaction.state is State.DONE:
            return Outcome(hash=came.transaction.hash)
        if came.final:
            stands = payment_of(self._journal.ledger, tracked.service_id)
            if stands is not None and not stands.open:
                # It was paid before this was known: by whom, the journal says.
                return _paid_by(stands)
            return self._unpaid(tracked, came.transaction)
        if isinstance(came.error, AgentGone):
            return payment_open("AGENT_GONE", came.reason, signed.hash)
        if came.error is not None:
            return payment_open("NOT_SENT", came.reason, signed.hash)
        return payment_open("ON_ITS_WAY", came.reason or "It is not confirmed yet.", signed.hash)

    def _unpaid(self, tracked: TrackedOrder, signed: SignedTransaction) -> Outcome:
        if signed.code == "ABANDONED":
            reason = self._refusal(tracked) or "It was given up."
            return not_paid(NOT_PAYABLE, f"{reason} The signed transfer never left.")
        gas = signed.hash if signed.code == "FAILED" else None
        reason = f"The transaction {signed.hash} is {signed.word} and paid nothing."
        return not_paid(signed.word.upper(), reason, gas)


def _paid_before(earlier: Operation | None, kept: SignedTransaction | None) -> Outcome | None:
    if earlier is None:
        return None
    if kept is not None:
        done = kept.state is State.DONE and not earlier.open
        return _paid_by(earlier, kept.hash) if done else None
    if earlier.body["by"] == "wallet" and earlier.open:
        return None
    return _paid_by(earlier)


def _paid_by(payment: Operation, hash_: str | None = None) -> Outcome:
    if waits_for_signature(payment):
        return refused(PAID_BEFORE, Failure(left_words(payment), UNPAID, LOOK))
    return refused(PAID_BEFORE, Failure(left_words(payment), PAID, "the venue"), hash_)


def _asks(tracked: TrackedOrder) -> tuple[object, ...]:
    order = tracked.order
    return order.in_amount, order.deposit_address, order.deposit_tag
