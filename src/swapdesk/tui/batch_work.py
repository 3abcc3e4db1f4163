"""The batch that this run of the desk has open; it outlives the screen that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.flows.batch.means import Means
    from swapdesk.flows.batch.plan import BatchPlan
    from swapdesk.flows.batch.planner import BatchPlanner


@dataclass
class BatchWork:
    """``batch_id`` is set once the rows were written down to be created; ``creating`` while
    their groups are on their way. ``unpaid`` is the batch whose failed rows these are, as long as
    its other rows are to be paid."""

    planner: BatchPlanner | None = None
    plan: BatchPlan | None = None
    means: tuple[Means, ...] = ()
    batch_id: str | None = None
    creating: bool = False
    unpaid: str | None = None

    def begin(self, planner: BatchPlanner, batch_id: str | None = None) -> None:
        """Another file, or another batch that was written down before."""
        self.planner, self.plan, self.means, self.batch_id = planner, None, (), batch_id
        self.unpaid = None
