"""The word to the service that an order's transaction was executed (contract 10.10).

It is repeated with the same hash however often; a service that knows it already is content.
"""

from __future__ import annotations

from dataclasses import replace

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError
from swapdesk.clock import Clock
from swapdesk.flows.dex.dex_ending import DexEnding
from swapdesk.flows.dex.dex_permission import asked
from swapdesk.flows.dex.dex_words import goes_on
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wire.dex import ConfirmTransactionRequest
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order

CONFIRMATIONS_ASKED = 5
"""How often a run tells the service of a transaction that it does not see yet."""


class DexConfirmation:
    """Of one run over one swap. Raises JournalUnavailable."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        intent: Intent,
        ending: DexEnding,
        pace: Pace,
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._intent = intent
        self._ending = ending
        self._pace = pace

    async def told(self, order: Order, hash_: str | None) -> Outcome:
        """Confirm, with the same hash however often; a service that knows it is content."""
        swaps, intent_id = self._journal.swaps, self._intent.id
        step = swaps.last(intent_id, "confirm")
        seq = step.seq if step is not None else swaps.begin(intent_id, "confirm", hash_ or "")
        swaps.sent(intent_id, seq)
        request = ConfirmTransactionRequest(id=order.service_id, tx_hash=hash_)
        code, error = "NOT_SEEN_YET", None
        for attempt in range(1, CONFIRMATIONS_ASKED + 1):
            try:
                known = await asked(
                    self._clock, self._pace, lambda: self._api.dex_confirm_transaction(request)
                )
            except ApiError as refused:
                if refused.code != ErrorCode.ALREADY_SUBMITTED:
                    return self._not_confirmed(refused, seq, hash_)
                known = True
            except ClientError as lost:
                code, error, known = "NO_ANSWER", lost, False
            if known:
                swaps.acked(intent_id, seq)
                newest = await self._newest(order)
                return Outcome(hash=hash_, order_id=newest.service_id, order=newest)
            await self._clock.sleep(2 * attempt * self._pace.look)
        swaps.unknown(intent_id, seq, code)
        said = "The service has not taken note of the swap yet."
        words = goes_on(said, self._ending.paid_money(hash_))
        return replace(self._ending.open(code, words, hash_), error=error)

    def _not_confirmed(self, refused: ApiError, seq: int, hash_: str | None) -> Outcome:
        """A refusal is told and not final where money left: the service may see it later."""
        code = refused.code or f"HTTP_{refused.status}"
        said = f"The service does not take the swap's transaction: {refused.message}"
        if hash_ is None:
            self._journal.swaps.refused(self._intent.id, seq, code)
            return replace(self._ending.over(code, self._ending.words(said)), error=refused)
        self._journal.swaps.unknown(self._intent.id, seq, code)
        who = f"you: send the service the order id and transaction {hash_}"
        words = goes_on(said, self._ending.paid_money(hash_), who)
        return replace(self._ending.open(code, words, hash_), error=refused)

    async def _newest(self, order: Order) -> Order:
        try:
            return await self._api.get_order(order.service_id)
        except ClientError:
            return order
