"""The batch page: a file of recipients becomes orders, and the orders are paid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from swapdesk.flows.batch.creation import NotCreatable
from swapdesk.flows.batch.group_payment import NotSettled
from swapdesk.flows.batch.group_signing import GroupSigning
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.batch.plan import BatchPlan, created_of
from swapdesk.flows.batch.planned import SheetColumn
from swapdesk.flows.batch.progress import (
    NoFailedRows,
    failed_sheet,
    left_open,
    result_rows,
    results_csv,
    sheet_of,
)
from swapdesk.flows.batch.reading import NAME, pointed, template
from swapdesk.flows.creation.confirm_intent import AGREED
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.batch_records import BatchCreatedBefore, JournaledBatch
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.order_export import export_directory, write_export
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
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.screens.batch_editing import BatchEditing
from swapdesk.tui.screens.batch_facts import PlanState
from swapdesk.tui.session import PLAYED
from swapdesk.tui.widgets.overlay import Question, TypedConfirm

PAYING_VERBS = (BUILD_BUNDLE, SIGN_BUNDLE, SUBMIT_BUNDLE)
_DOING = {
    Until.BUILT: "building",
    Until.SIGNED: "being signed",
    Until.SUBMITTED: "submitting",
    Until.SETTLED: "submitting",
}
_STANDS_AFTER = {BUILD_BUNDLE: Until.BUILT, SIGN_BUNDLE: Until.SIGNED, SUBMIT_BUNDLE: Until.SETTLED}


class BatchPaying(BatchEditing):
    """Which key is due follows from the journal; the work itself is the application's."""

    @property
    def signing(self) -> GroupSigning | None:
        """The session of the group that is next, once there was one in this run."""
        progress = self.progress
        if progress is None or progress.current is None:
            return None
        current = progress.current
        return self.controls.signing.group(current.batch_id, current.group.number)

    @property
    def doing(self) -> str:
        """What goes on with the group that is next; empty when nothing."""
        signing = self.signing
        if signing is None or not self.controls.signing.working(signing):
            return ""
        current = self.progress.current if self.progress is not None else None
        bundle = current.bundle if current is not None else None
        if bundle is not None and bundle.under_way:
            return "following"
        return _DOING[signing.until]

    def tells_end_of(self, signing: SigningSession) -> bool:
        return isinstance(signing, GroupSigning)

    def swaps_changed(self) -> None:
        self.read_on()

    def plan_state(self, plan: BatchPlan) -> PlanState:
        state, progress = super().plan_state(plan), self.progress
        if progress is None:
            return state
        if progress.current is not None and not progress.creating:
            totals = created_of(state.plan, progress.unpaid_rows).totals
            state = replace(state, plan=replace(state.plan, totals=totals))
        outcome = self.signing.outcome if self.signing is not None else None
        failure = outcome.failure if outcome is not None else None
        current = progress.current
        group = current.group if current is not None else None
        chains = {one.chain: one.coin_symbol for one in state.means}
        return replace(
            state,
            # What the wallet had before some of it left says nothing of what is still to be paid.
            means=state.means if current is None or current.brief is None else (),
            built=progress.built,
            gas=progress.gas(chains.get(group.chain, "") if group is not None else ""),
            paid=progress.paid,
            stopped=progress.left_there
            if failure is None
            else f"{failure.cause} Next {failure.next}.",
        )

    def done(self) -> str:
        progress = self.progress
        if progress is None:
            return super().done()
        return progress.word if not self.doing else f"{progress.word}, {self.doing}"

    def say_money(self) -> None:
        progress, signing = self.progress, self.signing
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

    def step(self) -> str:
        progress = self.progress
        current = progress.current if progress is not None else None
        if current is None:
            return super().step()
        bundle = current.bundle
        number = 0 if bundle is None else bundle.number
        return f"{current.group.multi_id} {number} {current.word} {self.doing}"

    # keys

    def paying_standing(self, verb: Verb) -> CommandState:
        """Of the three verbs that pay a group."""
        progress = self.progress
        current = progress.current if progress is not None else None
        if progress is None or progress.creating or current is None or current.next is None:
            return HIDDEN
        doing = self.doing
        if verb is SIGN_BUNDLE and doing == "being signed":
            return CommandState(verb="look at it")
        bundle, due = current.bundle, current.next
        if verb is BUILD_BUNDLE and due is Until.SIGNED:
            return HIDDEN if doing else CommandState(verb="build again", cost="1 read")
        # What was never built is built and shown by one key; what failed is looked at in between.
        at_once = verb is SIGN_BUNDLE and due is Until.BUILT and bundle is None
        if due is not _STANDS_AFTER[verb] and not at_once:
            return HIDDEN
        if doing:
            return HIDDEN if at_once else CommandState(locked=doing)
        if self.link is None or self.link.connection.read_only:
            return CommandState(locked="not connected" if self.link is None else "read only")
        if verb is BUILD_BUNDLE:
            return CommandState(cost="1 read")
        if verb is SIGN_BUNDLE:
            word = "sign and send" if current.solana else "sign"
            if at_once:
                return CommandState(verb=f"build and {word}", cost="1 read")
            return CommandState(verb=word)
        under_way = bundle is not None and bundle.under_way
        return CommandState(verb="look again") if under_way else READY

    def do_build_bundle(self) -> None:
        self._pay(Until.BUILT)

    def do_sign_bundle(self) -> None:
        signing = self._pay(Until.SIGNED)
        if signing is not None:
            self.controls.signing.open(signing)

    def do_submit_bundle(self) -> None:
        self._pay(Until.SETTLED)

    def _pay(self, until: Until) -> GroupSigning | None:
        progress = self.progress
        current = progress.current if progress is not None else None
        if current is None:
            return None
        try:
            signing = self.controls.signing.pay_group(current.batch_id, current.group.number, until)
        except NotSettled as error:
            self.show_notice(f"{error} Next {error.next}.", "warning")
            return None
        except JournalUnavailable:
            self.show_notice(NO_JOURNAL.cause, "error")
            return None
        self.show()
        return signing


MOST_DOUBTS = 4
"""So many are read before they are agreed to; the others are read row by row."""


def _doubted(plan: BatchPlan) -> Question:
    said = list(plan.doubts[:MOST_DOUBTS])
    if more := len(plan.doubts) - len(said):
        said.append(f"And {more} more: look at these rows first.")
    return Question("Before these orders are created", said, AGREED, "agree")


FILE_VERBS = (COMPLETE_PATH, FILE_BELOW, FILE_ABOVE)
FIELD_VERBS = (TAKE_CELL, OTHER_COLUMN, LEAVE_CELL, *FILE_VERBS)
CREATING = "creating"


class BatchScreen(BatchPaying):
    """A batch: a file of recipients, checked row by row, corrected in place, created, paid."""

    NAME = "Batch"
    SPENDS = "exchange"
    VERBS = (
        DECIMAL_COMMA, NEXT_PROBLEM, EDIT_ROW, SKIP_ROW, CREATE_BATCH, SUBMIT_BUNDLE, SIGN_BUNDLE,
        BUILD_BUNDLE, FAILED_AGAIN, BACK_TO_BATCH, ORDERS, EXPORT_BATCH, LOAD_FILE,
        PREVIOUS_PROBLEM, TAKE_CELL, OTHER_COLUMN, *FILE_VERBS, LEAVE_CELL,
    )  # fmt: skip
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    BatchScreen LineTable { height: 1fr; }
    BatchScreen LabelledField { display: none; }
    BatchScreen.-writing LabelledField { display: block; }
    """

    def on_mount(self) -> None:
        if self.plan is not None:
            # What the wallet has was read for a screen of before.
            self.balances_changed()
        self._reopen()

    def _reopen(self) -> None:
        """Show what is due on an earlier batch, where nothing is on what this run has loaded; ask
        for a file where nothing is due at all."""
        if self.busy or self.work.creating or (self.plan is not None and not self._over):
            return
        found = self._left_open()
        if found is not None and found.id != self.work.batch_id:
            self._open(found)
        if (self.plan is None and found is None) or self._over:
            self.do_load_file()

    def _open(self, batch: JournaledBatch) -> None:
        self.work.begin(self.planner(), batch.id)
        self.read_on()
        self.judge(sheet_of(batch))

    @property
    def _over(self) -> bool:
        """Whether a batch is shown on which nothing is due, and no row failed."""
        progress = self.progress
        return progress is not None and not progress.due and not progress.failed

    def _left_open(self) -> JournaledBatch | None:
        try:
            return left_open(self.desk.journal, self.now())
        except JournalUnavailable:
            return None

    # drawing

    def batch_moved(self, failure: str = "") -> None:
        """A group came to something."""
        if failure:
            self.show_notice(failure, "error")
        self.read_on()

    def done(self) -> str:
        return CREATING if self.work.creating else super().done()

    def say_money(self) -> None:
        if self.plan is None:
            self.set_money("in your wallet.", "you: load a file")
        elif self.work.creating or self.work.batch_id is None:
            where = "in your wallet. No deposit was paid."
            self.set_money(where, self._next(), where_short="in your wallet.")
        else:
            super().say_money()

    def _next(self) -> str:
        """Before all of it is created."""
        if self.work.creating:
            return "the service: it creates the orders"
        count = len(self.plan.problems) if self.plan is not None else 0
        if count:
            return f"you: fix or skip {count} row{'' if count == 1 else 's'}, then create"
        if self.plan is not None and not self.plan.groups:
            return "you: take a row in, or load another file"
        return "you: c creates the orders"

    # creating

    def do_create_batch(self) -> None:
        plan, batches = self.plan, self.controls.batches
        if plan is None:
            return
        if self.work.batch_id is not None:
            batches.go_on()
            self.show()
            return
        if plan.doubts:
            self.app.push_screen(TypedConfirm(_doubted(plan)), self._agreed_to(plan))
        else:
            self._create(plan)

    def _agreed_to(self, plan: BatchPlan) -> Callable[[bool | None], None]:
        """What the answer to the question about this plan does, as long as it is shown."""

        def answered(yes: bool | None) -> None:
            if yes and self.plan is plan and self.work.batch_id is None:
                self._create(plan, agreed=True)

        return answered

    def _create(self, plan: BatchPlan, *, agreed: bool = False) -> None:
        try:
            self.controls.batches.create(plan, agreed=agreed)
        except NotCreatable:
            self.show_notice("A row has a problem; nothing was created.", "warning")
        except BatchCreatedBefore as error:
            said = f"These rows are batch {error.batch_id[:8]} already. Nothing was created."
            self.show_notice(said, "warning")
        except JournalUnavailable:
            self.show_notice(NO_JOURNAL.cause, "error")
        else:
            self.read_on()

    def do_failed_again(self) -> None:
        made = self.made
        if made is None:
            return
        try:
            sheet = failed_sheet(made)
        except NoFailedRows:
            return
        progress = self.progress
        self.work.begin(self.planner())
        if progress is not None and progress.current is not None:
            self.work.unpaid = made.id
        self.progress = None
        self.judge(sheet)

    def do_back_to_batch(self) -> None:
        unpaid = self.desk.journal.batches.get(self.work.unpaid) if self.work.unpaid else None
        if unpaid is not None:
            self._open(unpaid)

    def do_orders(self) -> None:
        made = self.made
        groups = [one.multi_id for one in made.groups if one.multi_id] if made is not None else []
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
            said = error.strerror or "the disk refuses it"
            self.show_notice(f"The file cannot be written: {said}.", "error")
            return
        if made is None:
            # It is the file that is loaded next, once its rows are written.
            self._recent.add(written)
        self.show_notice(f"Written: {written}.")

    # keys

    def locked_edit(self) -> str:
        return "created already" if self.work.batch_id is not None else ""

    def verb_standing(self, verb: Verb) -> CommandState:
        plan = self.plan
        if verb is BATCH:
            return HIDDEN
        if verb in FIELD_VERBS:
            in_cell = self._cell is not None
            if not self.writing or verb in (FILE_VERBS if in_cell else (OTHER_COLUMN,)):
                return HIDDEN
            return CommandState(verb="load") if verb is TAKE_CELL and not in_cell else READY
        if verb not in self.VERBS:
            return READY
        if self.writing:
            return HIDDEN
        if verb is LOAD_FILE:
            return CommandState(locked=CREATING) if self.work.creating else READY
        if verb is EXPORT_BATCH:
            return CommandState(verb="export" if self.made is not None else "template")
        if verb is ORDERS:
            return READY
        if verb is FAILED_AGAIN:
            return self._again_standing()
        if verb is BACK_TO_BATCH:
            return self._back_standing()
        if verb in PAYING_VERBS:
            return HIDDEN if self.work.creating else self.paying_standing(verb)
        if plan is None:
            return HIDDEN
        if verb in (NEXT_PROBLEM, PREVIOUS_PROBLEM):
            found = self.made is None and any(row.findings and not row.skipped for row in plan.rows)
            return READY if found else HIDDEN
        if verb is DECIMAL_COMMA:
            return self._comma_standing()
        if verb in (EDIT_ROW, SKIP_ROW):
            return HIDDEN if self.locked_edit() else self._row_standing(verb)
        return self._create_standing()

    def _row_standing(self, verb: Verb) -> CommandState:
        row = self.row
        return CommandState(verb="keep row") if verb is SKIP_ROW and row and row.skipped else READY

    def _comma_standing(self) -> CommandState:
        """Said with an amount of the file: whether that is meant is for the trader to say."""
        row = self.plan.comma_problem if self.plan is not None and self.made is None else None
        if row is None:
            return HIDDEN
        amount = row.row.cell(SheetColumn.SELL_AMOUNT)
        return CommandState(verb=f"read {amount} as {pointed(amount)}")

    def _again_standing(self) -> CommandState:
        """With the same input, unless something of the batch is just on its way."""
        progress = self.progress
        if progress is None or not progress.failed:
            return HIDDEN
        if self.work.creating or progress.creating:
            return CommandState(locked=CREATING)
        return CommandState(locked=self.doing) if self.doing else READY

    def _back_standing(self) -> CommandState:
        if self.work.unpaid is None or (self.progress is not None and self.progress.failed):
            return HIDDEN
        busy = CREATING if self.work.creating else self.doing
        return CommandState(locked=busy) if busy else READY

    def _create_standing(self) -> CommandState:
        plan, progress, link = self.plan, self.progress, self.link
        if self.work.creating:
            return CommandState(locked=CREATING)
        if progress is not None and not progress.creating:
            return HIDDEN
        if self.busy:
            return CommandState(locked=self.busy)
        count = len(plan.problems) if plan is not None else 0
        if progress is None and count:
            return CommandState(locked=f"{count} problem{'' if count == 1 else 's'}")
        if link is None or link.connection.read_only:
            return CommandState(locked="not connected" if link is None else "read only")
        if progress is not None:
            return CommandState(verb="go on")
        if plan is None or not plan.limits_known:
            return CommandState(locked="limits not known")
        if not plan.groups:
            return CommandState(locked="no rows")
        word = "exchange" if plan.creates == 1 else "exchanges"
        return CommandState(cost=f"{plan.creates} {word}")
