"""The transfer of a deposit as it is made and signed; made anew while it is looked at too long.

A transfer on Solana names a block and is executed for about a minute after it. What grew too old
under the eyes of the trader is made over a newer block and shown once more: another transaction,
another review, another signature.
"""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.clock import Clock
from swapdesk.flows.deposits.deposit_promise import deposit_payload
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.transactor import (
    Agreed,
    Look,
    NotAgreed,
    NotSignable,
    Transactor,
    Watch,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import SolanaPayload, TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import Signature, SignedTransaction

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
        """Raises NotPayable, NotAgreed, NotSignable and WalletError; then nothing was signed."""
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
        made = await self._client.solana_deposit(self._promise)
        return SolanaPayload(Purpose.DEPOSIT, made.transaction, made.last_valid_height)

    async def _looked(self, review: Review) -> Agreed | None:
        self._seen = True
        try:
            return await self._look(review)
        except NotAgreed:
            # It is the review that is over, and not the order.
            deposit, now = self._promise.deposit, self._clock.now()
            self._over = deposit is not None and review.valid_until <= now < deposit.expires
            raise
