"""Controllers that create orders (for a single exchange or for a batch) and that pay deposits from
the sandbox's faucet. At most one create request, one faucet payment and one batch run at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.controllers.navigation import Controller

if TYPE_CHECKING:
    from swapdesk.flows.batch.creation import BatchCreation
    from swapdesk.flows.batch.plan import BatchPlan, Means
    from swapdesk.flows.batch.planner import BatchPlanner
    from swapdesk.flows.creation.order_verification import Created, CreateOutcome
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.transactions import Outcome
    from swapdesk.tui.controllers.navigation import Navigation


class CreateController(Controller):
    """The controller that creates the order of a single exchange and pays deposits from the
    sandbox's faucet."""

    def __init__(self, navigation: Navigation) -> None:
        super().__init__(navigation)
        self._paying: str | None = None
        self.creating: str | None = None

    def create(self, intent: Intent) -> bool:
        """Begins to create the order that the user confirmed as ``intent``. Returns False, and does
        nothing, while an earlier create request has no answer."""
        if self.creating is not None:
            return False
        self.creating = intent.id
        self._app.run_worker(self._create(intent), group="create", exit_on_error=False)
        return True

    async def _create(self, intent: Intent) -> None:
        def waiting() -> None:
            self._app.call_later(self._waits)

        try:
            outcome = await self._session.desk.link.exchange.create(intent, on_waiting=waiting)
        finally:
            self.creating = None
        self._app.call_later(self._create_ended, intent, outcome)

    def pay_by_faucet(self, tracked: TrackedOrder) -> bool:
        """Begins to pay the deposit of ``tracked`` from the sandbox's faucet. Returns False, and
        does nothing, while an earlier such payment has no answer."""
        if self._paying is not None:
            return False
        self._paying = tracked.service_id
        self._app.run_worker(self._pay(tracked), group="deposit", exit_on_error=False)
        return True

    async def _pay(self, tracked: TrackedOrder) -> None:
        faucet = self._session.desk.link.faucet
        assert faucet is not None  # the key exists only with one
        try:
            outcome = await faucet.pay(tracked)
        finally:
            self._paying = None
        self._app.call_later(self._deposit_paid, tracked.service_id, outcome)

    def _waits(self) -> None:
        from swapdesk.tui.screens.create import CreateScreen

        for screen in self._app.screen_stack:
            if isinstance(screen, CreateScreen):
                screen.waiting()
        self._navigation.tell_orders()

    async def _create_ended(self, intent: Intent, outcome: CreateOutcome) -> None:
        from swapdesk.flows.creation.order_verification import Created
        from swapdesk.flows.tracking.open_business import create_ended
        from swapdesk.tui.screens.create import CreateScreen

        shown = next(
            (
                screen
                for screen in self._app.screen_stack
                if isinstance(screen, CreateScreen) and screen.state.sent_intent == intent.id
            ),
            None,
        )
        if isinstance(outcome, Created):
            await self._order_exists(outcome, open_it=shown is not None)
        elif shown is not None:
            shown.ended(outcome)
        else:
            # It ended while another screen is looked at: say which order is meant.
            self._app.notify(create_ended(intent, outcome), severity="warning")
        self._navigation.tell_orders()

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
        notice = found_again(order) if created.found_again else order_open(order, confirmed)
        if isinstance(shown := self._app.screen, DepositScreen):
            # It says what to send, so it goes when nothing is to be sent any more.
            shown.show_notice(notice, about=DepositPhase.WAITING)
        else:
            self._app.notify(notice)

    def _deposit_paid(self, service_id: str, outcome: Outcome) -> None:
        if outcome.done:
            self._app.notify("The deposit is on its way. Next: the chain confirms it.")
        else:
            self._app.notify(outcome.cause, severity="warning")
        self._navigation.tell_orders(frozenset({service_id}))


class BatchController(Controller):
    """The controller of this run's batch (a file with many recipients). ``planner`` is None if this
    run has no batch yet."""

    def __init__(self, navigation: Navigation) -> None:
        super().__init__(navigation)
        self.planner: BatchPlanner | None = None
        self.plan: BatchPlan | None = None
        self.means: tuple[Means, ...] = ()
        self.batch_id: str | None = None
        """The id of the batch in the journal; None until its rows are written to the journal."""
        self.creating = False
        """True while the orders of the batch are being created, group by group."""
        self.unpaid: str | None = None
        """The id of the still unpaid batch whose failed rows this batch repeats, or None."""

    def begin(
        self, planner: BatchPlanner, batch_id: str | None = None, unpaid: str | None = None
    ) -> None:
        """Replaces the batch. ``batch_id`` is the journal id of the new batch, or None. ``unpaid``
        is the id of a still unpaid batch whose failed rows the new batch repeats, or None."""
        self.planner, self.plan, self.means, self.batch_id = planner, None, (), batch_id
        self.unpaid = unpaid

    def create(self, plan: BatchPlan, *, agreed: bool = False) -> None:
        """Writes the rows of ``plan`` to the journal and begins to create their orders. ``agreed``
        is True if the user accepted the doubts about the plan. May raise NotCreatable, ClaimTaken
        or JournalUnavailable; nothing was sent then."""
        self.batch_id = self._creation().write(plan, agreed=agreed)
        self.go_on()

    def go_on(self) -> None:
        """Creates the remaining orders of the batch, and looks for orders whose create request had
        no answer."""
        batch_id = self.batch_id
        if batch_id is None or self.creating:
            return
        self.creating = True
        # A screen that is left takes its workers with it: a create is none of them.
        self._app.run_worker(
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
                reason = "" if error is None else f"{error}. Nothing was paid."
                self._app.call_later(self._moved, reason)
        except (ClientError, JournalUnavailable) as error:
            failure = f"{error}. Nothing was paid."
        finally:
            self.creating = False
        self._app.call_later(self._moved, failure)

    def _moved(self, failure: str) -> None:
        from swapdesk.tui.screens.batch import BatchScreen

        shown = isinstance(self._app.screen, BatchScreen)
        for screen in self._app.screen_stack:
            if isinstance(screen, BatchScreen):
                screen.batch_moved(failure)
        if failure and not shown:
            self._app.notify(f"The batch: {failure}", severity="warning")
