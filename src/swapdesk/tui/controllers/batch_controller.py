"""The batch that is open, one at a time, and the creation of its orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.controls import BatchWork
from swapdesk.tui.messages import BatchMoved

if TYPE_CHECKING:
    from swapdesk.flows.batch.creation import BatchCreation, GroupOutcome
    from swapdesk.flows.batch.plan import BatchPlan
    from swapdesk.tui.controllers.host import DeskHost


class BatchController:
    """``work``: what was loaded, or what an earlier run left open, or nothing yet."""

    def __init__(self, host: DeskHost) -> None:
        self._host = host
        self._session = host.session
        self.work = BatchWork()

    def create(self, plan: BatchPlan) -> None:
        """Write the rows of a plan down and create them. Raises NotCreatable,
        BatchCreatedBefore and JournalUnavailable, and nothing was sent then."""
        creation = self._creation()
        self.work.batch_id = creation.write(plan)
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

        def told(outcome: GroupOutcome) -> None:
            self._host.post_message(BatchMoved(batch_id, _said(outcome)))

        failure = ""
        try:
            await self._creation().run(batch_id, told)
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


def _said(outcome: GroupOutcome) -> str:
    return "" if outcome.error is None else f"{outcome.error}. Nothing was paid."
