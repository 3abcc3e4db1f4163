"""Pays the deposit of an order from the profile's wallet: once, exactly, and in time.

A session finds the account that pays, fills it if it is in the sandbox, and says exactly what is
missing. The promise, which tells the wallet what it may sign, is made from the confirmed intent and
the journaled order. The amount is ``inAmount`` as the service returned it (contract 7.13).

The payment is in the journal before it is signed, and the signed transaction is in the wallet's
records before it is sent. A later run sends the transaction that was signed and never signs a
second one. If the order may no longer be paid, a transaction that was never sent is given up.

A Solana transfer names a recent block and can be executed only for about a minute after that block.
A transfer that became too old is built on a newer block and reviewed again. Failed writes to the
journal after the signature are only logged, because an entry that stays open pays nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.chain.addresses import evm
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.deposits.funding import (
    LOOK,
    MAYBE,
    UNPAID,
    left_words,
    not_paid,
    not_payable,
    payment_open,
)
from swapdesk.flows.dex.dex_swap import on_its_way, signed_away
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import Intent, gas_bound
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Ledger, Operation
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import (
    begin_payment,
    payment_of,
    unanswered,
    waits_for_signature,
)
from swapdesk.flows.signing.signing_session import (
    ON_ITS_WAY,
    RunningSignings,
    SigningKind,
    SigningSession,
    open_keys,
    promise_ended,
    transaction_brief,
)
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
from swapdesk.flows.wallet.wallet_words import MISSING, failure_of_wallet, sentence
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
from swapdesk.wallet.protocol import AgentGone, WalletError
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.numbers import ROUGH, NumberError, to_base_units

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

log = logging.getLogger(__name__)

_TRANSFER = "0xa9059cbb"
"""The first four bytes of a call of ``transfer(address,uint256)`` of a token contract, as
0x-hex."""


def kind_of(tracked: TrackedOrder) -> Kind | None:
    """Returns the kind of wallet account that can pay the order; None if no kind can."""
    return None if tracked.intent is None else KINDS.get(tracked.intent.token_in.kind)


def deposit_promise(tracked: TrackedOrder, account: Account, coin_price: Decimal | None) -> Promise:
    """Returns what the wallet agent may pay for the deposit. ``coin_price`` is the native coin's
    price in USD or None. Raises NotAgreed if the order cannot be paid."""
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
    """Raises NotAgreed if the deposit needs a memo on an EVM chain, where no transfer can carry
    one."""
    if promise.deposit is not None and promise.deposit.tag and promise.chain_id is not None:
        raise NotAgreed(
            "The order asks for a memo, which no transfer on its chain can carry.", NOT_PAYABLE
        )


def deposit_payload(promise: Promise) -> TransactionPayload:
    """Returns the transfer to sign for a deposit on an EVM chain. Raises NotAgreed for other chains
    and if a memo is needed."""
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
"""The wallet agent's code for a Solana transaction that may be too old to be executed in time."""
MOST_UNSEEN = 3
"""The most times that a transfer is built again because it became too old before its review was
shown."""


async def signed_transfer(
    client: WalletClient,
    clock: Clock,
    promise: Promise,
    look: Look,
    refusal: Callable[[], str | None],
    pace: Pace,
    watch: Watch,
) -> Signature | SignedTransaction:
    """Has the wallet review and sign the transfer that ``promise`` describes. ``refusal`` returns
    why the order must not be paid, or None. Raises NotAgreed and NotSignable if nothing was signed,
    and WalletError."""
    seen = over = False
    unseen = 0

    async def looked(review: Review) -> Agreed | None:
        nonlocal seen, over
        seen = True
        try:
            return await look(review)
        except NotAgreed:
            # It is the review that is over, and not the order.
            deposit, now = promise.deposit, clock.now()
            over = deposit is not None and review.valid_until <= now < deposit.expires
            raise

    transactor = Transactor(client, clock, pace, looked, watch)
    while True:
        seen = over = False
        payload: TransactionPayload | SolanaPayload
        if promise.chain_id is not None:
            payload = deposit_payload(promise)
        else:
            payload = await client.solana_deposit(promise)
        try:
            return await transactor.agree(payload, promise)
        except NotSignable as refused:
            unseen += not seen
            if refused.code != TOO_OLD or unseen > MOST_UNSEEN:
                raise
            if not seen:
                await clock.sleep(pace.look)
        except NotAgreed:
            if not over:
                raise
        reason = refusal()
        if reason is not None:
            raise NotAgreed(reason, "NOT_PAYABLE")


class PaymentEntry(ActEntry):
    """The journal's entry for a payment. ``earlier`` is the operation of the payment to continue,
    None for a new payment. If the journal fails after the signature, the failure is only logged."""

    def __init__(
        self, ledger: Ledger, service_id: str, account: str, earlier: Operation | None
    ) -> None:
        body = encode_json({"serviceId": service_id, "account": account})
        super().__init__(ledger, lambda: begin_payment(ledger, service_id, "wallet", body), earlier)
        self.asked = False
        """True once this run has asked the wallet to sign."""

    def asks(self) -> None:
        """Records that the wallet is about to be asked to sign. If ClaimTaken or JournalUnavailable
        is raised, the wallet must not be asked."""
        act = self._begun
        if not self._ledger.move(act.id, State.SENT):
            stands = self._ledger.get(act.id)
            if stands is None or not stands.left:
                self._act = self._begin()
                self._ledger.move(self._act.id, State.SENT)
        self.asked = True

    def unsigned(self) -> None:
        """Records that nothing was signed, which the caller must have seen in the wallet's records.
        Raises JournalUnavailable."""
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
"""An order that waits for its deposit for no longer than this is not paid any more."""
NOT_PAYABLE, PAID_BEFORE, TAKEN_BACK = "NOT_PAYABLE", "PAID_BEFORE", "TAKEN_BACK"
PAID = "on its way to the venue, or there"
_TAKEN_BACK = (
    "Its payment was cancelled, and the wallet pays nothing again under the same confirmation."
    " Pay it by hand, or let it expire."
)


class WalletFunding(Struct, frozen=True):
    """Pays deposits from the wallet. ``look`` shows a review and returns the trader's answer.
    ``current`` returns the newest state of an order. ``service_clock`` is None if ``clock`` is
    already the service's clock."""

    client: WalletClient
    journal: Journal
    clock: Clock
    look: Look
    current: Callable[[str], TrackedOrder | None]
    pace: Pace = Pace()
    watch: Watch = field(default_factory=Watch)
    service_clock: Clock | None = None

    @property
    def _transactor(self) -> Transactor:
        return Transactor(self.client, self.clock, self.pace, watch=self.watch)

    async def fund(
        self, tracked: TrackedOrder, account: Account, coin_price: Decimal | None
    ) -> Outcome:
        """Pays the order's deposit from ``account``, or continues an earlier payment.
        ``coin_price`` is the native coin's price in USD or None. A WalletError means that this call
        signed nothing."""
        try:
            ledger = self.journal.ledger
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
        """Returns the outcome of an earlier payment that was or may have been made; None if the
        order may be paid now. Needs no unlocked keys. Raises WalletError."""
        try:
            earlier = payment_of(self.journal.ledger, tracked.service_id)
            return _paid_before(earlier, await self.kept(tracked))
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)

    async def kept(self, tracked: TrackedOrder) -> SignedTransaction | None:
        """Returns the signed transaction that paid this order or still may pay it; None if there is
        none. Raises WalletError."""
        return await self._transactor.resume(_intent(tracked).id, Purpose.DEPOSIT)

    async def _taken_back(self, tracked: TrackedOrder) -> bool:
        """True if the order's payment was cancelled on its chain. The wallet then signs no second
        payment. Raises WalletError."""
        signed = await self._transactor.signed(_intent(tracked).id, Purpose.CANCEL)
        return any(transaction.executed for transaction in signed)

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
            signing = partial(
                signed_transfer,
                self.client,
                self.clock,
                promise,
                lambda review: self._looked(tracked, review, entry),
                lambda: self._refusal(tracked),
                self.pace,
                self.watch,
            )
            signed = await self._transactor.confirm(entry, signing)
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
        """Returns why the order must not be paid, or None. Setting the local clock back does not
        extend the deadline."""
        now = max((self.service_clock or self.clock).now(), self.clock.now())
        newest = self.current(tracked.service_id) or tracked
        reason = not_payable(newest, now)
        if reason is None and newest.order.expires is None:
            return "The order does not say until when it waits."
        if reason is None and newest.order.expires is not None:
            if newest.order.expires - now <= LEAST_LEFT:
                return "The order waits for its deposit for less than 30 seconds."
            if _asks(newest) != _asks(tracked):
                return "The order asks for another payment than the one that was looked at."
        return reason

    async def _looked(
        self, tracked: TrackedOrder, review: Review, entry: PaymentEntry
    ) -> Agreed | None:
        """Shows the review and returns the trader's answer. Records a consent in the journal: from
        then on, a payment may have been signed. Raises NotAgreed if the order can no longer be
        paid."""
        # It is shown once more because the wallet refused to sign what had changed under it, or
        # because an earlier run ended once it had asked: only where nobody else has the wallet,
        # who may be signing it now, do its records prove that nothing was signed.
        asked = entry.asked or not (entry.fresh or self.client.accounts.read_only)
        if asked and await self.kept(tracked) is None:
            entry.unsigned()
        agreed = await self.look(review)
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
        delivered = await self._transactor.follow(
            signed, entry, wanted=lambda: self._refusal(tracked) is None
        )
        if delivered.transaction.state is State.DONE:
            return Outcome(hash=delivered.transaction.hash)
        if delivered.final:
            stands = payment_of(self.journal.ledger, tracked.service_id)
            if stands is not None and not stands.open:
                # It was paid before this was known: by whom, the journal says.
                return _paid_by(stands)
            return self._unpaid(tracked, delivered.transaction)
        if isinstance(delivered.error, AgentGone):
            return payment_open("AGENT_GONE", delivered.reason, signed.hash)
        if delivered.error is not None:
            return payment_open("NOT_SENT", delivered.reason, signed.hash)
        return payment_open(
            "ON_ITS_WAY", delivered.reason or "It is not confirmed yet.", signed.hash
        )

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


# What the screens show of it

NOT_ENOUGH = "NOT_ENOUGH"
"""The code for a wallet that lacks what the order asks for, or whose balance cannot be read."""
ASK_AGAIN = "you: f on the card asks again"
FAUCET = "you: pay it from the faucet, with f on the card"
ELSEWHERE = "you: fill it, or pay from another"


def on_screen(outcome: Outcome, order_id: str, *, faucet: bool, unsigned: bool = False) -> Outcome:
    """Returns the outcome worded for a screen. ``faucet`` is True if the sandbox's faucet can pay
    instead, ``unsigned`` if the wallet was not asked to sign."""
    outcome = replace(outcome, order_id=order_id)
    if outcome.failure is None:
        return outcome
    reason = sentence(outcome.cause)
    if outcome.open:
        cause, money = f"The payment is not confirmed yet. {reason}", MAYBE
        if unsigned:
            cause, money = f"Nothing was signed. {reason}", UNPAID
        return replace(outcome, failure=Failure(cause, money, "you: r goes on with it"))
    money = outcome.failure.money
    match outcome.code:
        case "PAID_BEFORE":
            next_ = outcome.failure.next
        case "NOT_CONFIRMED" | "LOCKED" | "CHAIN_UNREACHABLE" | "READ_ONLY":
            money, next_ = UNPAID, ASK_AGAIN
        case "GATE":
            # What the wallet refuses to pay nobody else is asked to pay.
            reason = f"Your wallet refuses to sign this: {reason}"
            next_ = outcome.failure.next
        case "NOT_ENOUGH" | "WALLET_MISSING":
            money, next_ = UNPAID, FAUCET if faucet else ELSEWHERE
        case "NO_JOURNAL":
            money, next_ = UNPAID, LOOK
        case _:
            next_ = LOOK
    return replace(outcome, failure=Failure(reason, money, next_))


DepositSession = SigningSession[TrackedOrder]


def _intent(tracked: TrackedOrder) -> Intent:
    intent = tracked.intent
    assert intent is not None, "it was confirmed here"
    return intent


def _pays(session: DepositSession) -> tuple[Decimal, str]:
    asked = session.about.order.in_amount
    amount = _intent(session.about).amount_in if asked is None else asked
    return amount, f"order {session.about.short_id}"


def _lapse(session: DepositSession) -> str:
    expires = session.about.order.expires
    if session.token.kind == "sol" and expires is not None and expires > session.clock.now():
        return "it makes a newer one"
    return promise_ended(session)


def _whereabouts(session: DepositSession) -> str:
    signed = session.signed
    if signed is None or signed.state is State.REFUSED:
        return UNPAID if session.outcome is not None else IN_WALLET
    if signed.state is State.DONE:
        return f"at the deposit address, by transaction {signed.hash}"
    sent = transaction_brief(session) == ON_ITS_WAY
    return on_its_way(signed.hash) if sent else signed_away(signed.hash)


OTHER_DESK = "Another desk has the wallet: sign there, or close it."


def lack_of(found: SwapAccount, tracked: TrackedOrder, coin: str) -> str | None:
    """Returns why the account cannot pay the order; None if no reason is known. ``coin`` is the
    symbol of the coin for gas; whether there is enough of it is not calculated."""
    intent, amount = tracked.intent, tracked.order.in_amount
    if intent is None or amount is None:
        return "The order does not say what is to be paid."
    token = intent.token_in
    gas = "gas" if token.kind == "evm" else "fee"
    symbol, chain, wallet = token.symbol, token.chain_name, f"Wallet {found.name}"
    needed = f"{exact_amount(amount)} {symbol}"
    if found.unread is not None:
        return f"{chain} could not be read: {found.unread}."
    if found.balance is None:
        return f"How much {symbol} wallet {found.name} has on {chain} could not be read."
    if found.balance < amount:
        short_of = f"{exact_amount(ROUGH.subtract(amount, found.balance))} {symbol}"
        return (
            f"{wallet} has {exact_amount(found.balance)} {symbol} on {chain} and is short of"
            f" {short_of}: the order asks for {needed}."
        )
    if token.contract is None and found.balance == amount:
        return f"{wallet} has exactly {needed} on {chain} and nothing more for {gas}."
    if not found.coin:
        return f"{wallet} has no {coin or 'coin'} on {chain} to pay the {gas} with."
    return None


_LACKING = frozenset({NOT_ENOUGH, MISSING})
"""The codes of failures after which the wallet cannot pay the order, so that the faucet is
offered."""


async def _work(desk: Desk, session: DepositSession) -> Outcome | None:
    if not session.wallet:
        session.says("The desk asks the wallet for its account and what it holds.")
    outcome = await _tried(desk, session)
    if outcome is None:
        return None
    begun = desk.deposit_ways.payment(session.id)
    outcome = on_screen(
        outcome,
        session.id,
        faucet=desk.link.faucet is not None,
        unsigned=isinstance(begun, Operation) and waits_for_signature(begun),
    )
    if outcome.refused and outcome.code in _LACKING:
        desk.deposit_ways.lacks(session.id, outcome.cause)
    return outcome


async def _tried(desk: Desk, session: DepositSession) -> Outcome | None:
    try:
        return await _paid(desk, session)
    except JournalUnavailable:
        return refused("NO_JOURNAL", NO_JOURNAL)
    except NoSwapAccount as error:
        return not_paid(NOT_ENOUGH, str(error))
    except WalletError as error:
        # It did not answer, or said no before anything was signed.
        failure = failure_of_wallet(error)
        if desk.deposit_ways.payment(session.id) is not None:
            return payment_open(failure.code, failure.cause)
        return not_paid(failure.code, failure.cause)


async def _paid(desk: Desk, session: DepositSession) -> Outcome | None:
    tracked = session.about = desk.link.tracker.get(session.id) or session.about
    accounts = await desk.wallet.accounts()
    if accounts.read_only and not session.asked:
        return None
    account: Account | Outcome | None
    if payment_of(desk.journal.ledger, session.id) is not None:
        account = accounts.first(kind_of(tracked))
        if account is None:
            return not_paid(NOT_ENOUGH, "This wallet has no account of the chain.")
        session.says("", wallet=account.name or account.address)
    else:
        account = await _looked_into(desk, session)
        if isinstance(account, Outcome):
            return account
    funding = WalletFunding(
        await desk.wallet.client(),
        desk.journal,
        desk.clock,
        session.look,
        desk.link.tracker.get,
        watch=session,
        service_clock=desk.service_clock,
    )
    if (paid := await funding.paid_before(tracked)) is not None:
        return paid
    if not await funding.kept(tracked):
        await open_keys(desk.wallet, account.address, session)
    price = coin_price(desk.catalog, _intent(session.about).token_in.chain)
    return await funding.fund(tracked, account, price)


async def _looked_into(desk: Desk, session: DepositSession) -> Account | Outcome:
    token = desk.catalog.token(_intent(session.about).token_in.id)
    if token is None:
        return not_paid(NOT_ENOUGH, "The token of the order is not in the desk's list.")
    payer: SwapAccount | None = None
    async for payer in find_account(desk, token, token):
        fills = f"The faucet sends {token.symbol} to wallet {payer.name}." if payer.filling else ""
        session.says(fills, wallet=payer.name)
    assert payer is not None  # it yields once, or raises
    if payer.read_only:
        return not_paid("READ_ONLY", OTHER_DESK)
    lack = lack_of(payer, session.about, session.coin)
    return payer.account if lack is None else not_paid(NOT_ENOUGH, lack)


DEPOSIT = SigningKind[TrackedOrder](
    noun="payment",
    promise="order",
    expired="NOT_PAYABLE",
    done="The deposit is paid. The venue acts next.",
    work=_work,
    pays=_pays,
    whereabouts=_whereabouts,
    order_id=lambda session: session.id,
    lapse=_lapse,
    arrived="at the deposit address",
    rank=1,
)


def begin_deposit(
    running: RunningSignings, tracked: TrackedOrder, *, asked: bool = True
) -> DepositSession:
    """Begins the session that pays an order. ``asked`` is False if an earlier run left the payment
    open. Raises ValueError if the order was not confirmed at this desk."""
    intent = tracked.intent
    if intent is None:
        raise ValueError("the order was not confirmed at this desk")
    return running.begin(
        DEPOSIT,
        tracked.service_id,
        tracked,
        intent.token_in,
        provider=(intent.provider, intent.provider_name),
        asked=asked,
        notice="is paid. Next: the venue counts confirmations.",
    )


def deposits_left_open(running: RunningSignings) -> list[DepositSession]:
    """Begins and returns a session for each open wallet payment that this process is not working on
    yet. Raises JournalUnavailable."""
    sessions = []
    for act in unanswered(running.desk.journal.ledger):
        by_wallet = act.body.get("by") == "wallet"
        if not by_wallet or act.subject is None or running.get(act.subject):
            continue
        tracked = running.desk.link.tracker.get(act.subject)
        if tracked is not None and tracked.intent is not None:
            sessions.append(begin_deposit(running, tracked, asked=False))
    return sessions
