"""The page that sets faults in the sandbox: what goes wrong for an order, a provider or a chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ApiError, ClientError
from swapdesk.flows.faults.triggers import (
    CLOCK_STEPS,
    FaultDocument,
    Target,
    Triggers,
    targets,
    variants,
)
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.faults import (
    ADVANCE_CLOCK,
    BACK,
    CHOOSE_FAULT,
    CLEAR_FAULTS,
    NEXT_STEP,
    VARY_FAULT,
)
from swapdesk.tui.commands.faults import FAULTS as SHOW_FAULTS
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.wire.faults import FAULTS, Fault

FAULT_COLUMNS = (
    Column("fault", "fault", 22),
    Column("given", "given", 14, priority=2, role="muted"),
    Column("shows", "shows", 30, grow=1),
)
TARGET_COLUMNS = (
    Column("kind", "kind", 9, role="muted"),
    Column("target", "what it meets", 24),
    Column("said", "", 20, grow=1, role="muted"),
)
NOTHING_TO_MEET = "This desk knows nothing that it could meet: make an order first."
PLAY_MONEY = "with the sandbox; nothing here is real money."
MOST_TOLD = 3
"""Largest number of active faults that are named. If there are more, only their number is added."""


class FaultsScreen(Page):
    """A page that makes something go wrong in the sandbox on purpose, such as an exchange that
    holds a deposit back."""

    NAME = "Faults"
    SPENDS = "read"
    VERBS = (CHOOSE_FAULT, VARY_FAULT, ADVANCE_CLOCK, NEXT_STEP, CLEAR_FAULTS, SHOW_FAULTS, BACK)
    AUTO_FOCUS: ClassVar[str | None] = "#faults"
    DEFAULT_CSS = """
    FaultsScreen #faults, FaultsScreen #targets { height: 1fr; }
    FaultsScreen #notes { margin: 1 0 0 0; }
    FaultsScreen.-short #notes { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._triggers: Triggers | None = None
        self.targets: dict[str, Target | None] = {}
        self._setting: Fault | None = None
        self._varied: Counter[str] = Counter()
        self._step = 0
        self._table = LineTable(FAULT_COLUMNS, id="faults", empty="")
        self._meets = LineTable(TARGET_COLUMNS, id="targets", empty=NOTHING_TO_MEET)
        self._notes = FittedLines(id="notes")
        self._done: Span | None = None
        """What the last key press did, in words."""
        self._active: list[str] = []

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield self._meets
        yield self._notes

    def on_mount(self) -> None:
        self.set_money(PLAY_MONEY, "you: choose what goes wrong", where_short="play money.")
        self.show()

    def session_changed(self) -> None:
        control = self._triggers.control if self._triggers is not None else None
        # A sandbox that was started again has another control.
        if self.link is not None and self.link.control is not control:
            self._triggers = Triggers(self.desk)
            self._do(self._triggers, "")

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self._setting is not None:
            self._show_targets(self._setting)

    # asking the sandbox

    def _do(self, triggers: Triggers, said: str, work: Awaitable[object] | None = None) -> None:
        work_and_look = self._carry_out(triggers, said, work)
        self.fetch("faults", work_and_look, self._say, self._not_done)
        self.refresh_keys()

    async def _carry_out(
        self, triggers: Triggers, said: str, work: Awaitable[object] | None
    ) -> Span | None:
        if work is not None:
            said = said.replace("{}", str(await work))
        self._active = await triggers.active()
        return Span(said) if said else self._done

    def _not_done(self, error: ClientError) -> None:
        reason = f"The sandbox gave no answer: {error}."
        if isinstance(error, ApiError):
            reason = f"The sandbox refused: {error.message.rstrip('.')}."
        self._say(Span(reason, "status-trouble"))

    def _say(self, done: Span | None) -> None:
        self._done = done
        self.show()

    # drawing

    def show(self) -> None:
        self._table.set_rows(
            [
                Row(name, {"fault": name, "given": self._given(fault), "shows": fault.does})
                for name, fault in FAULTS.items()
            ]
        )
        choosing = self._setting is None
        self._table.display, self._meets.display = choosing, not choosing
        (self._table if choosing else self._meets).focus()
        self._show_notes()

    def _show_targets(self, fault: Fault) -> None:
        met = targets(self.desk, fault)
        self.targets = {key: target for key, (target, _) in met.items()}
        self._meets.set_rows(
            [
                Row(
                    key,
                    {
                        "kind": target.kind if target is not None else "",
                        "target": target.value if target is not None else "whatever comes next",
                        "said": said,
                    },
                )
                for key, (target, said) in met.items()
            ]
        )

    @on(LineTable.Highlighted)
    def _show_notes(self) -> None:
        active, chosen = self._active, self.current
        active_names = "; ".join(active[:MOST_TOLD])
        more = f", and {len(active) - MOST_TOLD} more" if len(active) > MOST_TOLD else ""
        state = f"Set: {active_names}{more}." if active else "No fault is set."
        spans = [] if self._done is None else [self._done]
        spans.append(Span(state, "foreground" if active else "muted"))
        if chosen is not None:
            spans.append(Span(f"{chosen.name}: {chosen.does}", "muted"))
        self._notes.show(lambda width: [line for span in spans for line in wrapped([span], width)])
        self.refresh_keys()

    @property
    def current(self) -> Fault | None:
        return self._setting or FAULTS.get(self._table.cursor_key)

    def _members(self, fault: Fault) -> dict[str, object]:
        choices = variants(fault)
        return choices[self._varied[fault.name] % len(choices)]

    def _given(self, fault: Fault) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._members(fault).items())

    # keys

    def standings(self) -> Standings:
        setting, asking = self._setting, "asking" if self.fetching else ""
        chooses: CommandState | bool = self.current is not None
        if setting is not None:
            nobody = "" if self.targets else "nothing is there to meet it"
            chooses = CommandState(verb=f"set {setting.name}", locked=nobody)
        return {
            SHOW_FAULTS: False,
            CHOOSE_FAULT: chooses,
            ADVANCE_CLOCK: CommandState(verb=f"clock {CLOCK_STEPS[self._step]}", locked=asking),
            NEXT_STEP: CommandState(verb="other step"),
            CLEAR_FAULTS: CommandState(locked=asking),
            BACK: CommandState(verb="to the faults" if setting is not None else ""),
        }

    def standings_of(self, fault: Fault) -> Standings:
        return {VARY_FAULT: len(variants(fault)) > 1}

    @on(LineTable.Chosen)
    def do_choose_fault(self) -> None:
        fault, triggers = self.current, self._triggers
        if fault is None or triggers is None or self.fetching:
            return
        if self._setting is None:
            self._setting = fault
            before = self._meets.cursor_key
            self._show_targets(fault)
            if self._meets.cursor_key != before:
                # What was met last stays chosen; of another kind the list begins at its top.
                self._meets.move_to(next(iter(self.targets), ""))
            self.show()
        elif key := self._meets.cursor_key:
            call = FaultDocument(fault.name, self.targets[key], self._members(fault))
            self._setting = None
            self._do(triggers, call.said, triggers.set(call))

    def do_vary_fault(self, fault: Fault) -> None:
        self._varied[fault.name] += 1
        self.show()

    def do_next_step(self) -> None:
        self._step = (self._step + 1) % len(CLOCK_STEPS)
        self.refresh_keys()

    def do_advance_clock(self) -> None:
        if (triggers := self._triggers) is not None:
            step = CLOCK_STEPS[self._step]
            self._do(triggers, "The sandbox's clock shows {}.", triggers.advance(step))

    def do_clear_faults(self) -> None:
        if (triggers := self._triggers) is not None:
            cleared = triggers.control.clear_faults()
            self._do(triggers, "Every fault and every hold has ended.", cleared)

    def do_back(self) -> None:
        if self._setting is not None:
            self._setting = None
            self.show()
        else:
            self.post_message(self.Go(everywhere.BACK))
