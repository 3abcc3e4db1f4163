"""The orders of one group, looked at again before each step and held against what was built."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.client.api import PartnerApi
from swapdesk.clock import Clock
from swapdesk.flows.batch.payable import Payables, changed, payables
from swapdesk.flows.batch.settle_words import BUILD_AGAIN, Stopped
from swapdesk.flows.batch.standing import group_standing
from swapdesk.flows.journal.batch_records import Built, JournaledGroup
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.wire.multi import MultiExchangeStatus
from swapdesk.wire.tokens import Token

SET_UP_SECONDS = 60.0
"""How long orders may take until they say where to pay."""


class GroupOrders:
    """``token_of`` finds a token of the desk's list. Methods raise ClientError."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        token_of: Callable[[str], Token | None],
        batch_id: str,
        group: JournaledGroup,
        multi_id: str,
        pace: Pace,
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._token_of = token_of
        self._batch_id = batch_id
        self._group = group
        self._multi_id = multi_id
        self._pace = pace

    async def to_pay(self) -> Payables:
        """The rows to pay, once no order is being set up any more."""
        ends = self._clock.monotonic() + SET_UP_SECONDS
        while True:
            found = self._read(await self._api.get_multi_exchange(self._multi_id))
            if not found.pending or self._clock.monotonic() >= ends:
                return found
            await self._clock.sleep(self._pace.look)

    async def require_same(self, built: Built) -> None:
        """Raises Stopped where the orders say otherwise than when they were first looked at: what
        is paid has to be told twice."""
        now = self._read(await self._api.get_multi_exchange(self._multi_id))
        differs = changed(built.deposits, now)
        if differs is not None:
            said = f"The group is not what it was when it was built: {differs}."
            raise Stopped("GROUP_CHANGED", said, BUILD_AGAIN)

    def _read(self, status: MultiExchangeStatus) -> Payables:
        """Without orders that were paid otherwise, or may have been."""
        paid = set(group_standing(self._journal, self._batch_id, self._group).paid)
        for row in self._group.rows:
            before = row.service_id and self._journal.calls.payment_of(row.service_id)
            if row.service_id is not None and before and not before.by_bundle:
                paid.add(row.service_id)
        return payables(self._group, status, self._token_of, self._clock.now(), paid)
