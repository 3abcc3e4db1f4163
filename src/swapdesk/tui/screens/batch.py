"""The batch page: a file of recipients becomes orders, and the orders are paid for. Controllers
create and pay for the orders, so the work continues after the page is closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from rich.cells import cell_len
from textual import on
from textual.geometry import Size
from textual.widget import Widget

from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.batches import Batch, find_batch
from swapdesk.flows.batch.creation import NotCreatable
from swapdesk.flows.batch.group_payment import GROUP, GroupSession
from swapdesk.flows.batch.means import means_of
from swapdesk.flows.batch.plan import (
    BatchPlan,
    Means,
    Total,
    against_means,
    created_of,
    plan_of,
)
from swapdesk.flows.batch.planner import STEP, BatchPlanner
from swapdesk.flows.batch.progress import (
    BatchProgress,
    GroupStanding,
    Stopped,
    Until,
    batch_progress,
    failed_sheet,
    journaled_orders,
    left_open,
    result_rows,
    results_csv,
    sheet_of,
)
from swapdesk.flows.batch.reading import (
    NAME,
    OFFERED,
    RecentFiles,
    UnreadableFile,
    completed,
    offered,
    path_of,
    pointed,
    read_bytes,
    read_sheet,
    template,
    with_decimal_commas,
)
from swapdesk.flows.batch.rows import (
    COLUMNS,
    NOT_IN_WALLET,
    TEMPLATE,
    Became,
    Group,
    PlannedOrder,
    RowWord,
    Sheet,
    SheetColumn,
    edited,
    skipping,
)
from swapdesk.flows.batch.rows import Row as BatchRow
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import AGREED
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken
from swapdesk.flows.notation import (
    about_amount,
    counted,
    exact_amount,
    grouped_address,
    short_address,
)
from swapdesk.flows.orders.order_export import export_directory, write_export
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.signing.signing_session import SigningSession, Stage
from swapdesk.tui.commands.batch import (
    BACK_TO_BATCH,
    BATCH,
    BUILD_BUNDLE,
    COMPLETE_PATH,
    CREATE_BATCH,
    DECIMAL_COMMA,
    EDIT_ROW,
    EXPORT_BATCH,
    FAILED_AGAIN,
    FILE_ABOVE,
    FILE_BELOW,
    LEAVE_CELL,
    LOAD_FILE,
    NEXT_PROBLEM,
    ORDERS,
    OTHER_COLUMN,
    PREVIOUS_PROBLEM,
    SIGN_BUNDLE,
    SKIP_ROW,
    SUBMIT_BUNDLE,
    TAKE_CELL,
)
from swapdesk.tui.commands.command import HIDDEN, CommandState, Standings, Verb
from swapdesk.tui.glyphs import BECOMES, DONE, ENDED, NOTHING, REFUSED, TROUBLE, UNKNOWN, WAITING
from swapdesk.tui.page import Page
from swapdesk.tui.session import PLAYED, Session
from swapdesk.tui.spans import Line, LineLike, Span, fill, joined, line_of, width_of
from swapdesk.tui.widgets.detail_rows import Fact, fact_lines
from swapdesk.tui.widgets.form_fields import LabelledField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, HeadLine, SectionLabel, TextRows
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.table_layout import MARGIN, Column, Row
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wire.encoding.numbers import AmountError, parse_amount
from swapdesk.wire.operation import RateClass

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.controls import Batches
    from swapdesk.wire.orders import Order

UPDATE_SECONDS = 0.1
"""Seconds during which changes of orders are collected, to be drawn together."""
SCREENFUL = 60
"""Number of checked rows from which they are shown, while the rest of the file is still being
checked."""
MOST_DOUBTS = 4
"""Most doubts that the question before creating orders lists."""
CREATING = "creating"
FILE_VERBS = (COMPLETE_PATH, FILE_BELOW, FILE_ABOVE)
FIELD_VERBS = (TAKE_CELL, OTHER_COLUMN, LEAVE_CELL, *FILE_VERBS)
PAYING_VERBS = (BUILD_BUNDLE, SIGN_BUNDLE, SUBMIT_BUNDLE)
ROW_VERBS = (
    NEXT_PROBLEM, PREVIOUS_PROBLEM, DECIMAL_COMMA, EDIT_ROW, SKIP_ROW, CREATE_BATCH,
)  # fmt: skip
_DOING = {
    Until.BUILT: "building",
    Until.SIGNED: "being signed",
    Until.SETTLED: "submitting",
}
ROOMY = 100
"""Screen width in cells from which the route has a column of its own."""
NAMED = 120
"""Screen width in cells from which a recipient's name and address have a column each."""
WIDE = 160
"""Screen width in cells from which addresses are shown in full."""
LEVELS: Mapping[RowWord, tuple[str, str, str]] = {
    "ready": (DONE, "status-done", "ready"),
    "look": (TROUBLE, "status-waiting", "to look at"),
    "problem": (REFUSED, "status-trouble", "problem"),
    "skipped": (ENDED, "muted", "skipped"),
}
LONGEST_ADDRESS = 78
"""Width in cells of the longest valid address of any chain, written in groups."""
_ENDS: Mapping[Became, tuple[str, str, str, str]] = {
    "created": (DONE, "status-done", "created", "created"),
    "planned": (WAITING, "status-waiting", "waits to be created", "waiting"),
    "unknown": (UNKNOWN, "status-waiting", "outcome unknown", "unknown"),
    "failed": (REFUSED, "status-trouble", "failed", "failed"),
    "differs": (REFUSED, "status-trouble", "differs; do not pay", "not as asked for"),
}
"""Of each outcome of a row: glyph, colour role, words in the row, words in the summary."""
LONGEST_UNIT = 6
LONGEST_AMOUNT = 18
"""Largest number of characters that are shown of an amount cell whose text is not an amount."""
EMPTY = (
    f"The columns of a file are: {', '.join(TEMPLATE)}. Outside the field, l loads a file"
    " and x writes a template."
)
LABEL = 9
TWO_COLUMNS = 72
"""Width in cells of the pane below the table from which two facts can share a row."""
MOST = 3
"""Most groups or coins that are named in a line."""
LEAST_TOKENS = 3
ROWS_A_TOKEN = 4
"""Additional screen rows, from :data:`LOWEST` on, for each further token among the totals."""
LOWEST = 24


class BatchScreen(Page):
    """The page of a batch (a file with many recipients), for correcting its rows, creating their
    orders and paying for them."""

    NAME = "Batch"
    SPENDS = "exchange"
    VERBS = (
        DECIMAL_COMMA, NEXT_PROBLEM, EDIT_ROW, SKIP_ROW, CREATE_BATCH, SUBMIT_BUNDLE, SIGN_BUNDLE,
        BUILD_BUNDLE, FAILED_AGAIN, BACK_TO_BATCH, ORDERS, EXPORT_BATCH, LOAD_FILE,
        PREVIOUS_PROBLEM, TAKE_CELL, OTHER_COLUMN, *FILE_VERBS, LEAVE_CELL,
    )  # fmt: skip
    DEFAULT_CSS = """
    BatchScreen LineTable { height: 1fr; }
    BatchScreen LabelledField, BatchScreen #below { display: none; }
    BatchScreen.-writing LabelledField { display: block; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.busy = ""
        """What the check of the file is doing, such as ``planning``; empty if it is idle."""
        self.progress: BatchProgress | None = None
        """How far the batch has come; None until its rows are in the journal."""
        self._drawn_size = Size(0, 0)
        self._head = HeadLine(id="head")
        self._field = LabelledField("File", TextField(limit=500))
        self._offers = TextRows(id="offers")
        self._table = LineTable(batch_columns(None, 0), empty=EMPTY)
        self._below = HeadLine(id="below")
        self._label = SectionLabel("Plan")
        self._pane = FittedLines(id="pane")
        self._cell: SheetColumn | None = None
        self.writing = False
        """True while the user types in the text field above the table."""
        self._recent = RecentFiles(session.settings.places.batch_files)
        self._files: tuple[str, ...] = ()
        self._file = -1
        """Index in ``_files`` of the file name that was put into the field; -1 if none was."""
        self._written = 0
        """The number of the row that was corrected and waits for its check, or 0."""

    def compose_body(self) -> Iterable[Widget]:
        return (
            self._head,
            self._field,
            self._offers,
            self._table,
            self._below,
            self._label,
            self._pane,
        )

    def on_mount(self) -> None:
        if self.plan is not None:
            # What the wallet has was read for a screen of before.
            self.balances_changed()
        self._reopen()
        self.watch(self._table, "scroll_y", self._say_below, init=False)
        self.watch(self._table, "virtual_size", self._say_below, init=False)
        self.read_on()

    def on_resize(self) -> None:
        # Columns and what stands beside what the file holds are of the width, totals of the height.
        if self.app.size != self._drawn_size:
            self.show()

    def session_changed(self) -> None:
        self.read_on()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self.made is not None:
            self.soon("orders", UPDATE_SECONDS, self.show)

    def batch_moved(self, failure: str) -> None:
        """Redraws the page because orders of the batch were created or failed. ``failure`` says why
        they failed; empty if they were created."""
        if failure:
            self.show_notice(failure, "error")
        self.read_on()

    def tells_end_of(self, signing: SigningSession[Any]) -> bool:
        return signing.kind is GROUP

    def swaps_changed(self) -> None:
        self.read_on()

    # what there is

    @property
    def work(self) -> Batches:
        return self.controls.batches

    @property
    def plan(self) -> BatchPlan | None:
        return self.work.plan

    @property
    def made(self) -> Batch | None:
        """The batch as last read from the journal; None until its rows are written there."""
        return None if self.progress is None else self.progress.batch

    def read_on(self) -> None:
        """Reads from the journal how far the batch has come and draws the page."""
        batch_id = self.work.batch_id
        self.progress = None
        if batch_id is not None:
            try:
                self.progress = batch_progress(self.desk.journal, batch_id)
            except (KeyError, JournalUnavailable) as error:
                self.show_notice(f"The journal cannot be read: {error}.", "error")
        self.show()

    @property
    def followed(self) -> list[TrackedOrder]:
        ids = [row.service_id for row in self.made.rows if row.service_id] if self.made else []
        orders = map(self.link.tracker.recall, ids) if self.link is not None else ()
        return [order for order in orders if order is not None]

    def known_orders(self, made: Batch) -> dict[str, Order]:
        """Returns the orders of the batch ``made`` by service id, from the connected desk or else
        from the journal."""
        if self.link is None:
            return journaled_orders(self.desk.journal, made)
        return {order.service_id: order.order for order in self.followed}

    @property
    def group(self) -> GroupStanding | None:
        """The next orders of the batch to pay for together; None if there are none."""
        return None if self.progress is None else self.progress.current

    @property
    def signing(self) -> GroupSession | None:
        group = self.group
        return None if group is None else self.controls.signing.running.get(group.group.act.id)

    @property
    def doing(self) -> str:
        """A word such as ``building`` for what the payment for the next orders is doing now; empty
        if it is doing nothing."""
        signing = self.signing
        if signing is None or not self.controls.signing.running.working(signing):
            return ""
        bundle = self.group.bundle if self.group is not None else None
        if bundle is not None and bundle.under_way:
            return "following"
        return _DOING[signing.about.until]

    def _reopen(self) -> None:
        if self.busy or self.work.creating or (self.plan is not None and not self._over):
            return
        batch = None
        with suppress(JournalUnavailable):
            batch = left_open(self.desk.journal, self.now())
        if batch is not None and batch.id != self.work.batch_id:
            self._open(batch)
        if (self.plan is None and batch is None) or self._over:
            self.do_load_file()

    def _open(self, batch: Batch) -> None:
        self.work.begin(self.planner(), batch.id)
        self.read_on()
        self.judge(sheet_of(batch))

    @property
    def _over(self) -> bool:
        progress = self.progress
        return progress is not None and not progress.due and not progress.failed

    # drawing

    def show(self) -> None:
        if not self.is_mounted:
            return
        plan, made, width = self.plan, self.made, self.app.size.width
        self._label.display = self._pane.display = self._head.display = plan is not None
        self._drawn_size = self.app.size
        self._table.set_columns(batch_columns(plan, width))
        self.context = ""
        if plan is None:
            self._table.set_rows([])
        else:
            self.context = f"{plan.sheet.name[:24]} · {counted(len(plan.rows), 'row')}"
            roomy = made is None and width >= ROOMY
            head = head_line(plan, width - 2 * MARGIN, made)
            self._head.show(head, *((plan.sheet.said, " ") if roomy else ()))
            now = self.service_time()
            orders = {
                followed.service_id: order_status(followed, now) for followed in self.followed
            }
            self._table.set_rows(batch_rows(plan, made, orders, width))
            self._label.show("Plan", self.done())
            self._pane.show(partial(laid, self.facts(plan)))
        self.refresh_frame()
        self.call_after_refresh(self._say_below)
        self.say_money()
        self.step_is(self.step())

    def _say_below(self) -> None:
        plan, keys = self.plan, self._table.visible_keys()
        hidden = plan is not None and 0 < len(keys) < len(plan.rows)
        self._below.display = hidden
        if hidden and plan is not None:
            self._below.show(*rows_below(plan, int(keys[-1])))

    def facts(self, plan: BatchPlan) -> list[Fact]:
        """Returns the facts for the pane below the table, such as totals and signatures."""
        budget, made = self.link.api.budget if self.link is not None else None, self.made
        progress, means = self.progress, self.work.means
        built = gas = paid = stopped = ""
        if made is not None and not self.work.creating:
            failed = ("failed", "differs")
            plan = created_of(plan, {row.number for row in made.rows if row.became not in failed})
        if progress is not None:
            current = progress.current
            if current is not None and not progress.creating:
                plan = replace(plan, totals=created_of(plan, progress.unpaid_rows).totals)
            chain = current.group.chain if current is not None else None
            coin = next((payer.coin_symbol for payer in means if payer.chain == chain), "")
            built, gas, paid = progress.built, progress.gas(coin), progress.paid
            outcome = self.signing.outcome if self.signing is not None else None
            failure = outcome.failure if outcome is not None else None
            stopped = progress.left_there
            if failure is not None:
                stopped = f"{failure.cause} Next {failure.next}."
            # What the wallet had before some of it left says nothing of what is still to be paid.
            means = means if current is None or current.brief is None else ()
        return plan_facts(
            plan,
            means,
            budget.left(RateClass.EXCHANGE) if budget is not None else None,
            budget.left(RateClass.READ) if budget is not None else None,
            built=built,
            gas=gas,
            paid=paid,
            stopped=stopped,
            heads=(plan.heads_note or "") if made is None else "",
            row=self._row_said(),
            tokens=tokens_named(self.app.size.height),
            asks=made is None,
        )

    @property
    def current(self) -> BatchRow | None:
        key, plan = self._table.cursor_key, self.plan
        if key is None or plan is None:
            return None
        return next((row for row in plan.rows if str(row.number) == key), None)

    def _row_said(self) -> tuple[str, str] | None:
        row, made = self.current, self.made
        if row is None or self.has_class("-writing"):
            return None
        end = (
            next((created for created in made.rows if created.number == row.number), None)
            if made
            else None
        )
        return f"Row {row.number}", row_detail(row, end)

    @on(LineTable.Highlighted)
    def show_row(self) -> None:
        if self.plan is not None:
            self._pane.show(partial(laid, self.facts(self.plan)))
        self.refresh_keys()

    def done(self) -> str:
        """Returns how far the batch has come, in words for the right end of the pane's label."""
        if self.work.creating:
            return CREATING
        progress = self.progress
        if progress is None:
            return self.busy or "nothing has been sent"
        return progress.word if not self.doing else f"{progress.word}, {self.doing}"

    def say_money(self) -> None:
        progress, signing = self.progress, self.signing
        if self.work.creating or self.work.batch_id is None:
            where = "in your wallet." + (" No deposit was paid." if self.plan is not None else "")
            self.set_money(where, self._next(), where_short="in your wallet.")
            return
        if progress is None:
            return
        progress = replace(progress, orders=self.known_orders(progress.batch))
        next_ = progress.next
        if signing is not None and signing.waits:
            word = "s shows what is to be signed"
            next_ = f"you: {word if signing.stage is Stage.REVIEW else 's unlocks the wallet'}"
        elif self.doing in ("building", "submitting"):
            next_ = "the service: it answers"
        self.set_money(
            f"{progress.whereabouts}.",
            next_,
            where_short=f"{progress.brief}.",
            # Who acts and how, without the keys that only show more.
            next_short=next_.partition(";")[0],
        )

    def _next(self) -> str:
        plan = self.plan
        if self.work.creating:
            return "the service: it creates the orders"
        if plan is None:
            return "you: load a file"
        if plan.problems:
            return f"you: fix or skip {counted(len(plan.problems), 'row')}, then create"
        takes = "take a row in, or load another file"
        return f"you: {'c creates the orders' if plan.groups else takes}"

    def step(self) -> str:
        """Returns a text that changes whenever a key that moves money would do something else."""
        group = self.group
        if group is None:
            return f"plan {id(self.plan)}"
        number = 0 if group.bundle is None else group.bundle.number
        return f"{group.group.multi_id} {number} {group.word} {self.doing}"

    # the file

    def do_load_file(self, path: str = "") -> None:
        self._cell = None
        self._field.field.grouped = False
        self._write("File", "a CSV: comma, semicolon or tab", path)
        self._offer()

    @on(TextField.Changed)
    def _path_typed(self, event: TextField.Changed) -> None:
        chosen = self._files[self._file] if self._file >= 0 else None
        if self.writing and self._cell is None and event.value != chosen:
            self._offer()

    def _offer(self) -> None:
        self._file = -1
        played = self.session.played
        self._files = () if played else offered(self._field.value, self._recent.newest())
        self._show_offers()

    def _show_offers(self) -> None:
        rows: list[LineLike] = []
        if self.writing and self._cell is None:
            first = max(0, self._file - OFFERED + 1)
            for at, name in list(enumerate(self._files))[first : first + OFFERED]:
                chosen = at == self._file
                rows.append(Span(f"  {name}", "foreground" if chosen else "muted", bold=chosen))
            if len(self._files) > OFFERED:
                rows.append(Span(f"  {len(self._files):,} files fit", "muted"))
        self._offers.display = bool(rows)
        self._offers.show(rows)

    def do_complete_path(self) -> None:
        typed = self._field.value
        whole = completed(typed, self._files)
        if whole == typed:
            self.do_step_file(1)
        else:
            self._field.field.set_value(whole)

    def do_step_file(self, by: int) -> None:
        at = self._file + by
        if 0 <= at < len(self._files):
            self._file = at
            self._field.field.set_value(self._files[at])
            self._show_offers()

    # the field

    @on(LineTable.Chosen)
    def do_edit_row(self) -> None:
        row = self.current
        if row is not None and self.work.batch_id is None:
            findings = row.problems or row.findings
            self._edit((findings[0].column if findings else None) or "to")

    def _edit(self, column: SheetColumn) -> None:
        row = self.current
        if row is None:
            return
        self._cell = column
        findings = [finding for finding in row.findings if finding.column in (column, None)]
        value = row.cell(column)
        # What is decided here is read whole, an address in its groups.
        self._field.field.grouped = column in ("to", "refund") and value[:1] != "@"
        self._write(f"Row {row.number}, {column}", "", value)
        self._field.show_checks(
            [
                CheckLine(
                    "refuse" if finding.level == "problem" else "warn",
                    finding.reason,
                    finding.do,
                )
                for finding in findings
            ]
        )

    def _write(self, label: str, note: str, value: str) -> None:
        self._field.relabel(label, note)
        self._field.show_checks([])
        self._field.field.set_value(value)
        self.writing = True
        self._show_offers()
        self.add_class("-writing")
        self._field.field.focus()
        self.show_row()

    def do_other_column(self) -> None:
        if self._cell is not None:
            columns = COLUMNS
            self._edit(columns[(columns.index(self._cell) + 1) % len(columns)])

    def do_leave_cell(self) -> None:
        self.writing = False
        self._show_offers()
        self._put_away()
        self._table.focus()
        self.show_row()

    def _put_away(self) -> None:
        if not self.writing:
            self.remove_class("-writing")

    @on(TextField.Submitted)
    def do_take_cell(self) -> None:
        column, plan, row, value = self._cell, self.plan, self.current, self._field.value
        if column is None:
            self._take_file(value.strip())
        elif plan is not None and row is not None:
            self.do_leave_cell()
            self._written = row.number
            self.judge(edited(plan.sheet, row.number, column, value))

    def do_skip_row(self, row: BatchRow) -> None:
        plan = self.plan
        if plan is None:
            return
        sheet = skipping(plan.sheet, {row.number})
        if self.busy or not plan.limits_known:
            self.judge(sheet)
            return
        again = plan_of(sheet, plan.rows, limits_known=True)
        self.work.plan = against_means(again, self.work.means)
        self.show()
        # What rows that are taken in sell may not have been asked for yet.
        self.read_means()

    def do_decimal_comma(self) -> None:
        if self.plan is None:
            return
        try:
            self.judge(with_decimal_commas(self.plan.sheet))
        except UnreadableFile as error:
            self.show_notice(str(error), "warning")

    def _take_file(self, written: str) -> None:
        if not written:
            return
        if self.session.played:
            self.show_notice(PLAYED, "warning")
            return
        path = path_of(written)
        if os.path.isdir(path):
            plain = written if os.path.isdir(os.path.expanduser(written)) else str(path)
            self._field.field.set_value(f"{plain.rstrip('/')}/")
            self._offer()
            return
        self.writing = False
        self._show_offers()
        self._begin(self._load(path, written))
        self._table.focus()

    # planning

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.busy = "planning"
        self.refresh_keys()
        self.run_worker(work, group="batch", exclusive=True, exit_on_error=False)

    def judge(self, sheet: Sheet) -> None:
        """Checks the rows of ``sheet`` and plans their orders, in the background."""
        planner = self.work.planner or self.planner()
        self.work.planner = planner
        self._begin(self._judge(planner, sheet))

    def planner(self) -> BatchPlanner:
        """Returns a new planner of orders, which does not know the service's limits yet."""
        desk = self.desk
        return BatchPlanner(
            desk.catalog, desk.book, desk.journal, desk.clock, live=desk.settings.live
        )

    async def _load(self, path: Path, written: str) -> None:
        planner = self.planner()
        try:
            content = await asyncio.to_thread(read_bytes, path)
            sheet = await read_sheet(path.name, content, self.desk.clock)
        except UnreadableFile as error:
            self.call_later(self._not_planned, str(error), written)
            return
        await asyncio.to_thread(self._recent.add, path)
        self.work.begin(planner)
        await self._judge(planner, sheet)

    async def _judge(self, planner: BatchPlanner, sheet: Sheet) -> None:
        link = self.link
        made = self.work.batch_id is not None
        plan = await planner.judged(sheet, self._parts(sheet), made=made)
        self.call_later(self._planned, plan)
        if link is not None and self.work.batch_id is None:
            plan = await planner.with_limits(plan, link.api)
            self.call_later(self._planned, plan)

    def _parts(self, sheet: Sheet) -> Callable[[Sequence[BatchRow]], None]:
        shown: set[str] = set()

        def rows_so_far(rows: Sequence[BatchRow]) -> None:
            due = {"rows"} if len(rows) >= SCREENFUL else set()
            if any(row.problems for row in rows[-STEP:]):
                due.add("problem")
            if due - shown:
                shown.update(due)
                part = plan_of(sheet, rows, limits_known=False)
                self.call_later(self._planned, part, part=True)

        return rows_so_far

    def _not_planned(self, failure: str, written: str) -> None:
        self._put_away()
        self.busy = ""
        self.do_load_file(written)
        self.show_notice(failure, "error")

    def _planned(self, plan: BatchPlan, *, part: bool = False) -> None:
        self._put_away()
        if part and self.plan is not None and self.plan.whole:
            # A cell was written anew: the rows that stand there stay until all are judged.
            return
        # What the wallet has was read for the rows of before, and is read again.
        self.work.plan = plan if self.work.batch_id else against_means(plan, self.work.means)
        if part:
            self.show()
            return
        # What was created needs no limits any more.
        over = plan.limits_known or self.link is None or self.work.batch_id is not None
        self.busy = "" if over else "asking for limits"
        self.read_on()
        if over:
            self._go_on()
            self.read_means()

    def _go_on(self) -> None:
        written, self._written = self._written, 0
        row, plan = self.current, self.plan
        put_right = row is not None and row.number == written and not row.problems
        if not put_right or plan is None or not plan.problems or self.writing:
            return
        self.do_to_problem(1)
        row = self.current
        if row is not None and row.problems[:1] and row.problems[0].code != NOT_IN_WALLET:
            self.do_edit_row()

    def read_means(self) -> None:
        plan = self.plan
        if plan is not None and self.session.opened:
            self.fills_wallet()
            work = self._read_means(plan)
            self.run_worker(work, group="batch-means", exclusive=True, exit_on_error=False)

    def balances_changed(self) -> None:
        self._has(())
        self.read_means()

    async def _read_means(self, plan: BatchPlan) -> None:
        means: tuple[Means, ...] = ()
        first = not self.work.means
        async for means in means_of(self.desk, plan):
            if first:
                self.call_later(self._means_read, plan, means)
        # What was known before stands until all of it is read anew.
        if not first:
            self.call_later(self._means_read, plan, means)

    def _means_read(self, plan: BatchPlan, means: tuple[Means, ...]) -> None:
        if self.plan is not None and plan.sheet is self.plan.sheet:
            self._has(means)

    def _has(self, means: tuple[Means, ...]) -> None:
        self.work.means = means
        if self.plan is not None and self.work.batch_id is None:
            self.work.plan = against_means(self.plan, means)
        self.show()

    def work_failed(self, group: str) -> None:
        self._put_away()
        self.busy = ""
        self.refresh_keys()

    # problems

    def do_to_problem(self, way: int) -> None:
        plan = self.plan
        if plan is None:
            return
        numbers = [row.number for row in plan.problems] or [
            row.number for row in plan.rows if row.findings and not row.skipped
        ]
        at = int(self._table.cursor_key or 0)
        ahead = [number for number in numbers if (number - at) * way > 0]
        if numbers:
            self._table.move_to(str((ahead or numbers)[0 if way > 0 else -1]))

    # creating

    def do_create_batch(self) -> None:
        plan = self.plan
        if plan is None:
            return
        if self.work.batch_id is not None:
            self.work.go_on()
            self.show()
            return
        if not plan.doubts:
            self._create(plan)
            return

        def agreed() -> None:
            if self.plan is plan and self.work.batch_id is None:
                self._create(plan, agreed=True)

        self.confirm(_doubted(plan), agreed)

    def _create(self, plan: BatchPlan, *, agreed: bool = False) -> None:
        try:
            self.work.create(plan, agreed=agreed)
        except NotCreatable:
            self.show_notice("A row has a problem; nothing was created.", "warning")
        except ClaimTaken as error:
            notice = f"These rows are batch {error.holder.id[:8]} already. Nothing was created."
            self.show_notice(notice, "warning")
        except JournalUnavailable:
            self.show_notice(NO_JOURNAL.cause, "error")
        else:
            self.read_on()

    def do_failed_again(self) -> None:
        made = self.made
        sheet = failed_sheet(made) if made is not None else None
        if made is None or sheet is None:
            return
        self.work.begin(self.planner(), unpaid=made.id if self.group is not None else None)
        self.progress = None
        self.judge(sheet)

    def do_back_to_batch(self) -> None:
        ledger = self.desk.journal.ledger
        unpaid = find_batch(ledger, self.work.unpaid) if self.work.unpaid else None
        if unpaid is not None:
            self._open(unpaid)

    def do_orders(self) -> None:
        made = self.made
        groups = (
            [group.multi_id for group in made.groups if group.multi_id] if made is not None else []
        )
        filter_line = "" if len(groups) != 1 else f"group:{groups[0]}"
        self.controls.navigation.open_orders(filter_line)

    def do_export_batch(self) -> None:
        if self.session.played:
            self.show_notice(PLAYED, "warning")
            return
        now, made = self.now(), self.made
        if made is None:
            name, content = NAME, template(self.desk.book).encode()
        else:
            rows = result_rows(made, self.known_orders(made))
            name = f"swapdesk-batch-{made.id[:8]}-{now:%Y%m%d-%H%M%S}Z.csv"
            content = results_csv(rows)
        folder = export_directory(self.session.settings.home, Path.home())
        try:
            written = write_export(folder / name, content)
        except OSError as error:
            reason = error.strerror or "the disk refuses it"
            self.show_notice(f"The file cannot be written: {reason}.", "error")
            return
        if made is None:
            # It is the file that is loaded next, once its rows are written.
            self._recent.add(written)
        self.show_notice(f"Written: {written}.")

    # paying

    def do_pay(self, until: str) -> None:
        """Continues the payment of the next orders up to the stage ``until``. For ``SIGNED`` also
        opens the page where the user signs."""
        group = self.group
        if group is None:
            return
        try:
            signing = self.controls.signing.pay_group(group.group.act.id, Until[until])
        except Stopped as error:
            self.show_notice(f"{error} Next {error.next}.", "warning")
        except JournalUnavailable:
            self.show_notice(NO_JOURNAL.cause, "error")
        else:
            self.show()
            if until == Until.SIGNED.name:
                self.controls.signing.open(signing)

    # keys

    def standings(self) -> Standings:
        if self.writing:
            in_cell = self._cell is not None
            return {
                **dict.fromkeys((BATCH, *self.VERBS), False),
                TAKE_CELL: CommandState(verb="" if in_cell else "load"),
                OTHER_COLUMN: in_cell,
                **dict.fromkeys(FILE_VERBS, not in_cell),
                LEAVE_CELL: True,
            }
        progress, creating = self.progress, self.work.creating
        failed = progress is not None and progress.failed > 0
        busy = CREATING if creating else self.doing
        # With the same input, unless something of the batch is just on its way.
        again = CREATING if progress is not None and progress.creating else busy
        return {
            **dict.fromkeys((BATCH, *FIELD_VERBS), False),
            LOAD_FILE: CommandState(locked=CREATING if creating else ""),
            EXPORT_BATCH: CommandState(verb="export" if self.made is not None else "template"),
            FAILED_AGAIN: CommandState(locked=again, hidden=not failed),
            BACK_TO_BATCH: CommandState(locked=busy, hidden=failed or self.work.unpaid is None),
            **{verb: self.paying_standing(verb) for verb in PAYING_VERBS},
            **self._row_standings(),
        }

    def _row_standings(self) -> Standings:
        plan, made = self.plan, self.made
        if plan is None:
            return dict.fromkeys(ROW_VERBS, False)
        wrong = made is None and any(line.findings and not line.skipped for line in plan.rows)
        # Said with an amount of the file: whether that is meant is for the trader to say.
        comma = plan.comma_problem if made is None else None
        amount = comma.cell("sell_amount") if comma is not None else ""
        kept = self.work.batch_id is not None
        return {
            NEXT_PROBLEM: wrong,
            PREVIOUS_PROBLEM: wrong,
            DECIMAL_COMMA: CommandState(
                verb=f"read {amount} as {pointed(amount)}", hidden=comma is None
            ),
            EDIT_ROW: not kept,
            CREATE_BATCH: self._create_standing(plan),
        }

    def standings_of(self, row: BatchRow) -> Standings:
        kept = self.work.batch_id is not None
        return {SKIP_ROW: CommandState(verb="keep row" if row.skipped else "", hidden=kept)}

    @property
    def cut_off(self) -> str:
        """Why the service cannot be asked now (``not connected`` or ``read only``); empty if it
        can."""
        if self.link is None:
            return "not connected"
        return "read only" if self.link.connection.read_only else ""

    def _create_standing(self, plan: BatchPlan) -> CommandState:
        progress, count = self.progress, len(plan.problems)
        if self.work.creating:
            return CommandState(locked=CREATING)
        if progress is not None and not progress.creating:
            return HIDDEN
        if self.busy:
            return CommandState(locked=self.busy)
        if progress is None and count:
            return CommandState(locked=counted(count, "problem"))
        if self.cut_off:
            return CommandState(locked=self.cut_off)
        if progress is not None:
            return CommandState(verb="go on")
        if not plan.limits_known:
            return CommandState(locked="limits not known")
        if not plan.groups:
            return CommandState(locked="no rows")
        return CommandState(cost=counted(plan.calls.create, "exchange"))

    def paying_standing(self, verb: Verb) -> CommandState:
        """Returns the state of ``verb``, which is a command that builds, signs or submits a payment
        for the batch."""
        progress, group = self.progress, self.group
        if self.work.creating or progress is None or progress.creating or group is None:
            return HIDDEN
        doing = self.doing
        if verb is SIGN_BUNDLE and doing == "being signed":
            return CommandState(verb="look at it")
        bundle, due = group.bundle, group.next
        if verb is BUILD_BUNDLE and due is Until.SIGNED:
            return HIDDEN if doing else CommandState(verb="build again", cost="1 read")
        # What was never built is built and shown by one key; what failed is looked at in between.
        at_once = verb is SIGN_BUNDLE and due is Until.BUILT and bundle is None
        if due is not Until[str(verb.given[0])] and not at_once:
            return HIDDEN
        if doing:
            return HIDDEN if at_once else CommandState(locked=doing)
        if self.cut_off:
            return CommandState(locked=self.cut_off)
        cost = "1 read" if due is Until.BUILT else ""
        if verb is BUILD_BUNDLE:
            return CommandState(cost=cost)
        if verb is SIGN_BUNDLE:
            word = "sign and send" if group.solana else "sign"
            return CommandState(verb=f"build and {word}" if at_once else word, cost=cost)
        under_way = bundle is not None and bundle.under_way
        return CommandState(verb="look again" if under_way else "")


def _doubted(plan: BatchPlan) -> Question:
    doubts = list(plan.doubts[:MOST_DOUBTS])
    if more := len(plan.doubts) - len(doubts):
        doubts.append(f"And {more} more: look at these rows first.")
    return Question("Before these orders are created", doubts, AGREED, "agree")


def batch_columns(plan: BatchPlan | None, width: int) -> tuple[Column, ...]:
    """Returns the columns of the table for a screen of ``width`` cells."""
    rows = plan.rows if plan is not None else ()
    number = Column("row", "#", 4, "right")
    unit = _unit(rows)
    # With one token for all rows its name is in the head, where there is no room for both.
    unit_cells = 0 if unit and width < ROOMY else 6
    sells = Column("sells", f"Sells {unit}".rstrip(), 10, "point", unit=unit_cells)
    arrives = Column("arrives", "Arrives", max(11, _widest(map(_arrives, rows))))
    route = Column("route", "Route", 8)
    state = Column("state", "State", 20, grow=1)
    if width < NAMED:
        # A name where there is one, else the address: the row under the cursor tells both.
        to = Column("to", "Recipient", 13)
        return (number, to, sells, arrives, *((route,) if width >= ROOMY else ()), state)
    head = (number, Column("name", "Name", 8))
    if width < WIDE:
        address = Column("address", "Address", 13, role="muted")
        return (*head, address, sells, arrives, route, state)
    address = Column(
        "address",
        "Address",
        _widest(grouped_address(_recipient(row)) for row in rows),
        role="muted",
    )
    refund = _widest(map(_refund, rows))
    back = Column("refund", "Comes back to", refund, priority=0, role="muted")
    return (*head, address, sells, arrives, route, *((back,) if refund else ()), state)


def _unit(rows: Iterable[BatchRow]) -> str:
    sold = {_sold(row) for row in rows}
    symbol = sold.pop() if len(sold) == 1 else ""
    return symbol if 0 < cell_len(symbol) <= LONGEST_UNIT else ""


def _sold(row: BatchRow) -> str:
    if row.order is not None:
        return row.order.token_in.symbol
    return row.cell("sell").partition(".")[0][:LONGEST_UNIT].upper()


def batch_rows(
    plan: BatchPlan,
    batch: Batch | None,
    orders: Mapping[str, OrderStatus],
    width: int,
) -> list[Row]:
    """Returns the rows of the table. ``batch`` has the outcome of each row; None if the rows are
    not in the journal yet."""
    ends = {row.number: row for row in batch.rows} if batch is not None else {}
    bare = width < ROOMY and bool(_unit(plan.rows))
    return [
        _row(row, ends.get(row.number), orders, wide=width >= WIDE, bare=bare) for row in plan.rows
    ]


def _row(
    planned: BatchRow,
    end: BatchRow | None,
    orders: Mapping[str, OrderStatus],
    *,
    wide: bool,
    bare: bool,
) -> Row:
    if end is None:
        glyph, role, words = LEVELS[planned.state]
        finding = None if planned.skipped else (planned.problems or planned.findings or (None,))[0]
        words = finding.short if finding is not None else words
    else:
        glyph, role, words, reason = _end(end, orders.get(end.service_id or ""))
        words = f"{words}: {reason}" if wide and reason else words
    state: Line = [Span(glyph, role), Span(f" {words}", "muted" if role == "status-done" else role)]
    cells: dict[str, LineLike] = {**_cells(planned, wide=wide, bare=bare), "state": state}
    if wide:
        cells["refund"] = _refund(planned)
    return Row(str(planned.number), cells, "muted" if planned.skipped else "")


def rows_below(plan: BatchPlan, last: int) -> tuple[LineLike, LineLike]:
    """Returns how many rows follow row number ``last``, and which of them has the first problem."""
    below = [row for row in plan.rows if row.number > last]
    if not below:
        return "", ""
    count = Span(f"{counted(len(below), 'row')} below", "muted")
    wrong = [row.number for row in below if row.state == "problem"]
    if not wrong:
        return count, ""
    where = f"row {wrong[0]}" if len(wrong) == 1 else f"the next in row {wrong[0]}"
    several = f"{REFUSED} {counted(len(wrong), 'problem')} below, {where}"
    return count, Span(several, "status-trouble")


def row_detail(planned: BatchRow, end: BatchRow | None) -> str:
    """Returns all findings about the row ``planned``, in sentences. ``end`` is the same row as
    stored in the journal; None if it is not there yet."""
    if planned.skipped:
        return " ".join(["It is skipped: no order is created.", *_reasons(planned, end)])
    reasons = _reasons(planned, end)
    sound = not planned.problems if end is None else end.became == "created"
    if planned.order is not None and sound:
        reasons.append(_sides(planned.order))
    return " ".join(reasons)


def _sides(order: PlannedOrder) -> str:
    sold, bought = order.token_in, order.token_out
    memo = f", memo {order.memo}" if order.memo is not None else ""
    return (
        f"Sells {exact_amount(order.amount)} {sold.symbol} on {sold.chain_data.name};"
        f" {about_amount(order.about)} {bought.symbol} on {bought.chain_data.name} arrive at"
        f" {f'{order.label} ' if order.label else ''}{grouped_address(order.recipient)}{memo}."
    )


def _reasons(planned: BatchRow, end: BatchRow | None) -> list[str]:
    if end is not None:
        return [end.reason] if end.reason else []
    findings = [
        *planned.problems,
        *(finding for finding in planned.findings if finding not in planned.problems),
    ]
    return [f"{finding.reason} {finding.do}" for finding in findings]


def _end(end: BatchRow, order: OrderStatus | None) -> tuple[str, str, str, str]:
    if end.became == "created" and order is not None and order.sign != "waiting":
        return *SIGNS[order.sign], order.word, ""
    glyph, role, word, _ = _ENDS[end.became]
    return glyph, role, word, end.reason or ""


def _cells(row: BatchRow, *, wide: bool, bare: bool) -> dict[str, LineLike]:
    order = row.order
    typed = row.cell("to")
    name = order.label if order is not None else typed if typed.startswith("@") else None
    address = grouped_address(_recipient(row))
    short = short_address(_recipient(row)) if address else ""
    whole = wide and cell_len(address) <= LONGEST_ADDRESS
    shown = {
        "row": str(row.number),
        "name": Span(name[:8], bold=order is not None) if name else NOTHING,
        "address": address if whole else short,
        "to": Span(name[:13], bold=order is not None) if name else short or NOTHING,
        "arrives": _arrives(row),
        "route": row.cell("route")[:8] or "standard",
    }
    if order is None:
        return {**shown, "sells": _typed_amount(row, bare=bare)}
    amount = exact_amount(order.amount)
    return {
        **shown,
        "sells": amount if bare else f"{amount} {order.token_in.symbol}",
        "route": Span(order.route, f"route-{order.route}"),
    }


def _arrives(row: BatchRow) -> str:
    order = row.order
    if order is None:
        return row.cell("buy")[:LONGEST_UNIT]
    return f"{about_amount(order.about)} {order.token_out.symbol[:LONGEST_UNIT]}"


def _typed_amount(row: BatchRow, *, bare: bool) -> LineLike:
    typed = row.cell("sell_amount")
    try:
        amount = exact_amount(parse_amount(typed))
    except AmountError:
        return Span(typed[:LONGEST_AMOUNT], "status-trouble") if typed else NOTHING
    symbol = row.cell("sell").partition(".")[0][:6]
    return f"{amount} {symbol}" if symbol and not bare else amount


def _recipient(row: BatchRow) -> str:
    address = row.order.recipient if row.order is not None else row.cell("to")
    return "" if address.startswith("@") else address


def _refund(row: BatchRow) -> str:
    refund = row.order.refund if row.order is not None else None
    return grouped_address(refund) if refund else ""


def _widest(texts: Iterable[str]) -> int:
    sizes = [cell_len(size) for size in texts]
    return max((size for size in sizes if size <= LONGEST_ADDRESS), default=0)


def tokens_named(height: int) -> int:
    """Returns how many tokens the totals name on a screen of ``height`` rows."""
    return LEAST_TOKENS + max(0, height - LOWEST) // ROWS_A_TOKEN


def head_line(plan: BatchPlan, width: int, made: Batch | None = None) -> Line:
    """Returns the summary above the table, as ``USDC on Ethereum → 6 tokens ● 16 ready``. ``made``
    is the batch in the journal; None if it is not there yet."""
    sold = plan.totals
    line: Line = []
    tokens: Line = []
    if sold:
        first = sold[0].token
        text = (
            f"{first.symbol} on {first.chain_data.name}"
            if len(sold) == 1
            else f"{len(sold)} tokens"
        )
        bought = {row.order.token_out.id for row in plan.rows if row.order and not row.skipped}
        tokens = [Span(text, bold=True), Span(f" {BECOMES} {counted(len(bought), 'token')}   ")]
    if made is not None:
        for end, (glyph, role, _, word) in _ENDS.items():
            if count := sum(row.became == end for row in made.rows):
                line.append(Span(f"{glyph} {count} {word}   ", role))
    for state, (glyph, role, word) in LEVELS.items():
        count = plan.count(state)
        # Once rows were created, what became of them stands there; no row left out became anything.
        if (count or state == "ready") and (made is None or state == "skipped"):
            several = "s" if state == "problem" and count > 1 else ""
            line.append(Span(f"{glyph} {count} {word}{several}   ", role))
    return [*tokens, *line] if width_of([*tokens, *line]) <= width else line


def plan_facts(
    plan: BatchPlan,
    means: Sequence[Means] = (),
    exchanges: Allowance | None = None,
    reads: Allowance | None = None,
    *,
    built: str = "",
    gas: str = "",
    paid: str = "",
    stopped: str = "",
    heads: str = "",
    row: tuple[str, str] | None = None,
    tokens: int = LEAST_TOKENS,
    asks: bool = True,
) -> list[Fact]:
    """Returns the facts about a plan (the checked rows of a batch), such as totals and gas.
    ``means`` is what the wallets have. ``exchanges`` and ``reads`` are the remaining API calls of
    each kind; None if unknown."""
    rows: list[tuple[str, LineLike]] = [
        ("Heads", Span(f"{TROUBLE} {heads}", "status-waiting") if heads else ""),
        # Once something is paid, what the wallet has says nothing about it.
        ("Total", _totals(plan, () if paid else means, tokens, asks=asks and not paid)),
        ("Arrives", _arrivals(plan, tokens)),
        ("Orders", _orders(plan)),
        ("Groups", _groups(plan)),
        # What was signed and asked for is over then.
        ("Paid", paid),
        ("Sign", "" if paid else built or _signatures(plan)),
        ("Gas", "" if paid else gas or _gas(means)),
        ("Calls", "" if paid else _calls(plan, exchanges, reads)),
        row if row is not None else ("", ""),
        ("Stopped", Span(f"{TROUBLE} {stopped}", "status-waiting") if stopped else ""),
    ]
    return [Fact(label, value) for label, value in rows if value]


def laid(facts: Sequence[Fact], width: int) -> list[Line]:
    """Returns the rows that show ``facts``. Two facts share a row if each of them fits into half of
    the row."""
    half = width // 2
    rest = list(facts)
    rows: list[Line] = []
    while rest:
        beside = [_labelled(fact) for fact in rest[:2]]
        fits = width_of(beside[0]) < half and width_of(beside[-1]) <= width - half
        if width >= TWO_COLUMNS and len(beside) == 2 and fits:
            rows.append([*fill(beside[0], half), *beside[1]])
        else:
            rows += fact_lines(rest[0], width, LABEL)
            beside = beside[:1]
        rest = rest[len(beside) :]
    return rows


def _labelled(fact: Fact) -> Line:
    return [*fill(Span(fact.label, "muted"), LABEL), *line_of(fact.value)]


def _totals(plan: BatchPlan, means: Sequence[Means], tokens: int, *, asks: bool) -> Line:
    by_chain = {payer.chain: payer for payer in means}
    totals = [(total, by_chain.get(total.chain)) for total in plan.totals]
    totals.sort(key=lambda pair: pair[1] is None or pair[1].missing(pair[0]) is None)
    line = joined([_total(total, payer, asks) for total, payer in totals[:tokens]], ", ")
    return joined([line, _more_tokens(len(totals) - tokens)], "") or [Span(NOTHING)]


def _more_tokens(count: int) -> str:
    return f" and {counted(count, 'more token')}" if count > 0 else ""


def _arrivals(plan: BatchPlan, tokens: int) -> str:
    text = ", ".join(
        f"{about_amount(arrival.about)} {arrival.token.symbol} on {arrival.token.chain_data.name}"
        for arrival in plan.arrivals[:tokens]
    )
    return text + _more_tokens(len(plan.arrivals) - tokens) or NOTHING


def _total(total: Total, means: Means | None, asks: bool) -> LineLike:
    amount = exact_amount(total.amount)
    what = f"{total.token.symbol} on {total.token.chain_data.name}"
    if means is None:
        return f"{amount} {what}; what the wallet has is not known" if asks else f"{amount} {what}"
    if means.problem:
        return [Span(f"{amount} {what}. "), Span(f"{TROUBLE} {means.problem}", "status-waiting")]
    if means.filling:
        symbol = total.token.symbol
        return f"{amount} {what}; the faucet sends {symbol} to wallet {means.wallet}"
    has = means.has(total.token)
    if has is None:
        return f"{amount} {what}; what wallet {means.wallet} has is not known"
    lack = means.missing(total)
    role = "foreground" if lack is None else "status-waiting"
    text = [
        Span(amount, role, amount=True),
        Span(f" of {exact_amount(has)} {what} in wallet {means.wallet}", role),
    ]
    if lack is None:
        return text
    missing = f"; {exact_amount(lack)} {total.token.symbol} are missing"
    return [Span(f"{TROUBLE} ", role), *text, Span(missing, role)]


def _orders(plan: BatchPlan) -> str:
    orders = ", ".join(f"{count} {route}" for route, count in plan.routes.items())
    return f"{sum(plan.routes.values())}: {orders}" if orders else NOTHING


def _groups(plan: BatchPlan) -> str:
    """Returns the number of groups in the plan and their rows, as ``2: 50 on Ethereum, 12 on
    Base``. A group has at most 50 rows, all on one chain."""
    names = _named(f"{len(group.rows)} on {group.chain_name}" for group in plan.groups)
    return f"{len(plan.groups)}: {names}" if plan.groups else names


def _named(names: Iterable[str]) -> str:
    first = list(names)
    more = f" and {len(first) - MOST} more" if len(first) > MOST else ""
    return ", ".join(first[:MOST]) + more or NOTHING


def _signatures(plan: BatchPlan) -> str:
    kinds = _named(map(_how, plan.groups))
    total = sum(group.signatures for group in plan.groups)
    return f"{total} times: {kinds}" if len(plan.groups) > 1 else kinds


def _how(group: Group) -> str:
    means = "1 bundle" if group.paid == "bundle" else counted(group.signatures, "transaction")
    return f"{means} of {counted(len(group.rows), 'transfer')}"


def _calls(plan: BatchPlan, exchanges: Allowance | None, reads: Allowance | None) -> str:
    calls = plan.calls
    text = f"{calls.create} create, {calls.build} build, {calls.submit} submit"
    for name, left in (("exchanges", exchanges), ("reads", reads)):
        if left is not None:
            text += f"; {name} {left.left:,} of {left.limit:,} left"
    return text


def _gas(means: Sequence[Means]) -> LineLike:
    funded = [payer for payer in means if payer.coin is not None]
    if not funded:
        return ""
    coins = ", ".join(
        f"{exact_amount(payer.coin)} {payer.coin_symbol}" for payer in funded[:MOST] if payer.coin
    )
    wallet = funded[0].wallet
    if not coins:
        return Span(f"{TROUBLE} wallet {wallet} has nothing to pay it from", "status-waiting")
    return f"told by the build; wallet {wallet} has {coins}"
