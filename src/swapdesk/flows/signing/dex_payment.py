"""Transactions of one swap: reviewed, signed, written down, sent, and followed to their end.

What was signed stands in the agent's records before a byte leaves, by intent and purpose. They
decide: a transaction found there is sent again as it is, and never made anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.signing.dex_watch import Watch
from swapdesk.flows.transactions.delivery import Pace, deliver
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import Payload, SolanaPayload, TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import CHAIN_UNREAD, Finding, Review, Severity
from swapdesk.wallet.transactions import (
    Signature,
    SignedTransaction,
    TransactionState,
)


@dataclass(frozen=True)
class Agreed:
    """The trader looked and says yes; ``phrase`` is what had to be typed for it."""

    phrase: str | None = None


Look = Callable[[Review], Awaitable[Agreed | None]]
"""Shows a review and answers what the trader says to it; None is no. It may raise NotAgreed with
another reason."""

MOST_LOOKS = 5
"""How often one payload is shown when chain or wallet changed under the review."""
AFTER_QUOTE = timedelta(hours=1)
"""So long after its quote the transaction of an order may be signed, whatever the order says."""

_LOOK_AGAIN = frozenset({RefusalCode.STALE_REVIEW, RefusalCode.UNKNOWN_REVIEW})


class NotAgreed(Exception):
    """The trader did not say yes to a review; nothing was signed."""

    def __init__(self, words: str = "You did not sign.", code: str = "NOT_CONFIRMED") -> None:
        super().__init__(words)
        self.code = code


class NotSignable(Exception):
    """The gate refuses what was to be signed; ``findings`` say why."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__(" ".join(one.words for one in findings))
        self.findings = findings
        refusing = [one.code for one in findings if one.severity is Severity.REFUSE]
        self.code = next(iter(refusing), "GATE")
        """The first rule that refuses."""


class StillOpen(Exception):
    """What became of a transaction is not known within the time that was given."""

    def __init__(self, hash_: str, problem: str | None = None) -> None:
        super().__init__(problem or "it is not final yet")
        self.hash = hash_


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
        self._look = look
        self._pace = pace
        self._watch = watch

    def order_until(self, until: datetime) -> None:
        """There is an order: its transaction may be signed until then, and the quote's end no
        longer counts; never longer than :data:`AFTER_QUOTE` behind it."""
        end = self._promise.valid_until
        if until > end:
            self._promise = replace(self._promise, valid_until=min(until, end + AFTER_QUOTE))

    async def sign(self, payload: Payload) -> Signature | SignedTransaction:
        """Review, show, sign. What changed under a review is reviewed and shown once more.

        Raises NotSignable and NotAgreed; then nothing was signed."""
        for look in range(1, MOST_LOOKS + 1):
            review = await self._wallet.review(payload, self._promise)
            self._watch.reviewed(payload, review)
            if review.refused:
                raise _refusal(review.findings)
            agreed = await self._look(review)
            if agreed is None or (review.phrase is not None and agreed.phrase != review.phrase):
                raise NotAgreed
            self._watch.signing(review)
            try:
                return await self._wallet.sign(review, agreed.phrase)
            except Refused as refused:
                if refused.code is RefusalCode.GATE:
                    raise _refusal(refused.findings) from None
                if refused.code not in _LOOK_AGAIN or look == MOST_LOOKS:
                    raise
        raise AssertionError("unreachable")

    async def of(self, purpose: Purpose) -> tuple[SignedTransaction, ...]:
        """What was signed for this swap and purpose, in that order."""
        signed = await self._wallet.transactions(self._promise.intent_id)
        return tuple(one for one in signed if one.purpose is purpose)

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Give up what no node has seen; anything else stays what it is."""
        if signed.state is not TransactionState.SIGNED:
            return signed
        return await self._wallet.abandon(signed.hash)

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


def _refusal(findings: tuple[Finding, ...]) -> NotSignable | Refused:
    """A chain that could not be read says nothing against a payload: it is asked again later."""
    for one in findings:
        if one.code == CHAIN_UNREAD:
            return Refused(RefusalCode.CHAIN_UNREACHABLE, one.words.rstrip("."))
    return NotSignable(findings)
