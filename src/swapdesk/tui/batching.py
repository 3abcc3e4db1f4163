"""Batches of the running desk: what is created goes on whatever screen is in view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import App

from swapdesk.tui.batch_work import BatchWork
from swapdesk.tui.messages import BatchMoved
from swapdesk.tui.session import Session

if TYPE_CHECKING:
    from swapdesk.flows.batch.creation import BatchCreation, GroupOutcome
    from swapdesk.flows.batch.plan import BatchPlan


class Batching(App[int]):
    """The half of the application that has one batch open at a time."""

    session: Session
    _batch: BatchWork | None = None

    @property
    def batch(self) -> BatchWork:
        """What was loaded, or what an earlier run left open, or nothing yet."""
        if self._batch is None:
            self._batch = BatchWork()
        return self._batch

    def create_batch(self, plan: BatchPlan) -> None:
        """Write the rows of a plan down and create them. Raises NotCreatable,
        BatchCreatedBefore and JournalUnavailable, and nothing was sent then."""
        creation = self._creation()
        self.batch.batch_id = creation.write(plan)
        self.go_on_creating()

    def go_on_creating(self) -> None:
        """Create what waits to be, and look for what may have been created."""
        batch_id = self.batch.batch_id
        if batch_id is None or self.batch.creating:
            return
        self.batch.creating = True
        # A screen that is left takes its workers with it: a create is none of them.
        self.run_worker(self._create_groups(batch_id), group="batch-create", exit_on_error=False)

    def _creation(self) -> BatchCreation:
        from swapdesk.flows.batch.creation import BatchCreation

        desk = self.session.desk
        return BatchCreation(desk.link.api, desk.journal, desk.clock)

    async def _create_groups(self, batch_id: str) -> None:
        from swapdesk.client.errors import ClientError
        from swapdesk.flows.journal.journal_file import JournalUnavailable

        def told(outcome: GroupOutcome) -> None:
            self.post_message(BatchMoved(batch_id, _said(outcome)))

        failure = ""
        try:
            await self._creation().run(batch_id, told)
        except (ClientError, JournalUnavailable) as error:
            failure = f"{error}. Nothing was paid."
        finally:
            self.batch.creating = False
        self.post_message(BatchMoved(batch_id, failure))

    @on(BatchMoved)
    def _batch_moved(self, event: BatchMoved) -> None:
        from swapdesk.tui.screens.batch import BatchScreen

        shown = isinstance(self.screen, BatchScreen)
        for screen in self.screen_stack:
            if isinstance(screen, BatchScreen):
                screen.batch_moved(event.failure)
        if event.failure and not shown:
            self.notify(f"The batch: {event.failure}", severity="warning")


def _said(outcome: GroupOutcome) -> str:
    return "" if outcome.error is None else f"{outcome.error}. Nothing was paid."
