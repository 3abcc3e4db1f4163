"""The batch as it is drawn: rows, the line above them, the facts below, where the money is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.widget import Widget

from swapdesk.flows.batch.plan import created_of
from swapdesk.flows.batch.progress import BatchProgress, batch_progress
from swapdesk.flows.journal.batch_records import RowState
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.tui.page import Page
from swapdesk.tui.screens.batch_facts import (
    EMPTY,
    ROOMY,
    PlanPane,
    PlanState,
    batch_columns,
    batch_rows,
    head_line,
    row_detail,
    rows_below,
)
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.form_fields import LabelledField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import HeadLine, SectionLabel, TextRows
from swapdesk.tui.widgets.table_layout import Column
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wire.operation import RateClass

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.batch.plan import BatchPlan
    from swapdesk.flows.batch.planned import PlannedRow
    from swapdesk.flows.journal.batch_records import JournaledBatch
    from swapdesk.tui.controls import BatchWork
    from swapdesk.wire.orders import Order

UPDATE_SECONDS = 0.1
"""Changes of orders within this time are drawn together."""


class BatchView(Page):
    """One field serves the name of the file and the cell that is written anew."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.busy = ""
        """What the planner does; empty when nothing."""
        self.progress: BatchProgress | None = None
        """How far what was created is; None before that."""
        self._update: Timer | None = None
        self._drawn_width = 0
        self._head = HeadLine(id="head")
        self._field = LabelledField("File", TextField(limit=500))
        self._offers = TextRows(id="offers")
        self._columns = batch_columns(None, 0)
        self._table = LineTable(self._columns, empty=EMPTY)
        self._below = HeadLine(id="below")
        self._label = SectionLabel("Plan")
        self._pane = PlanPane()

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._field
        yield self._offers
        yield self._table
        yield self._below
        yield self._label
        yield self._pane

    def on_mount(self) -> None:
        self.watch(self._table, "scroll_y", self._say_below, init=False)
        self.watch(self._table, "virtual_size", self._say_below, init=False)
        self.read_on()

    def on_resize(self) -> None:
        # Columns are of the width; so is what stands beside what the file holds.
        if self.app.size.width != self._drawn_width:
            self.show()

    def session_changed(self) -> None:
        self.read_on()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self.made is not None and self._update is None:
            self._update = self.set_timer(UPDATE_SECONDS, self._redraw)

    def _redraw(self) -> None:
        self._update = None
        self.show()

    # what there is

    @property
    def work(self) -> BatchWork:
        """The batch of this run; it outlives the page."""
        return self.controls.batches.work

    @property
    def plan(self) -> BatchPlan | None:
        return self.work.plan

    @property
    def made(self) -> JournaledBatch | None:
        """What was created of the plan, as the journal had it when it was read last."""
        return None if self.progress is None else self.progress.batch

    def read_on(self) -> None:
        """Read from the journal how far it is, and draw that."""
        batch_id = self.work.batch_id
        self.progress = None
        if batch_id is not None:
            try:
                self.progress = batch_progress(self.desk.journal, batch_id)
            except (KeyError, JournalUnavailable) as error:
                self.show_notice(f"The journal cannot be read: {error}.", "error")
        self.show()

    def orders_of(self, made: JournaledBatch | None) -> dict[str, OrderStatus]:
        """How the orders of a batch stand, by id."""
        link, now = self.link, self.now()
        if made is None or link is None:
            return {}
        found = (link.tracker.recall(row.service_id) for row in made.rows if row.service_id)
        return {one.service_id: order_status(one, now) for one in found if one is not None}

    def known_orders(self, made: JournaledBatch) -> dict[str, Order]:
        """The orders of a batch as the desk knows them, by id."""
        link = self.link
        if link is None:
            return {}
        found = (link.tracker.recall(row.service_id) for row in made.rows if row.service_id)
        return {one.service_id: one.order for one in found if one is not None}

    # drawing

    def show(self) -> None:
        """Draw what stands now."""
        if not self.is_mounted:
            return
        plan = self.plan
        self._label.display = self._pane.display = self._head.display = plan is not None
        if plan is None:
            self.context = ""
            self._set_columns(batch_columns(None, self.app.size.width))
            self._table.set_rows([])
            self._say_below()
            self.say_money()
            self.refresh_keys()
            return
        made, width = self.made, self.app.size.width
        count = len(plan.rows)
        self.context = f"{plan.sheet.name[:24]} · {count} row{'' if count == 1 else 's'}"
        self.refresh_frame()
        roomy = made is None and width >= ROOMY
        self._head.show(head_line(plan, made), plan.sheet.said if roomy else "")
        self._drawn_width = width
        self._set_columns(batch_columns(plan, width))
        self._table.set_rows(batch_rows(plan, made, self.orders_of(made), width))
        self._label.show("Plan", self.done())
        self._pane.show(self.plan_state(plan))
        self.call_after_refresh(self._say_below)
        self.say_money()
        self.step_is(self.step())

    def _say_below(self) -> None:
        """The row under the table, where it does not show all rows."""
        plan, keys = self.plan, self._table.visible_keys()
        hidden = plan is not None and 0 < len(keys) < len(plan.rows)
        self._below.display = hidden
        if hidden and plan is not None:
            self._below.show(*rows_below(plan, int(keys[-1])))

    def _set_columns(self, columns: tuple[Column, ...]) -> None:
        if columns != self._columns:
            self._columns = columns
            self._table.set_columns(columns)

    def plan_state(self, plan: BatchPlan) -> PlanState:
        """What the pane says."""
        budget, made = self.link.api.budget if self.link is not None else None, self.made
        if made is not None and not self.work.creating:
            failed = (RowState.FAILED, RowState.DIFFERS)
            plan = created_of(plan, {one.number for one in made.rows if one.state not in failed})
        return PlanState(
            plan,
            self.work.means,
            budget.left(RateClass.EXCHANGE) if budget is not None else None,
            budget.left(RateClass.READ) if budget is not None else None,
            heads=plan.heads_note if made is None else "",
            row=self._row_said(),
        )

    @property
    def row(self) -> PlannedRow | None:
        """The row under the cursor."""
        key, plan = self._table.cursor_key, self.plan
        if key is None or plan is None:
            return None
        return next((one for one in plan.rows if str(one.number) == key), None)

    def _row_said(self) -> tuple[int, str] | None:
        row, made = self.row, self.made
        if row is None or self.has_class("-writing"):
            return None
        end = next((one for one in made.rows if one.number == row.number), None) if made else None
        said = row_detail(row, end)
        return (row.number, said) if said else None

    @on(LineTable.Highlighted)
    def show_row(self) -> None:
        """Say in the pane what is to be said of the row under the cursor."""
        if self.plan is not None:
            self._pane.show(self.plan_state(self.plan))

    def done(self) -> str:
        """What has happened, at the right of the label."""
        return self.busy or "nothing has been sent"

    def say_money(self) -> None:
        """Where the money is and who acts next."""

    def step(self) -> str:
        """What the money key of the screen acts on."""
        return f"plan {id(self.plan)}"
