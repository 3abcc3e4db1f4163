"""The steps of one swap that the wallet signs: each in the journal, signed once, sent to its end.

What was signed stands in the agent's records by intent and purpose before a byte leaves. They
decide: a transaction found there is sent again as it is, and never made anew.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.journal.dex_log import DexLog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.transactor import Entry, Look, Transactor, Watch
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import Payload, SolanaPayload, TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import Signature, SignedTransaction

AFTER_QUOTE = timedelta(hours=1)
"""So long after its quote the transaction of an order may be signed, whatever the order says."""

AGAIN_LATER = frozenset({RefusalCode.LOCKED, RefusalCode.READ_ONLY, RefusalCode.CHAIN_UNREACHABLE})
"""The swap goes on behind these, so that its step stays open: a refused one ends the swap."""
_LATER = frozenset(code.value.upper() for code in AGAIN_LATER)


class _Step(Entry):
    """The newest step of one name in the journal. ``told`` stands with it once it is signed."""

    def __init__(
        self, swaps: DexLog, intent_id: str, name: str, digest: str, told: dict[str, Any]
    ) -> None:
        self._swaps = swaps
        self._intent_id = intent_id
        self._name = name
        self._digest = digest
        self._told = told

    def begin(self) -> None:
        self._swaps.begin(self._intent_id, self._name, self._digest)

    def signed(self, hash_: str) -> None:
        """Brings the journal to what the wallet's records say."""
        step = self._swaps.last(self._intent_id, self._name)
        if step is None:
            self._sent(self._swaps.begin(self._intent_id, self._name, self._digest), hash_)
        elif step.state is StepState.PREPARED:
            self._sent(step.seq, hash_)

    def _sent(self, seq: int, hash_: str) -> None:
        self._swaps.sent(self._intent_id, seq, hash=hash_, **self._told)

    def done(self, hash_: str) -> None:
        step = self._swaps.last(self._intent_id, self._name)
        if step is not None:
            self._swaps.acked(self._intent_id, step.seq, **{**step.told, "hash": hash_})

    def refused(self, code: str, hash_: str | None = None) -> None:
        step = self._swaps.last(self._intent_id, self._name)
        if step is not None and (hash_ is not None or code not in _LATER):
            self._swaps.refused(self._intent_id, step.seq, code)


class _SignatureStep(_Step):
    """A step that signs a document; ``told`` stands with it while it is signed."""

    def begin(self) -> None:
        seq = self._swaps.begin(self._intent_id, self._name, self._digest)
        self._swaps.sent(self._intent_id, seq, **self._told)

    def given(self, signature: Signature) -> None:
        step = self._swaps.last(self._intent_id, self._name)
        assert step is not None  # begun above
        told = {**self._told, "signature": signature.signature, "taken": str(signature.taken)}
        self._swaps.acked(self._intent_id, step.seq, **told)


class SignedSteps:
    """Of one swap. Methods raise WalletError where the agent cannot be asked."""

    def __init__(
        self,
        wallet: WalletClient,
        journal: Journal,
        clock: Clock,
        promise: Promise,
        look: Look,
        pace: Pace,
        watch: Watch,
    ) -> None:
        self._swaps = journal.swaps
        self._promise = promise
        self._transactor = Transactor(wallet, clock, pace, look, watch)

    def order_until(self, until: datetime) -> None:
        """There is an order: its transaction may be signed until then, and the quote's end no
        longer counts; never longer than :data:`AFTER_QUOTE` behind it."""
        end = self._promise.valid_until
        if until > end:
            self._promise = replace(self._promise, valid_until=min(until, end + AFTER_QUOTE))

    async def of(self, purpose: Purpose) -> tuple[SignedTransaction, ...]:
        """What was signed for this swap and purpose, in that order."""
        return await self._transactor.signed(self._promise.intent_id, purpose)

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Give up what no node has seen; anything else stays what it is."""
        return await self._transactor.give_up_unsent(signed)

    async def sign_document(self, step: str, digest: str, payload: Payload, kind: str) -> Signature:
        """The signature of a document. Raises NotSignable and NotAgreed."""
        entry = _SignatureStep(self._swaps, self._promise.intent_id, step, digest, {"kind": kind})
        return await self._transactor.confirm_document(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )

    async def sign_transaction(
        self, step: str, digest: str, payload: TransactionPayload | SolanaPayload, **told: Any
    ) -> SignedTransaction:
        """A transaction, signed; its bytes may leave then (:meth:`settle`). Raises NotSignable and
        NotAgreed."""
        entry = _Step(self._swaps, self._promise.intent_id, step, digest, told)
        return await self._transactor.confirm(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )

    async def settle(
        self, signed: SignedTransaction, step: str, *, until: datetime | None = None
    ) -> SignedTransaction:
        """Send the bytes, the same ones however often, and wait for their end: that of the
        transaction that was executed, where it got a higher fee meanwhile. Raises StillOpen when
        there is none in time, and Refused when the node does not take them."""
        entry = _Step(self._swaps, self._promise.intent_id, step, "", {})
        return await self._transactor.settle(signed, entry, until=until)
