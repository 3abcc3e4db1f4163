"""An order becomes one of this desk: journaled hidden, repeated by the service, compared, and only
then may its deposit address be shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.client.receipt import Receipt
from swapdesk.clock import Clock
from swapdesk.flows.creation.create_outcome import Created
from swapdesk.flows.creation.order_check import OrderCheck, check_order, check_repeat
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.intents.standing import (
    NO_ADDRESS_TEXT,
    NO_SUCH_TEXT,
    UNREPEATED,
    Standing,
    Verdict,
)
from swapdesk.flows.journal.folding import display_of, ended
from swapdesk.flows.journal.journal import Journal
from swapdesk.wire.orders import Order

LATEST = timedelta(minutes=1)
"""How long after the end of its quote an order may become known that the service does not know."""


class Adoption:
    """Of orders for intents of the journal. ``lower_tolerance`` is percent of the agreed output
    that may be missing unasked."""

    def __init__(
        self, api: PartnerApi, journal: Journal, clock: Clock, lower_tolerance: Decimal
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._lower_tolerance = lower_tolerance

    async def created(self, intent: Intent, receipt: Receipt[Order]) -> Created:
        """The order that a create was answered with. Raises OrderTaken and JournalUnavailable:
        then nothing of it may be shown."""
        return await self._adopt(intent, receipt.made, False, receipt.request_id)

    async def found_again(self, intent: Intent, order: Order) -> Created:
        """The order of a create whose outcome was unknown. Raises as :meth:`created`."""
        return await self._adopt(intent, order, True)

    async def _adopt(
        self, intent: Intent, order: Order, found_again: bool, request_id: str | None = None
    ) -> Created:
        check = self._check(intent, order)
        stands = self._journal.intents.mark_created(
            intent.id,
            order,
            source="list" if found_again else "create",
            verdict=check.verdict if check.hard else UNREPEATED,
            resolved=found_again,
            request_id=request_id,
        )
        if stands.standing is not Standing.UNREPEATED:
            return Created(order, check, stands, found_again)
        return await self._repeat(Created(order, check, stands, found_again), intent)

    async def confirm_again(self, intent: Intent, known: Order) -> Created:
        """Compare an order whose repetition failed, was late, or that a restart interrupted.

        ``known`` is the order as journaled; raises JournalUnavailable.
        """
        check = self._check(intent, known)
        return await self._repeat(Created(known, check, UNREPEATED), intent)

    async def _repeat(self, created: Created, intent: Intent) -> Created:
        """Let the service repeat the order until it repeated an address it gave before."""
        order = created.order
        for _ in range(2):
            try:
                repeated = await self._api.get_order(order.service_id)
            except NotFound:
                return self._unheard_of(created, intent)
            except ClientError:
                return created
            check = self._check(intent, repeated)
            differs = check_repeat(order, repeated)
            check = OrderCheck((*differs, *check.hard), check.lower_by, check.provider_changed)
            created = Created(repeated, check, created.verdict, created.found_again)
            repeats_address = order.deposit_address is not None or intent.route == "dex"
            order = repeated
            if check.hard or repeats_address or ended(display_of(repeated)):
                stands = self._journal.orders.settle(order.service_id, check.verdict)
                return replace(created, verdict=stands)
            if repeated.deposit_address is None:
                break
        return replace(created, verdict=Verdict(Standing.UNREPEATED, NO_ADDRESS_TEXT))

    def _unheard_of(self, created: Created, intent: Intent) -> Created:
        """The service knows no order of this id. Soon after the create it may only be late."""
        verdict = Verdict(Standing.UNREPEATED, NO_SUCH_TEXT)
        if self._clock.now() - intent.valid_until > LATEST:
            never = Verdict(Standing.DIFFERS, NO_SUCH_TEXT)
            verdict = self._journal.orders.settle(created.order.service_id, never)
        return replace(created, verdict=verdict, missing=True)

    def _check(self, intent: Intent, order: Order) -> OrderCheck:
        return check_order(
            intent, order, now=self._clock.now(), lower_tolerance=self._lower_tolerance
        )
