"""The page that signs: the payload beside what was promised, then the steps that go on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from msgspec import to_builtins
from msgspec.structs import replace
from textual import on
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import age
from swapdesk.flows.orders.raw_json import raw_lines
from swapdesk.flows.signing.signing_session import FlowStep, Mark, SigningSession, Stage
from swapdesk.tui.breakpoints import SHORT_BELOW
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.sign import (
    BACK,
    BUMP,
    CANCEL,
    COPY_DIGEST,
    GO_ON,
    RAW_FIELDS,
    READ_BACK,
    READ_ON,
    REFUSE,
    SIGN,
    UNLOCK,
)
from swapdesk.tui.glyphs import MOVING, REFUSED, RULE, VALID, WAITING
from swapdesk.tui.page import Page
from swapdesk.tui.screens.sign_facts import (
    SignState,
    context_of,
    heading_lines,
    money_of,
    phrase_question,
    sign_lines,
    state_for,
    subject_of,
)
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, width_of
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.lines_view import FittedLines, TextRows
from swapdesk.tui.widgets.overlay import Question, TypedConfirm
from swapdesk.tui.widgets.text_field import PassphraseField
from swapdesk.wallet.payload import OperationPayload, TypedDataPayload

_SIGNS = {
    Mark.DONE: (VALID, "status-done"),
    Mark.NOW: (MOVING, "status-moving"),
    Mark.AHEAD: (WAITING, "muted"),
    Mark.FAILED: (REFUSED, "status-trouble"),
}
_JOINS = (f" {RULE * 3} ", f" {RULE} ", "  ")


def step_spans(steps: Sequence[FlowStep], width: int) -> Line:
    """The widest form that fits: whole names, then their first words only but of the step that
    goes on."""
    line: Line = []
    for brief in (False, True):
        for join in _JOINS:
            line = _joined(steps, join, brief=brief)
            if width_of(line) <= width:
                return line
    return line


def _joined(steps: Sequence[FlowStep], join: str, *, brief: bool) -> Line:
    line: Line = []
    for step in steps:
        glyph, role = _SIGNS[step.mark]
        now = step.mark in (Mark.NOW, Mark.FAILED)
        name = step.name if now or not brief else " ".join(step.name.split()[:2])
        if line:
            line.append(Span(join, "rule"))
        line += [Span(f"{glyph} ", role), Span(name, "foreground" if now else "muted", bold=now)]
    return line


class SignView(FittedLines):
    """The review, or what goes on while there is none."""

    class LaidOut(Message):
        """It has its room on the screen."""

    def on_resize(self) -> None:
        self.post_message(self.LaidOut())


READ_FIRST = "read to the end first"


class SignScreen(Page):
    """What is about to be signed, beside what was promised; `s` signs it and nothing else does.

    One swap on chains or one deposit, from the key that began it to the turn of the venue.
    """

    NAME = "Sign"
    SPENDS = "exchange"
    VERBS = (
        SIGN,
        REFUSE,
        GO_ON,
        BUMP,
        CANCEL,
        UNLOCK,
        READ_ON,
        RAW_FIELDS,
        COPY_DIGEST,
        READ_BACK,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = ""
    DEFAULT_CSS = """
    SignScreen #steps { height: 1; margin: 0 0 1 0; }
    SignScreen.-short #steps, SignScreen.-tight #steps { margin: 0; }
    SignScreen #reading { height: 1fr; scrollbar-size: 0 0; background: $background; }
    SignScreen PassphraseField { display: none; margin: 1 0 0 0; }
    SignScreen.-locked PassphraseField { display: block; }
    SignScreen.-locked #reading { height: auto; }
    SignScreen .side { display: none; padding: 1 0; }
    SignScreen.-wide .side { display: block; }
    """

    def __init__(self, session: Session, signing: SigningSession) -> None:
        super().__init__(session, context=context_of(signing))
        self.signing = signing
        self._steps = FittedLines(id="steps")
        self._state = SignState(signing, short=False)
        """How the view is drawn."""
        self._heading, self._view = FittedLines(), SignView()
        self._reading = VerticalScroll(self._view, id="reading", can_focus=False)
        self._phrase = PassphraseField()
        self._raw = TextRows()
        self._read: set[str] = set()
        """Reviews of which the end was on the screen."""
        self._drawn: str | None = None
        """The review that the view shows."""

    def compose_body(self) -> Iterable[Widget]:
        yield self._steps
        yield self._heading
        yield self._reading
        yield self._phrase

    def compose_side(self) -> Iterable[Widget]:
        yield VerticalScroll(self._raw, classes="side", can_focus=False)

    def on_mount(self) -> None:
        self.show()

    # drawing

    @property
    def counting(self) -> bool:
        return not self.signing.over

    def frame_now(self) -> FrameState:
        """The place of the budget tells whether keys are open, and for how long."""
        state = super().frame_now()
        signing = getattr(self, "signing", None)
        if signing is None or not self.session.opened:
            return state
        seconds = self.desk.wallet.locks_in
        lock = "locked" if seconds is None else f"unlocked {age(seconds)} left"
        return replace(state, context=context_of(signing), budget=None, lock=lock)

    def on_tick(self) -> None:
        self.show()

    def swaps_changed(self) -> None:
        self.show()

    def on_resize(self) -> None:
        self._read.clear()
        self.show()

    def show(self) -> None:
        """Draw what stands now."""
        if not self.is_mounted:
            return
        signing = self.signing
        locked = signing.stage is Stage.LOCKED
        self.set_class(locked, "-locked")
        if locked and self.focused is not self._phrase:
            self._phrase.focus()
        if not locked:
            self._phrase.forget()
            if self.focused is self._phrase:
                self.set_focus(None)
        self._say_steps()
        state = self._fitting()
        self.set_class(not state.roomy, "-tight")
        self._state = state
        self._heading.show(partial(heading_lines, state))
        self._view.show(partial(sign_lines, state))
        review = signing.review
        self._drawn = review.id if review is not None else None
        step = self._drawn or signing.stage.value
        if step != self.guard.step:
            self._reading.scroll_to(y=0, animate=False, immediate=True)
            self._show_raw()
        self.step_is(step)
        self.refresh_frame()
        self.call_after_refresh(self._see_end)

    def _fitting(self) -> SignState:
        """How what stands now is drawn in the room there is."""
        short = self.app.size.height < SHORT_BELOW
        height = self._heading.size.height + self._reading.size.height
        # The row below the steps is empty on a roomy screen only.
        if not short and not self.has_class("-tight"):
            height += 1
        return state_for(self.signing, self._reading.size.width, height, short=short, gap=1)

    def _say_steps(self) -> None:
        try:
            steps = tuple(self.signing.steps)
            where = self.signing.whereabouts
        except JournalUnavailable as error:
            self.show_notice(f"{error}.", "error")
            return
        self._steps.show(lambda width: [step_spans(steps, width)])
        money = money_of(self.signing, where, self.now())
        self.set_money(
            money.where,
            money.next_,
            where_short=money.where_short,
            next_short=money.next_short,
            urgent=money.urgent,
        )

    @on(SignView.LaidOut)
    def _see_end(self) -> None:
        """The end of a review was on the screen: it may be signed from now on."""
        review, reading = self.signing.review, self._reading
        if not self.is_mounted:
            return
        if self._drawn is not None and self._fitting() != self._state:
            # How much room there is was not known when it was drawn.
            self.show()
            return
        if review is None or review.id in self._read:
            # Whether there is more to read is known once it is laid out.
            self.refresh_keys()
            return
        # The signing moves on by itself: what is on the screen may still be what stood before.
        shown = self._drawn == review.id and self._view.laid_out
        if shown and reading.scroll_y + reading.size.height >= self._view.size.height:
            self._read.add(review.id)
            # What makes the key work is a change of the screen, whatever made it.
            self.guard.changed(self.guard.step)
        self.refresh_keys()

    def _show_raw(self) -> None:
        self._raw.show(self.raw_lines() if self.signing.payload is not None else [])

    def raw_lines(self) -> list[str]:
        """What is signed as it came, made safe."""
        payload = self.signing.payload
        if payload is None:
            return []
        shown = payload.document if isinstance(payload, TypedDataPayload) else to_builtins(payload)
        return raw_lines(json.dumps(shown, default=str).encode())

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        signing = self.signing
        review, stage = signing.review, signing.stage
        if verb is UNLOCK:
            return READY if stage is Stage.LOCKED else HIDDEN
        if verb is GO_ON:
            return READY if stage is Stage.STOPPED else HIDDEN
        if verb in (BUMP, CANCEL):
            return READY if signing.replaceable else HIDDEN
        if verb in (READ_ON, READ_BACK):
            if stage is Stage.LOCKED:
                return HIDDEN
            below = self._reading.max_scroll_y > self._reading.scroll_y
            return READY if (below if verb is READ_ON else self._reading.scroll_y > 0) else HIDDEN
        if verb is RAW_FIELDS:
            return READY if signing.payload is not None and stage is not Stage.LOCKED else HIDDEN
        if verb in (SIGN, REFUSE, COPY_DIGEST):
            if review is None:
                return HIDDEN
            return self._sign_standing(review.id) if verb is SIGN else READY
        if stage is Stage.LOCKED and verb not in (BACK, everywhere.KEYS):
            return HIDDEN
        return READY

    def _sign_standing(self, review_id: str) -> CommandState:
        left = self.signing.left(self.now())
        if not left:
            return HIDDEN
        if review_id not in self._read:
            return CommandState(locked=READ_FIRST)
        # What is signed off chain is handed in by another key.
        sends = not isinstance(self.signing.payload, TypedDataPayload | OperationPayload)
        return CommandState(verb="sign and send") if sends else READY

    def do_sign(self) -> None:
        review = self.signing.review
        if review is None:
            return
        phrase = review.phrase
        if phrase is None:
            self.signing.agree(review.id)
            return

        def typed(yes: bool | None) -> None:
            if yes:
                self.signing.agree(review.id, phrase)

        heading = f"Not all of this is in the {self.signing.PROMISE}"
        asked = Question(heading, phrase_question(self.signing, review), phrase, "sign")
        self.app.push_screen(TypedConfirm(asked), typed)

    def do_refuse(self) -> None:
        review = self.signing.review
        if review is not None:
            self.signing.refuse(review.id)

    def do_go_on(self) -> None:
        self.controls.signing.go_on(self.signing)

    def do_bump(self) -> None:
        self.controls.signing.bump(self.signing)

    def do_cancel(self) -> None:
        self.controls.signing.cancel(self.signing)

    @on(PassphraseField.Complete)
    def do_unlock(self) -> None:
        if not self._phrase.value:
            self.show_notice("Type the pass phrase of the wallet.", "warning")
            return
        self.signing.unlock(self._phrase.take())

    def do_scroll(self, direction: int) -> None:
        by = direction * max(1, self._reading.size.height - 1)
        at = min(max(0, self._reading.scroll_y + by), self._reading.max_scroll_y)
        self._reading.scroll_to(y=at, animate=False, immediate=True)
        self.call_after_refresh(self._see_end)
        self.refresh_keys()

    def do_raw_fields(self) -> None:
        from swapdesk.tui.screens.raw_order import RawPayloadScreen

        screen = RawPayloadScreen(self.session, subject_of(self.signing), self.raw_lines())
        self.app.push_screen(screen)

    def do_copy_digest(self) -> None:
        if (review := self.signing.review) is not None:
            self.controls.copy_value("digest", review.digest)

    def do_back(self) -> None:
        self._phrase.forget()
        self.post_message(self.Go(everywhere.BACK))
