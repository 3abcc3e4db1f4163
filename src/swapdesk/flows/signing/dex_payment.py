"""Transactions of one swap: reviewed, signed, written down, sent, and followed to their end.

What was signed stands in the agent's records before a byte leaves, by intent and purpose. They
decide: a transaction found there is sent again as it is, and never made anew.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace, deliver
from swapdesk.flows.transactions.transactor import (
    Look,
    NotAgreed,
    NotSignable,
    StillOpen,
    Transactor,
    Watch,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import Payload, SolanaPayload, TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.transactions import (
    Signature,
    SignedTransaction,
    TransactionState,
)

AFTER_QUOTE = timedelta(hours=1)
"""So long after its quote the transaction of an order may be signed, whatever the order says."""


class DexPayment:
    """The wallet's half of one swap. Raises WalletError where the agent cannot be asked."""

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
        self._wallet = wallet
        self._journal = journal
        self._clock = clock
        self._promise = promise
        self._pace = pace
        self._watch = watch
        self._transactor = Transactor(wallet, clock, pace, look, watch)

    def order_until(self, until: datetime) -> None:
        """There is an order: its transaction may be signed until then, and the quote's end no
        longer counts; never longer than :data:`AFTER_QUOTE` behind it."""
        end = self._promise.valid_until
        if until > end:
            self._promise = replace(self._promise, valid_until=min(until, end + AFTER_QUOTE))

    async def sign(self, payload: Payload) -> Signature | SignedTransaction:
        """Review, show, sign. Raises NotSignable and NotAgreed; then nothing was signed."""
        return await self._transactor.agree(payload, self._promise)

    async def of(self, purpose: Purpose) -> tuple[SignedTransaction, ...]:
        """What was signed for this swap and purpose, in that order."""
        return await self._transactor.signed(self._promise.intent_id, purpose)

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Give up what no node has seen; anything else stays what it is."""
        return await self._transactor.give_up_unsent(signed)

    async def send_new(
        self, step: str, digest: str, payload: TransactionPayload | SolanaPayload, **told: Any
    ) -> SignedTransaction:
        """Sign a transaction: step PREPARED, signed, SENT with its hash and ``told``, and only
        then its bytes may leave (:meth:`settle`)."""
        seq = self._journal.swaps.begin(self._promise.intent_id, step, digest)
        try:
            signed = await self.sign(payload)
        except NotAgreed as said_no:
            self._journal.swaps.refused(self._promise.intent_id, seq, said_no.code)
            raise
        except NotSignable as refused:
            self._journal.swaps.refused(self._promise.intent_id, seq, refused.code)
            raise
        assert isinstance(signed, SignedTransaction)
        self._journal.swaps.sent(self._promise.intent_id, seq, hash=signed.hash, **told)
        return signed

    async def settle(
        self, signed: SignedTransaction, step: str, *, until: datetime | None = None
    ) -> SignedTransaction:
        """Send the bytes, the same ones however often, and wait for their end: that of the
        transaction that was executed, where it got a higher fee meanwhile. Raises StillOpen when
        there is none in time, and Refused when the node does not take them."""
        came = await deliver(
            self._wallet, self._clock, signed, self._pace, until=until, seen=self._watch.seen
        )
        if came.error is not None:
            raise came.error
        if not came.final:
            raise StillOpen(signed.hash, came.reason)
        self._ended(step, came.transaction)
        return came.transaction

    def _ended(self, step: str, found: SignedTransaction) -> None:
        """The outcome is committed before it is shown."""
        swaps, intent_id = self._journal.swaps, self._promise.intent_id
        last = swaps.last(intent_id, step)
        if last is None:
            return
        if found.state is TransactionState.SUCCEEDED:
            swaps.acked(intent_id, last.seq, **{**last.told, "hash": found.hash})
        else:
            swaps.refused(intent_id, last.seq, found.state.value.upper())
