"""A swap on chains from its confirmation to the venue's turn: one intent, one order, one payment.

approve or sign what is missing, create the order, send its transaction, tell the service. Every
step is in the journal before it is done, so that :meth:`DexSwapFlow.take_on` goes on wherever an
earlier run stopped. What was paid is decided by the wallet agent's records alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError
from swapdesk.clock import Clock
from swapdesk.flows.creation.create_body import dex_body
from swapdesk.flows.creation.create_outcome import Created, NotCreated, Unknown
from swapdesk.flows.creation.dex_transaction import (
    NotThisSwap,
    deadline_of,
    settled_by_venue,
    told_by,
    transaction_of,
)
from swapdesk.flows.creation.exchange import LAST_MOMENT, ExchangeFlow
from swapdesk.flows.dex.dex_confirmation import DexConfirmation
from swapdesk.flows.dex.dex_ending import DexEnding
from swapdesk.flows.dex.dex_outcome import DexOutcome, Stopped, SwapEnded, SwapOpen
from swapdesk.flows.dex.dex_permission import ApprovalFailed, ChainBroken, DexPermission
from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.dex.dex_promise import promise_of
from swapdesk.flows.dex.dex_words import ended, goes_on, reverted
from swapdesk.flows.dex.solana_half import half_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.intent_log import TwinPending
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.dex_payment import (
    DexPayment,
    Look,
    NotAgreed,
    NotSignable,
    Pace,
    StillOpen,
)
from swapdesk.flows.signing.dex_watch import Watch
from swapdesk.flows.wallet.one_nonce import telling
from swapdesk.flows.wording import (
    ALREADY_ASKED,
    NO_JOURNAL,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused, WalletError
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.dex import GivenSignature
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import Order

TOO_LATE = timedelta(seconds=5)
"""A transaction that was never sent and ends this soon would be executed in vain."""


class DexSwapFlow:
    """``look`` shows each review and hears what the trader says; ``watch`` hears how it goes;
    ``on_waiting`` is called when the outcome of the create has to be looked up."""

    def __init__(
        self,
        api: PartnerApi,
        exchange: ExchangeFlow,
        journal: Journal,
        clock: Clock,
        wallet: WalletClient,
        look: Look,
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        watch: Watch | None = None,
        on_waiting: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self._exchange = exchange
        self._journal = journal
        self._clock = clock
        self._wallet = wallet
        self._look = look
        self._pace = pace
        self._watch = watch or Watch()
        self._on_waiting = on_waiting

    async def swap(self, intent: Intent, plan: SwapPlan | None = None) -> DexOutcome:
        """A new swap; ``plan`` as it was confirmed, where it was known. Raises NoDexSwap for an
        intent that is none."""
        promise_of(intent)
        if intent.id in self._exchange.running:
            return SwapEnded(ALREADY_ASKED, "ALREADY_ASKED")
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return SwapEnded(QUOTE_ENDED, "QUOTE_EXPIRED")
        try:
            if self._journal.intents.get(intent.id) is not None:
                return SwapEnded(ALREADY_ASKED, "ALREADY_ASKED")
            digest = hashlib.sha256(json.dumps(intent.as_json()).encode()).hexdigest()
            told = None if plan is None else {"plan": plan.as_json()}
            self._journal.intents.add(intent, "permission", digest, told)
        except JournalUnavailable:
            return SwapEnded(NO_JOURNAL, "NO_JOURNAL")
        except TwinPending:
            return SwapEnded(OUTCOME_PENDING, "OUTCOME_PENDING")
        return await self._run(intent)

    async def take_on(self, intent: Intent) -> DexOutcome | None:
        """Go on with a swap that an earlier run left open; None while another desk has it."""
        try:
            if intent.id in self._exchange.running or not self._journal.intents.adopt(intent.id):
                return None
        except JournalUnavailable:
            return SwapOpen(NO_JOURNAL, "NO_JOURNAL", intent.id)
        return await self._run(intent)

    async def _run(self, intent: Intent) -> DexOutcome:
        self._exchange.running.add(intent.id)
        try:
            return await _Work(self, intent).done()
        finally:
            self._exchange.running.discard(intent.id)


class _Work:
    """One run over one swap."""

    def __init__(self, flow: DexSwapFlow, intent: Intent) -> None:
        self._api = flow._api
        self._exchange = flow._exchange
        self._journal = flow._journal
        self._clock = flow._clock
        self._pace = flow._pace
        self._on_waiting = flow._on_waiting
        self._intent = intent
        self._promise = promise_of(intent)
        self._payment = DexPayment(
            flow._wallet,
            flow._journal,
            flow._clock,
            self._promise,
            flow._look,
            flow._pace,
            flow._watch,
        )
        self._ending = DexEnding(intent, flow._journal)
        self._confirmation = DexConfirmation(
            flow._api, flow._journal, flow._clock, intent, self._ending, flow._pace
        )

    async def done(self) -> DexOutcome:
        try:
            return await self._through()
        except JournalUnavailable:
            order_id = self._ending.order_id
            return SwapOpen(NO_JOURNAL, "NO_JOURNAL", self._intent.id, order_id)

    async def _through(self) -> DexOutcome:
        try:
            order = await self._ordered()
            self._ending.order_id = order.service_id
            hash_ = await self._paid(order)
            return await self._confirmation.told(order, hash_)
        except (
            Stopped,
            StillOpen,
            NotAgreed,
            NotSignable,
            ChainBroken,
            ApprovalFailed,
            NotThisSwap,
            WalletError,
            ClientError,
        ) as stop:
            return self._ending.of(stop)

    # The order

    async def _ordered(self) -> Order:
        """The order of this swap, created now or before."""
        step = self._journal.swaps.last(self._intent.id, "create")
        known = self._journal.swaps.order_of(self._intent.id)
        if known is not None:
            return await self._again(known)
        if step is not None and step.sent_at is not None:
            before = self._journal.orders.index.seen_before(step.sent_at)
            if step.state is StepState.SENT:
                self._journal.intents.mark_unknown(self._intent.id, code="INTERRUPTED")
            return self._adopted(
                await self._exchange.resolve(self._intent, step.server_at or step.sent_at, before)
            )
        if self._intent.valid_until - self._clock.now() <= LAST_MOMENT:
            for signed in await self._payment.of(Purpose.APPROVE):
                await self._payment.give_up_unsent(signed)
            raise Stopped(self._ending.end("QUOTE_EXPIRED", QUOTE_ENDED.cause))
        body = dex_body(self._intent, await self._permitted())
        return self._adopted(
            await self._exchange.create_onchain(self._intent, body, self._on_waiting)
        )

    async def _permitted(self) -> list[GivenSignature]:
        """What was signed so that the venue may take the tokens. On Solana it takes none: both
        sides pay in the order's transaction."""
        if self._promise.chain_id is None:
            return []
        permission = DexPermission(
            self._api, self._journal, self._clock, self._intent, self._payment, self._pace
        )
        return await permission.obtain()

    async def _again(self, service_id: str) -> Order:
        """The order as the journal has it; what to send is read from the service where not."""
        self._ending.order_id = service_id
        known = self._journal.orders.get(service_id)
        if known is not None and known.order.metadata is not None:
            return known.order
        return await self._api.get_order(service_id)

    def _adopted(self, outcome: Created | NotCreated | Unknown) -> Order:
        if isinstance(outcome, Created):
            self._ending.order_id = outcome.order.service_id
            if outcome.check.hard:
                seq = self._journal.swaps.begin(self._intent.id, "swap", "")
                self._journal.swaps.refused(self._intent.id, seq, "ORDER_DIFFERS")
                said = outcome.withheld or "This order is not what you confirmed."
                raise Stopped(
                    SwapEnded(self._ending.words(said), "ORDER_DIFFERS", self._ending.order_id)
                )
            return outcome.order
        if isinstance(outcome, NotCreated):
            cause = outcome.failure.cause
            if isinstance(outcome.error, ApiError) and outcome.error.message:
                # A price that moved and an approval that is missing have the same code.
                cause = f'{cause} The service says: "{outcome.error.message}"'
            words = ended(cause, self._ending.money())
            self._ending.refuse_open_step(outcome.code)
            raise Stopped(SwapEnded(words, outcome.code, error=outcome.error))
        words = goes_on(OUTCOME_UNKNOWN.cause, self._ending.money(), outcome.failure.next)
        raise Stopped(SwapOpen(words, "OUTCOME_UNKNOWN", self._intent.id))

    # The payment

    async def _paid(self, order: Order) -> str | None:
        """The hash of the order's transaction, executed; None where the venue settles."""
        hash_ = await self._kept(order)
        if hash_ is None:
            told = told_by(order)
            if settled_by_venue(told):
                return None
            self._payment.order_until(deadline_of(told))
            digest = hashlib.sha256(encode_json(told)).hexdigest()
            read = half_of if self._promise.chain_id is None else transaction_of
            hash_ = await self._payment.send_new("swap", digest, read(told, self._promise))
        try:
            found = await self._payment.settle(hash_, "swap")
        except Refused as refused:
            # The bytes are written down and are what may be sent once more.
            words = goes_on(f"{refused.words}.", self._ending.whereabouts())
            raise Stopped(self._ending.open("NOT_SENT", words, hash_=hash_)) from None
        hash_ = found.hash
        if found.state is TransactionState.SUCCEEDED:
            return hash_
        if found.state is TransactionState.FAILED:
            raise Stopped(SwapEnded(reverted(hash_), "REVERTED", self._ending.order_id, hash_))
        said = f"The transaction {hash_} of the order was {found.state.value} and moves nothing."
        raise Stopped(
            SwapEnded(
                self._ending.words(said), found.state.value.upper(), self._ending.order_id, hash_
            )
        )

    async def _kept(self, order: Order) -> str | None:
        """The transaction that stands in the wallet's records, whatever the service says by now;
        None where there is none. One that nobody has seen and that would come too late is given
        up."""
        before = await self._payment.of(Purpose.SWAP)
        kept = [one for one in before if one.state is not TransactionState.ABANDONED]
        pays = telling(kept)
        if pays is None:
            return None
        if pays.state is TransactionState.SIGNED and self._too_late(order):
            await self._payment.give_up_unsent(pays)
            raise Stopped(
                self._ending.end("TOO_LATE", "The order's transaction was not sent in time.")
            )
        self._note(pays)
        return pays.hash

    def _too_late(self, order: Order) -> bool:
        try:
            ends = deadline_of(told_by(order))
        except NotThisSwap:
            return False
        return ends - self._clock.now() <= TOO_LATE

    def _note(self, signed: SignedTransaction) -> None:
        """Bring the journal to what the wallet's records say."""
        swaps, intent_id = self._journal.swaps, self._intent.id
        step = swaps.last(intent_id, "swap")
        if step is None:
            swaps.sent(intent_id, swaps.begin(intent_id, "swap", ""), hash=signed.hash)
        elif step.state is StepState.PREPARED:
            swaps.sent(intent_id, step.seq, hash=signed.hash)
