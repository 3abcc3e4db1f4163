"""Creates of orders: of one exchange, of the groups of a batch; and payments by the faucet.

One of each is in flight at a time, and leaving a page cancels none of them. The batch that is
open, one at a time, outlives its page too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.controls import BatchWork
from swapdesk.tui.messages import BatchMoved, CreateEnded, CreateWaiting, DepositPaid

if TYPE_CHECKING:
    from swapdesk.flows.batch.creation import BatchCreation
    from swapdesk.flows.batch.plan import BatchPlan
    from swapdesk.flows.creation.order_verification import Created
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.controllers.navigation import DeskHost, Navigation


class CreateController:
    """``creating`` is the id of the intent whose create is in flight."""

    def __init__(self, host: DeskHost, navigation: Navigation) -> None:
        self._host = host
        self._session = host.session
        self._navigation = navigation
        self._paying: str | None = None
        self.creating: str | None = None

    def create(self, intent: Intent) -> bool:
        """Post the intent; False while another create is in flight."""
        if self.creating is not None:
            return False
        self.creating = intent.id
        self._host.run_worker(self._create(intent), group="create", exit_on_error=False)
        return True

    async def _create(self, intent: Intent) -> None:
        def waiting() -> None:
            self._host.post_message(CreateWaiting())

        try:
            outcome = await self._session.desk.link.exchange.create(intent, on_waiting=waiting)
        finally:
            self.creating = None
        self._host.post_message(CreateEnded(intent, outcome))

    def pay_by_faucet(self, tracked: TrackedOrder) -> bool:
        """Pay a deposit from the sandbox's faucet; False while one is being paid."""
        if self._paying is not None:
            return False
        self._paying = tracked.service_id
        self._host.run_worker(self._pay(tracked), group="deposit", exit_on_error=False)
        return True

    async def _pay(self, tracked: TrackedOrder) -> None:
        faucet = self._session.desk.link.faucet
        assert faucet is not None  # the key exists only with one
        try:
            outcome = await faucet.pay(tracked)
        finally:
            self._paying = None
        self._host.post_message(DepositPaid(tracked.service_id, outcome))

    def create_waiting(self) -> None:
        from swapdesk.tui.screens.create import CreateScreen

        for screen in self._host.screen_stack:
            if isinstance(screen, CreateScreen):
                screen.waiting()
        self._told_anew()

    async def create_ended(self, event: CreateEnded) -> None:
        from swapdesk.flows.creation.order_verification import Created
        from swapdesk.flows.tracking.open_business import create_ended
        from swapdesk.tui.screens.create import CreateScreen

        outcome = event.outcome
        shown = next(
            (
                one
                for one in self._host.screen_stack
                if isinstance(one, CreateScreen) and one.state.sent_intent == event.intent.id
            ),
            None,
        )
        if isinstance(outcome, Created):
            await self._order_exists(outcome, open_it=shown is not None)
        elif shown is not None:
            shown.ended(outcome)
        else:
            # It ended while another screen is looked at: say which order is meant.
            self._host.notify(create_ended(event.intent, outcome), severity="warning")
        self._told_anew()

    def _told_anew(self) -> None:
        """The page in view says anew where the funds are."""
        page = self._navigation.page
        if page is not None:
            page.orders_changed(frozenset())

    async def _order_exists(self, created: Created, *, open_it: bool) -> None:
        from swapdesk.flows.deposits.deposit_phase import DepositPhase
        from swapdesk.flows.tracking.announcements import found_again, order_open
        from swapdesk.tui.screens.deposit import DepositScreen

        order = created.order
        tracked = self._session.desk.link.tracker.adopt(order.service_id)
        if open_it:
            page = DepositScreen(self._session, order.service_id)
            await self._navigation.finish_with(page)
        if created.withheld is not None:
            return
        confirmed = tracked.intent if tracked is not None else None
        said = found_again(order) if created.found_again else order_open(order, confirmed)
        if isinstance(shown := self._host.screen, DepositScreen):
            # It says what to send, so it goes when nothing is to be sent any more.
            shown.show_notice(said, about=DepositPhase.WAITING)
        else:
            self._host.notify(said)

    def deposit_paid(self, event: DepositPaid) -> None:
        if event.outcome.done:
            self._host.notify("The deposit is on its way. Next: the chain confirms it.")
        else:
            self._host.notify(event.outcome.cause, severity="warning")
        page = self._navigation.page
        if page is not None:
            page.refresh_frame()
            page.orders_changed(frozenset({event.service_id}))


class BatchController:
    """``work``: what was loaded, or what an earlier run left open, or nothing yet."""

    def __init__(self, host: DeskHost) -> None:
        self._host = host
        self._session = host.session
        self.work = BatchWork()

    def create(self, plan: BatchPlan, *, agreed: bool = False) -> None:
        """Write the rows of a plan down and create them, ``agreed`` with what is doubted in it.
        Raises NotCreatable, ClaimTaken and JournalUnavailable, and nothing was sent then."""
        creation = self._creation()
        self.work.batch_id = creation.write(plan, agreed=agreed)
        self.go_on()

    def go_on(self) -> None:
        """Create what waits to be, and look for what may have been created."""
        batch_id = self.work.batch_id
        if batch_id is None or self.work.creating:
            return
        self.work.creating = True
        # A screen that is left takes its workers with it: a create is none of them.
        self._host.run_worker(
            self._create_groups(batch_id), group="batch-create", exit_on_error=False
        )

    def _creation(self) -> BatchCreation:
        from swapdesk.flows.batch.creation import BatchCreation

        desk = self._session.desk
        return BatchCreation(desk.link.api, desk.journal, desk.clock)

    async def _create_groups(self, batch_id: str) -> None:
        from swapdesk.client.errors import ClientError
        from swapdesk.flows.journal.journal_file import JournalUnavailable

        failure = ""
        try:
            async for _, error in self._creation().run(batch_id):
                said = "" if error is None else f"{error}. Nothing was paid."
                self._host.post_message(BatchMoved(batch_id, said))
        except (ClientError, JournalUnavailable) as error:
            failure = f"{error}. Nothing was paid."
        finally:
            self.work.creating = False
        self._host.post_message(BatchMoved(batch_id, failure))

    def batch_moved(self, event: BatchMoved) -> None:
        from swapdesk.tui.screens.batch import BatchScreen

        shown = isinstance(self._host.screen, BatchScreen)
        for screen in self._host.screen_stack:
            if isinstance(screen, BatchScreen):
                screen.batch_moved(event.failure)
        if event.failure and not shown:
            self._host.notify(f"The batch: {event.failure}", severity="warning")
