"""Transactions of the wallet for one group: each in the journal before it is signed, once.

What was signed stands in the wallet's own records before a byte leaves, by its intent. They
decide: a transaction found there is sent on as it is, and no other one is signed beside it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.flows.batch.payable import LEAST_LEFT
from swapdesk.flows.journal.bundle_records import FundingNeed, Paying, WalletPayment
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.signing.dex_payment import DexPayment
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.same_nonce import decisive
from swapdesk.flows.transactions.transactor import Look, NotAgreed, NotSignable, Watch
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone, Refused
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import FINAL, HARMLESS, SignedTransaction, TransactionState

MakePayload = Callable[[], Awaitable[Payload]]
"""What is to be signed, made when nothing was signed before. Raises what its maker raises."""

PromiseOf = Callable[[WalletPayment], Promise]
"""What names a transaction that was begun."""

_NOT_TAKEN = frozenset({RefusalCode.CHAIN_UNREACHABLE, RefusalCode.CHAIN_REFUSED})
_PURPOSES = {Paying.FUND: Purpose.FUND, Paying.PART: Purpose.BUNDLE}
_STEP = "send"


class GroupPayments:
    """Of one group. Methods raise WalletError, StillOpen and JournalUnavailable."""

    def __init__(
        self,
        client: WalletClient,
        journal: Journal,
        clock: Clock,
        look: Look,
        pace: Pace,
        watch: Watch,
        batch_id: str,
        group: int,
    ) -> None:
        self._client = client
        self._journal = journal
        self._log = journal.payments
        self._clock = clock
        self._look = look
        self._pace = pace
        self._watch = watch
        self._batch_id = batch_id
        self._group = group

    @property
    def all(self) -> list[WalletPayment]:
        return self._log.of(self._batch_id, self._group)

    def of(self, intent_id: str) -> WalletPayment | None:
        """The newest payment under an intent."""
        return next((one for one in reversed(self.all) if one.intent_id == intent_id), None)

    async def send(
        self,
        paying: Paying,
        need: FundingNeed,
        promise: Promise,
        make: MakePayload,
        service_ids: Sequence[str] = (),
    ) -> None:
        """Sign the transaction of an intent and send it, or send what was signed before; what
        becomes of it :meth:`follow_all` says. What does not leave is waited for here, since
        nothing else may be signed before.

        Raises NotAgreed and NotSignable; then nothing was signed."""
        payment = self._payment(promise)
        kept = await self._kept(payment, _PURPOSES[paying])
        entry = self.of(promise.intent_id)
        payload = await make() if kept is None else None
        if entry is None or (kept is None and not entry.open):
            entry = self._log.begin(
                self._batch_id, self._group, paying, need, promise.intent_id, service_ids
            )
        if kept is None:
            assert payload is not None  # made above
            kept = await self._signed(payment, payload, entry)
        if kept.state in FINAL or not await self._sent(kept, promise.valid_until):
            await self._settled(payment, entry, kept, promise.valid_until)

    async def _sent(self, signed: SignedTransaction, until: datetime) -> bool:
        """Whether a node has the bytes."""
        if self._clock.now() >= until - LEAST_LEFT:
            return False
        try:
            self._watch.seen(await self._client.broadcast(signed.hash))
        except Refused as refused:
            if refused.code not in _NOT_TAKEN:
                raise
            return False
        return True

    async def follow_all(self, promise_of: PromiseOf) -> None:
        """Go on with everything that was begun, signing nothing, until each is over."""
        for entry in self.all:
            if entry.open:
                await self.follow(entry, promise_of(entry))

    async def follow(self, entry: WalletPayment, promise: Promise) -> SignedTransaction | None:
        """Go on with what was begun, signing nothing: its end, or None where nothing was signed,
        which is committed."""
        payment = self._payment(promise)
        kept = await self._kept(payment, _PURPOSES[entry.paying])
        if kept is None:
            self._set(entry, StepState.REFUSED, code="NOT_SIGNED")
            return None
        return await self._settled(payment, entry, kept, promise.valid_until)

    def _payment(self, promise: Promise) -> DexPayment:
        return DexPayment(
            self._client,
            self._journal,
            self._clock,
            promise,
            self._look,
            self._pace,
            self._watch,
        )

    async def _kept(self, payment: DexPayment, purpose: Purpose) -> SignedTransaction | None:
        """The one that pays, or may still; what never left a wallet counts as well."""
        return decisive([one for one in await payment.of(purpose) if one.state not in HARMLESS])

    async def _signed(
        self, payment: DexPayment, payload: Payload, entry: WalletPayment
    ) -> SignedTransaction:
        try:
            signed = await payment.sign(payload)
        except NotAgreed as said_no:
            self._set(entry, StepState.REFUSED, code=said_no.code)
            raise
        except NotSignable as refused:
            self._set(entry, StepState.REFUSED, code=refused.code)
            raise
        except AgentGone:
            # Whether it was signed stands in the wallet's records.
            raise
        except Refused as refused:
            if refused.code is not RefusalCode.ALREADY_SIGNED:
                self._set(entry, StepState.REFUSED, code=refused.code.upper())
            raise
        assert isinstance(signed, SignedTransaction)
        self._set(entry, StepState.SENT, hash_=signed.hash)
        return signed

    async def _settled(
        self,
        payment: DexPayment,
        entry: WalletPayment,
        signed: SignedTransaction,
        until: datetime,
    ) -> SignedTransaction:
        if self._clock.now() >= until - LEAST_LEFT:
            # What never left pays no order any more.
            signed = await payment.give_up_unsent(signed)
        self._watch.seen(signed)
        if entry.state is StepState.PREPARED or entry.hash != signed.hash:
            self._set(entry, StepState.SENT, hash_=signed.hash)
        found = signed if signed.state in FINAL else await payment.settle(signed, _STEP)
        if found.state is TransactionState.SUCCEEDED:
            self._set(entry, StepState.ACKED, hash_=found.hash)
        else:
            self._set(entry, StepState.REFUSED, code=found.state.value.upper())
        return found

    def _set(
        self,
        entry: WalletPayment,
        state: StepState,
        *,
        hash_: str | None = None,
        code: str | None = None,
    ) -> None:
        self._log.set(self._batch_id, self._group, entry, state, hash_=hash_, code=code)
