"""A swap on chains from its confirmation to the venue's turn: one intent, one order, one payment.

approve or sign what is missing, create the order, send its transaction, tell the service. Every
step is in the journal before it is done, so that :meth:`DexSwapFlow.take_on` goes on wherever an
earlier run stopped. What was paid is decided by the wallet agent's records alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError
from swapdesk.clock import Clock
from swapdesk.flows.creation.dex_transaction import (
    NotThisSwap,
)
from swapdesk.flows.creation.exchange import LAST_MOMENT, ExchangeFlow, dex_body
from swapdesk.flows.creation.order_verification import Created, NotCreated, Unknown
from swapdesk.flows.dex.dex_confirmation import DexConfirmation
from swapdesk.flows.dex.dex_ending import DexEnding, Stopped
from swapdesk.flows.dex.dex_permission import ApprovalFailed, ChainBroken, DexPermission
from swapdesk.flows.dex.dex_plan import SwapPlan
from swapdesk.flows.dex.dex_promise import promise_of
from swapdesk.flows.dex.dex_words import ended, goes_on
from swapdesk.flows.dex.signed_steps import SignedSteps
from swapdesk.flows.dex.swap_transaction import SwapTransaction
from swapdesk.flows.failure_messages import (
    ALREADY_ASKED,
    NO_JOURNAL,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
)
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.intent_log import TwinPending
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.outcome import Outcome, refused, still_open
from swapdesk.flows.transactions.transactor import Look, NotAgreed, NotSignable, StillOpen, Watch
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.promise import Purpose
from swapdesk.wire.dex import GivenSignature
from swapdesk.wire.orders import Order


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

    async def swap(self, intent: Intent, plan: SwapPlan | None = None) -> Outcome:
        """A new swap; ``plan`` as it was confirmed, where it was known. Raises NoDexSwap for an
        intent that is none."""
        promise_of(intent)
        if intent.id in self._exchange.running:
            return refused("ALREADY_ASKED", ALREADY_ASKED)
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return refused("QUOTE_EXPIRED", QUOTE_ENDED)
        try:
            if self._journal.intents.get(intent.id) is not None:
                return refused("ALREADY_ASKED", ALREADY_ASKED)
            digest = hashlib.sha256(json.dumps(intent.as_json()).encode()).hexdigest()
            told = None if plan is None else {"plan": plan.as_json()}
            self._journal.intents.add(intent, "permission", digest, told)
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)
        except TwinPending:
            return refused("OUTCOME_PENDING", OUTCOME_PENDING)
        return await self._run(intent)

    async def take_on(self, intent: Intent) -> Outcome | None:
        """Go on with a swap that an earlier run left open; None while another desk has it."""
        try:
            if intent.id in self._exchange.running or not self._journal.intents.adopt(intent.id):
                return None
        except JournalUnavailable:
            return still_open("NO_JOURNAL", NO_JOURNAL)
        return await self._run(intent)

    async def _run(self, intent: Intent) -> Outcome:
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
        self._steps = SignedSteps(
            flow._wallet,
            flow._journal,
            flow._clock,
            self._promise,
            flow._look,
            flow._pace,
            flow._watch,
        )
        self._ending = DexEnding(intent, flow._journal)
        self._transaction = SwapTransaction(flow._clock, self._promise, self._steps, self._ending)
        self._confirmation = DexConfirmation(
            flow._api, flow._journal, flow._clock, intent, self._ending, flow._pace
        )

    async def done(self) -> Outcome:
        try:
            return await self._through()
        except JournalUnavailable:
            return self._ending.open("NO_JOURNAL", NO_JOURNAL)

    async def _through(self) -> Outcome:
        try:
            order = await self._ordered()
            self._ending.order_id = order.service_id
            hash_ = await self._transaction.executed(order)
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
            for signed in await self._steps.of(Purpose.APPROVE):
                await self._steps.give_up_unsent(signed)
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
            self._api, self._journal, self._clock, self._intent, self._steps, self._pace
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
                raise Stopped(self._ending.over("ORDER_DIFFERS", self._ending.words(said)))
            return outcome.order
        if isinstance(outcome, NotCreated):
            cause = outcome.failure.cause
            if isinstance(outcome.error, ApiError) and outcome.error.message:
                # A price that moved and an approval that is missing have the same code.
                cause = f'{cause} The service says: "{outcome.error.message}"'
            words = ended(cause, self._ending.money())
            self._ending.refuse_open_step(outcome.code)
            raise Stopped(replace(refused(outcome.code, words), error=outcome.error))
        words = goes_on(OUTCOME_UNKNOWN.cause, self._ending.money(), outcome.failure.next)
        raise Stopped(still_open("OUTCOME_UNKNOWN", words))
