"""The transaction of a swap's order: the one that stands in the wallet's records, or signed once,
sent and followed until it was executed."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from swapdesk.clock import Clock
from swapdesk.flows.creation.dex_transaction import (
    NotThisSwap,
    deadline_of,
    settled_by_venue,
    told_by,
    transaction_of,
)
from swapdesk.flows.dex.dex_ending import DexEnding, Stopped
from swapdesk.flows.dex.dex_words import goes_on, reverted
from swapdesk.flows.dex.signed_steps import SignedSteps
from swapdesk.flows.dex.solana_half import half_of
from swapdesk.flows.journal.dex_log import SWAP
from swapdesk.flows.transactions.same_nonce import decisive
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import Order

TOO_LATE = timedelta(seconds=5)
"""A transaction that was never sent and ends this soon would be executed in vain."""


class SwapTransaction:
    """Of one swap. ``steps`` signs and sends, ``ending`` says what an end comes to."""

    def __init__(
        self,
        clock: Clock,
        promise: Promise,
        steps: SignedSteps,
        ending: DexEnding,
    ) -> None:
        self._clock = clock
        self._promise = promise
        self._steps = steps
        self._ending = ending

    async def executed(self, order: Order) -> str | None:
        """The hash of the order's transaction, executed; None where the venue settles."""
        signed = await self._kept(order)
        if signed is None:
            told = told_by(order)
            if settled_by_venue(told):
                return None
            self._steps.order_until(deadline_of(told))
            digest = hashlib.sha256(encode_json(told)).hexdigest()
            read = half_of if self._promise.chain_id is None else transaction_of
            signed = await self._steps.sign_transaction(SWAP, digest, read(told, self._promise))
        try:
            found = await self._steps.settle(signed, SWAP)
        except Refused as refused:
            # The bytes are written down and are what may be sent once more.
            words = goes_on(f"{refused.words}.", self._ending.whereabouts())
            raise Stopped(self._ending.open("NOT_SENT", words, hash_=signed.hash)) from None
        hash_ = found.hash
        if found.state is TransactionState.SUCCEEDED:
            return hash_
        if found.state is TransactionState.FAILED:
            raise Stopped(self._ending.over("REVERTED", reverted(hash_), hash_))
        said = f"The transaction {hash_} of the order was {found.state.value} and moves nothing."
        words = self._ending.words(said)
        raise Stopped(self._ending.over(found.state.value.upper(), words, hash_))

    async def _kept(self, order: Order) -> SignedTransaction | None:
        """The transaction that stands in the wallet's records, whatever the service says by now;
        None where there is none. One that nobody has seen and that would come too late is given
        up."""
        before = await self._steps.of(Purpose.SWAP)
        kept = [one for one in before if one.state is not TransactionState.ABANDONED]
        pays = decisive(kept)
        if pays is None:
            return None
        if pays.state is TransactionState.SIGNED and self._too_late(order):
            await self._steps.give_up_unsent(pays)
            raise Stopped(
                self._ending.end("TOO_LATE", "The order's transaction was not sent in time.")
            )
        return pays

    def _too_late(self, order: Order) -> bool:
        try:
            ends = deadline_of(told_by(order))
        except NotThisSwap:
            return False
        return ends - self._clock.now() <= TOO_LATE
