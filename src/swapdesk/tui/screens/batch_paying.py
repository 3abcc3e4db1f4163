"""What was created is paid: built, signed, submitted, a group at a time, and followed."""

from __future__ import annotations

from dataclasses import replace

from swapdesk.flows.batch.group_account import NotSettled
from swapdesk.flows.batch.group_signing import GroupSigning
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.signing.signing_session import SigningSession, Stage
from swapdesk.tui.commands.batch import BuildBundle, SignBundle, SubmitBundle
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.screens.batch_editing import BatchEditing
from swapdesk.tui.screens.batch_facts import PlanState

PAYING_VERBS = (BuildBundle, SignBundle, SubmitBundle)
_DOING = {
    Until.BUILT: "building",
    Until.SIGNED: "being signed",
    Until.SUBMITTED: "submitting",
    Until.SETTLED: "submitting",
}
_STANDS_AFTER = {BuildBundle: Until.BUILT, SignBundle: Until.SIGNED, SubmitBundle: Until.SETTLED}


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
            else f"{failure.cause} Next: {failure.next}.",
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

    def paying_standing(self, verb: type[Command]) -> CommandState:
        """Of the three verbs that pay a group."""
        progress = self.progress
        current = progress.current if progress is not None else None
        if progress is None or progress.creating or current is None or current.next is None:
            return HIDDEN
        doing = self.doing
        if verb is SignBundle and doing == "being signed":
            return CommandState(verb="look at it")
        bundle, due = current.bundle, current.next
        if verb is BuildBundle and due is Until.SIGNED:
            return HIDDEN if doing else CommandState(verb="build again", cost="1 read")
        if due is not _STANDS_AFTER[verb]:
            return HIDDEN
        if doing:
            return CommandState(locked=doing)
        if self.link is None or self.link.connection.read_only:
            return CommandState(locked="not connected" if self.link is None else "read only")
        if verb is BuildBundle:
            return CommandState(cost="1 read")
        if verb is SignBundle:
            return CommandState(verb="sign and send") if current.solana else READY
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
