"""The batch planner: a file of recipients, judged row by row, put right in place, created."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.message import Message
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.batch.creation import BatchCreation, GroupOutcome, NotCreatable
from swapdesk.flows.batch.finding import Level
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.reading import UnreadableFile, read_bytes
from swapdesk.flows.batch.results import result_rows, results_csv
from swapdesk.flows.batch.sheet import TEMPLATE, Sheet, edited
from swapdesk.flows.batch.sheet import Column as Cell
from swapdesk.flows.batch.template import NAME, template
from swapdesk.flows.batch_log import BatchCreatedBefore, JournaledBatch
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.order_export import export_directory, write_export
from swapdesk.flows.wording import NO_JOURNAL
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.batch import (
    CreateBatch,
    EditRow,
    ExportBatch,
    LeaveCell,
    LoadFile,
    NextProblem,
    OtherColumn,
    PreviousProblem,
    TakeCell,
)
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.page import Page
from swapdesk.tui.screens.batch_facts import COLUMNS, EMPTY, head_line, plan_lines, table_rows
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.labelled_field import LabelledField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.section_label import SectionLabel
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows

FIELD_VERBS = (TakeCell, OtherColumn, LeaveCell)


class BatchScreen(Page):
    """One field serves the name of the file and the cell that is written anew."""

    NAME = "Batch"
    SPENDS = "exchange"
    VERBS = (
        NextProblem,
        EditRow,
        CreateBatch,
        ExportBatch,
        LoadFile,
        PreviousProblem,
        TakeCell,
        OtherColumn,
        LeaveCell,
    )
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    BatchScreen LineTable { height: 1fr; }
    BatchScreen #head { height: 1; }
    BatchScreen LabelledField { display: none; }
    BatchScreen.-writing LabelledField { display: block; }
    """

    @dataclass
    class Planned(Message):
        """A plan, or ``failure`` says why there is none."""

        plan: BatchPlan | None
        failure: str = ""

    @dataclass
    class Outcome(Message):
        """A group came to something."""

        batch_id: str
        outcome: GroupOutcome | None
        failure: str = ""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.plan: BatchPlan | None = None
        self.made: JournaledBatch | None = None
        self.busy = ""
        """What goes on; empty when nothing."""
        self._planner: BatchPlanner | None = None
        self._cell: Cell | None = None
        self._head = TextRows(id="head")
        self._field = LabelledField("File", TextField(limit=500))
        self._table = LineTable(COLUMNS, empty=EMPTY)
        self._label = SectionLabel("Plan")
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._field
        yield self._table
        yield self._label
        yield self._pane

    def on_mount(self) -> None:
        super().on_mount()
        self.show()

    def session_changed(self) -> None:
        self.show()

    # what is shown

    def show(self) -> None:
        plan = self.plan
        self._label.display = self._pane.display = self._head.display = plan is not None
        if plan is None:
            self.set_money("in your wallet.", "you: load a file")
            self.refresh_keys()
            return
        left = self.link.api.budget.left("exchange") if self.link is not None else None
        self._head.show([head_line(plan)])
        self._table.set_rows(table_rows(plan, self.made))
        self._label.show("Plan", self._done())
        self._pane.show(plan_lines(plan, left))
        self.set_money(
            "in your wallet. No deposit was paid.",
            f"you: {self._next(plan)}",
            where_short="in your wallet.",
        )
        self.step_is(f"create {id(plan)} {self.made is None}")

    def _done(self) -> str:
        if self.made is None:
            return self.busy or "nothing has been sent"
        if any(group.open for group in self.made.groups):
            return "outcome unknown"
        return self.busy or "created, not funded"

    def _next(self, plan: BatchPlan) -> str:
        if self.made is not None:
            return "pay the deposits; o shows the orders"
        count = len(plan.problems)
        if count:
            return f"fix {count} row{'' if count == 1 else 's'}, then create"
        return "c creates the orders"

    # loading and writing

    def do_load_file(self) -> None:
        self._cell = None
        self._field.field.grouped = False
        self._write("File", "a CSV: comma, semicolon or tab", "")

    def do_edit_row(self) -> None:
        plan, key = self.plan, self._table.cursor_key
        if plan is None or key is None:
            return
        row = plan.rows[int(key) - 1]
        found = (row.problems or row.findings or (None,))[0]
        self._edit(found.column if found is not None and found.column else Cell.TO)

    @on(LineTable.Chosen)
    def _row_chosen(self) -> None:
        if not self._locked_edit():
            self.do_edit_row()

    def _edit(self, column: Cell) -> None:
        plan, key = self.plan, self._table.cursor_key
        if plan is None or key is None:
            return
        row = plan.rows[int(key) - 1]
        self._cell = column
        found = [one for one in row.findings if one.column in (column, None)]
        value = row.row.cell(column)
        # What is decided here is read whole, an address in its groups.
        self._field.field.grouped = column in (Cell.TO, Cell.REFUND) and value[:1] != "@"
        self._write(f"Row {key}, {column}", "", value)
        self._field.show_checks(
            [
                Check(
                    Verdict.REFUSED if one.level is Level.PROBLEM else Verdict.WARNING,
                    one.reason,
                    one.do,
                )
                for one in found
            ]
        )

    def _write(self, label: str, note: str, value: str) -> None:
        self._field.relabel(label, note)
        self._field.show_checks([])
        self._field.field.set_value(value)
        self.add_class("-writing")
        self._field.field.focus()
        self.refresh_keys()

    def do_other_column(self) -> None:
        if self._cell is not None:
            self._edit(TEMPLATE[(TEMPLATE.index(self._cell) + 1) % len(TEMPLATE)])

    def do_leave_cell(self) -> None:
        self.remove_class("-writing")
        self._table.focus()
        self.refresh_keys()

    def do_take_cell(self) -> None:
        self._taken(self._field.field.value)

    @on(TextField.Submitted)
    def _submitted(self, event: TextField.Submitted) -> None:
        self._taken(event.value)

    def _taken(self, value: str) -> None:
        column, plan, key = self._cell, self.plan, self._table.cursor_key
        if column is None:
            if value.strip():
                self.do_leave_cell()
                self._begin(self._load(Path(value.strip()).expanduser()))
        elif plan is not None and key is not None:
            self.do_leave_cell()
            self._begin(self._judge(edited(plan.sheet, int(key), column, value)))

    def _begin(self, work: object) -> None:
        self.busy = "planning"
        self.refresh_keys()
        self.run_worker(work, group="batch", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    async def _load(self, path: Path) -> None:
        desk = self.desk
        self._planner = BatchPlanner(desk.catalog, desk.book, desk.journal, desk.clock)
        try:
            content = await asyncio.to_thread(read_bytes, path)
            sheet = await self._planner.read(path.name, content)
        except UnreadableFile as error:
            self.post_message(self.Planned(None, f"{error.reason} {error.do}"))
            return
        await self._judge(sheet)

    async def _judge(self, sheet: Sheet) -> None:
        planner, link = self._planner, self.link
        if planner is None:
            return
        plan = await planner.judged(sheet)
        self.post_message(self.Planned(plan))
        if link is not None:
            self.post_message(self.Planned(await planner.with_limits(plan, link.api)))

    @on(Planned)
    def _planned(self, event: Planned) -> None:
        if event.plan is None:
            self.busy = ""
            self.show_notice(event.failure, "error")
            self.refresh_keys()
            return
        if self.plan is None or event.plan.sheet.name != self.plan.sheet.name:
            self.made = None
        self.plan = event.plan
        self.busy = "" if event.plan.limits_known or self.link is None else "asking for limits"
        count = len(event.plan.rows)
        self.context = f"{event.plan.sheet.name[:24]} · {count} row{'' if count == 1 else 's'}"
        self.refresh_frame()
        self.show()

    # problems

    def do_next_problem(self) -> None:
        self._to_problem(1)

    def do_previous_problem(self) -> None:
        self._to_problem(-1)

    def _to_problem(self, way: int) -> None:
        plan = self.plan
        if plan is None:
            return
        found = [row.number for row in plan.problems] or [
            row.number for row in plan.rows if row.findings
        ]
        at = int(self._table.cursor_key or 0)
        ahead = [one for one in found if (one - at) * way > 0]
        if found:
            self._table.move_to(str((ahead or found)[0 if way > 0 else -1]))

    # creating

    def do_create_batch(self) -> None:
        plan, link = self.plan, self.link
        if plan is None or link is None or self.busy:
            return
        creation = BatchCreation(link.api, self.desk.journal, self.desk.clock)
        try:
            batch_id = creation.write(plan)
        except NotCreatable:
            self.show_notice("A row has a problem; nothing was created.", "warning")
            return
        except BatchCreatedBefore as error:
            said = f"These rows are batch {error.batch_id[:8]} already. Nothing was created."
            self.show_notice(said, "warning")
            return
        except JournalUnavailable:
            self.show_notice(NO_JOURNAL.cause, "error")
            return
        self.busy = "creating"
        self.refresh_keys()
        # A create is never stopped by another key: it has a group of its own.
        self.run_worker(self._create(creation, batch_id), group="batch-create", exit_on_error=False)

    async def _create(self, creation: BatchCreation, batch_id: str) -> None:
        def told(outcome: GroupOutcome) -> None:
            self.post_message(self.Outcome(batch_id, outcome))

        try:
            await creation.run(batch_id, told)
        except (ClientError, JournalUnavailable) as error:
            self.post_message(self.Outcome(batch_id, None, f"{error}."))
        else:
            self.post_message(self.Outcome(batch_id, None))

    @on(Outcome)
    def _came(self, event: Outcome) -> None:
        self.made = self.desk.journal.batches.get(event.batch_id)
        if event.outcome is None:
            self.busy = ""
        elif event.outcome.error is not None:
            self.show_notice(f"{event.outcome.error}. Nothing was paid.", "error")
        if event.failure:
            self.show_notice(event.failure, "error")
        self.show()

    def do_export_batch(self) -> None:
        now = self.now()
        if self.made is None:
            name, content = NAME, template(self.desk.book).encode()
        else:
            rows = result_rows(self.made, {})
            name = f"swapdesk-batch-{self.made.id[:8]}-{now:%Y%m%d-%H%M%S}Z.csv"
            content = results_csv(rows)
        folder = export_directory(self.session.settings.home, Path.home())
        try:
            written = write_export(folder / name, content)
        except OSError as error:
            said = error.strerror or "the disk refuses it"
            self.show_notice(f"The file cannot be written: {said}.", "error")
            return
        self.show_notice(f"Written: {written}.")

    def work_failed(self, group: str) -> None:
        self.busy = ""
        self.refresh_keys()

    # keys

    def _locked_edit(self) -> str:
        if self.made is not None:
            return "created already"
        return self.busy if self.busy == "creating" else ""

    def verb_standing(self, verb: type[Command]) -> Standing:
        writing, plan = self.has_class("-writing"), self.plan
        if verb is everywhere.Batch:
            return HIDDEN
        if verb in FIELD_VERBS:
            if not writing or (verb is OtherColumn and self._cell is None):
                return HIDDEN
            return READY
        if verb not in self.VERBS:
            return READY
        if writing:
            return HIDDEN
        if verb is LoadFile:
            return Standing(locked=self.busy) if self.busy == "creating" else READY
        if verb is ExportBatch:
            return Standing(verb="export" if self.made is not None else "template")
        if plan is None:
            return HIDDEN
        if verb in (NextProblem, PreviousProblem):
            return READY if any(row.findings for row in plan.rows) else HIDDEN
        if verb is EditRow:
            locked = self._locked_edit()
            return Standing(locked=locked) if locked else READY
        if self.made is not None:
            return HIDDEN
        if self.busy:
            return Standing(locked=self.busy)
        count = len(plan.problems)
        if count:
            return Standing(locked=f"{count} problem{'' if count == 1 else 's'}")
        if self.link is None or self.link.connection.read_only:
            return Standing(locked="not connected" if self.link is None else "read only")
        if not plan.limits_known:
            return Standing(locked="limits not known")
        word = "exchange" if plan.creates == 1 else "exchanges"
        return Standing(cost=f"{plan.creates} {word}")
