"""A demonstration, presented: what Alice did, what the chain shows, what the service knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from textual import on
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from swapdesk.flows.demo.choice import DemoChoice, DemoRefused
from swapdesk.flows.demo.demonstration import DemoFailed, Demonstration, Stage
from swapdesk.flows.demo.demos import DEMOS
from swapdesk.flows.demo.panes import Pane, PaneLine, compared, link_pane, panes_of
from swapdesk.flows.notation import clock_time
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.demo import (
    EndDemo,
    ExplainStage,
    Faster,
    NextStage,
    SearchLink,
    Slower,
    StageBefore,
)
from swapdesk.tui.glyphs import DONE, MOVING, TROUBLE, WAITING
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, cut, fill, spread, wrapped
from swapdesk.tui.widgets.case_body import FittedLines
from swapdesk.tui.widgets.lines_view import LinesView, section_line
from swapdesk.tui.widgets.stage_line import StageMark, StageState, StageTrack, TrackState

FASTEST, SLOWEST = Decimal(960), Decimal(1)
SHORT = {
    "waiting": "wait",
    "exchange 1": "ex 1",
    "to middle": "to mid",
    "at middle": "mid",
    "second": "2nd",
    "exchange 2": "ex 2",
}
"""Names of stages where there is little room."""
WITH_TIMES = 26
"""Cells of a pane from which its times are shown."""
LABEL = 6
TONES: dict[str, tuple[str, str]] = {
    "done": (f"{DONE} ", "status-done"),
    "moving": (f"{MOVING} ", "status-moving"),
    "waiting": (f"{WAITING} ", "status-waiting"),
    "trouble": (f"{TROUBLE} ", "status-trouble"),
    "muted": ("", "muted"),
}


def pane_lines(pane: Pane, width: int, height: int) -> list[Line]:
    """The lines from the top, the sentence at the bottom."""
    inner = max(10, width - 3)
    timed = inner >= WITH_TIMES
    rows: list[Line] = [[], [Span("  "), *cut([Span(pane.title, bold=True)], inner)], []]
    for line in pane.lines:
        label = _label(line).ljust(LABEL) if timed else ""
        sign, role = TONES.get(line.tone, ("", "foreground"))
        room = max(8, inner - len(label))
        text = line.whole if line.whole and len(line.whole) <= room else line.text
        said = [Span(f"{sign}{text}", role, bold=line.tone == "strong")]
        for part in wrapped(said, room, indent=len(sign)):
            rows.append([Span("  "), Span(label, "muted"), *part])
            label = " " * len(label)
    ending = [[Span("  "), *part] for part in wrapped([Span(pane.ending, "muted")], inner)]
    gap = max(1, height - len(rows) - len(ending) - 1)
    return [*rows, *([[]] * gap), *(ending if pane.ending else [])]


def _label(line: PaneLine) -> str:
    """``14:05`` of ``14:05:12``: the pane is narrow."""
    return line.label[:5]


class PaneView(LinesView):
    """One of the three panes."""

    DEFAULT_CSS = """
    PaneView { width: 1fr; height: 100%; background: $surface; padding: 0; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self.pane: Pane | None = None

    def show(self, pane: Pane) -> None:
        self.pane = pane
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return pane_lines(self.pane, width, self.size.height) if self.pane is not None else []


class DemoScreen(Page):
    """The demonstration begins with the page; what was shown is kept and can be gone back to."""

    NAME = "Demo"
    SPENDS = "quote"
    VERBS = (NextStage, Faster, Slower, ExplainStage, SearchLink, StageBefore, EndDemo)
    DEFAULT_CSS = """
    DemoScreen #said { margin: 1 0 0 0; min-height: 1; }
    DemoScreen StageTrack { margin: 1 0 0 0; }
    DemoScreen #panes { height: 1fr; margin: 1 2 0 2; }
    DemoScreen PaneView { margin: 0 1 0 0; }
    DemoScreen PaneView.-last { margin: 0; }
    DemoScreen #compared { margin: 1 0 0 0; height: auto; }
    DemoScreen.-short #said, DemoScreen.-short #panes, DemoScreen.-short #compared,
    DemoScreen.-short StageTrack { margin-top: 0; }
    """

    def __init__(self, session: Session, choice: DemoChoice | None = None) -> None:
        self._choice = choice or DemoChoice()
        self.demo = DEMOS[self._choice.name]
        self._speed = self._choice.speed
        super().__init__(session, context=self._told())
        self._shown: Demonstration | None = None
        self._stages: list[Stage] = []
        self._at = 0
        """The stage that is shown, from 1; 0 before the first."""
        self._wanted = 1
        """The stage that is shown as soon as it comes."""
        self._more = self._searching = False
        self._failed = ""
        self._head, self._said = FittedLines(id="head"), FittedLines(id="said")
        self._track = StageTrack(self._track_at(1))
        self._panes = [PaneView(), PaneView(), PaneView(classes="-last")]
        self._compared = FittedLines(id="compared")

    def _told(self) -> str:
        speed = f" · x{self._speed.normalize():f}" if self._speed is not None else ""
        return f"{self.demo.title}  seed {self._choice.seed}{speed}"

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._track
        yield self._said
        yield Horizontal(*self._panes, id="panes")
        yield self._compared

    def on_mount(self) -> None:
        self._show()

    def session_changed(self) -> None:
        if self._shown is None and not self._failed and self.session.ready:
            self._begin()
        self._show()

    async def on_unmount(self) -> None:
        if self._shown is not None:
            await self._shown.close()

    # the demonstration

    @dataclass
    class StageCame(Message):
        stage: Stage

    @dataclass
    class Ended(Message):
        """``reason`` is empty where all stages were shown."""

        reason: str

    def _begin(self) -> None:
        try:
            # Bob's address is made of the tag, and is new each time.
            self._shown = self._choice.begin(self.desk, f"{self.now():%Y%m%d%H%M%S}")
        except DemoRefused as refused:
            self._failed = str(refused)
            return
        played = self._play(self._shown)
        self.run_worker(played, group="demo", exclusive=True, exit_on_error=False)

    async def _play(self, shown: Demonstration) -> None:
        from swapdesk.client.chain_transfers import ChainUnreadable
        from swapdesk.client.errors import ClientError
        from swapdesk.flows.journal.journal_file import JournalUnavailable

        control = self.desk.link.control
        try:
            if control is not None:
                self._speed = await control.speed(self._speed)
            await shown.run(self._tell)
            self._tell(await shown.last_look())
        except (DemoFailed, ClientError, ChainUnreadable, JournalUnavailable) as error:
            self.post_message(self.Ended(f"{str(error).rstrip('.')}."))

    def _tell(self, stage: Stage) -> None:
        self.post_message(self.StageCame(stage))

    @on(StageCame)
    def _stage_came(self, event: StageCame) -> None:
        stage = event.stage
        self._stages[stage.number - 1 :] = [stage]
        if self._at < self._wanted:
            self._at = min(self._wanted, len(self._stages))
        self._show()

    @on(Ended)
    def _ended(self, event: Ended) -> None:
        self._failed = event.reason
        self._show()

    def work_failed(self, group: str) -> None:
        if group == "demo":
            self._failed = "A defect stopped the demonstration."
            self._show()

    # drawing

    @property
    def _of(self) -> int:
        return len(self.demo.rows)

    def _track_at(self, number: int) -> TrackState:
        names = [row.name for row in self.demo.rows]
        mark = StageMark.DONE if number == len(names) else StageMark.MOVING
        short = [SHORT.get(name, name) for name in names]
        return TrackState(StageState(number - 1, len(names), mark), names, short)

    def _show(self) -> None:
        if not self.is_mounted:
            return
        self.context = self._told()
        if self._at:
            self._show_stage(self._stages[self._at - 1])
        else:
            said = self._failed or "The sandbox is asked for an order."
            self._said.show(lambda width: wrapped([Span(said, "muted")], width))
            self.set_money("in Alice's wallet.", "the desk: it makes the order")
        self.refresh_frame()
        self.refresh_keys()

    def _show_stage(self, stage: Stage) -> None:
        row, facts, more = stage.row, stage.facts, self._more
        title = f"{stage.number} of {self._of}  {row.title}"
        self._head.show(lambda width: head_lines(title, clock_time(facts.at), width))
        self._track.show(self._track_at(stage.number))
        self._said.show(lambda width: said_lines(row.sentence, row.more if more else "", width))
        panes = list(panes_of(facts, self.demo.did))
        if self._searching and facts.search is not None:
            panes[1] = link_pane(facts.search, facts)
        for widget, pane in zip(self._panes, panes, strict=True):
            widget.show(pane)
        rows = compared(facts)
        self._compared.display = bool(rows)
        self._compared.show(
            lambda width: compared_lines(
                [(one.label, one.value, one.remark) for one in rows], width
            )
        )
        self.set_money(facts.money, self._next(stage))

    def _next(self, stage: Stage) -> str:
        acts = stage.facts.next
        if self._failed:
            return f"nobody: {self._failed}"
        if self._wanted > self._at:
            return f"{acts}; the next stage is on its way"
        return f"{acts}; press space to go on" if stage.number < self._of else acts

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is NextStage and not 0 < self._at < self._of:
            return HIDDEN
        if verb is StageBefore and self._at <= 1:
            return HIDDEN
        if verb is ExplainStage and not self._at:
            return HIDDEN
        if verb is SearchLink:
            if not self._at or self._stages[self._at - 1].facts.search is None:
                return HIDDEN
            return CommandState(verb="the chain") if self._searching else READY
        return READY

    def do_next_stage(self) -> None:
        self._wanted = min(self._of, self._at + 1)
        self._at = min(self._wanted, len(self._stages))
        self._show()

    def do_stage_before(self) -> None:
        self._at = self._wanted = max(1, self._at - 1)
        self._show()

    def do_explain_stage(self) -> None:
        self._more = not self._more
        self._show()

    def do_search_link(self) -> None:
        self._searching = not self._searching
        self._show()

    async def do_faster(self) -> None:
        await self._run_at(Decimal(2))

    async def do_slower(self) -> None:
        await self._run_at(Decimal("0.5"))

    async def _run_at(self, times: Decimal) -> None:
        from swapdesk.client.errors import ClientError

        if self._shown is None or self._speed is None:
            return
        wanted = max(SLOWEST, min(FASTEST, self._speed * times))
        try:
            self._speed = await self._shown.change_speed(wanted)
        except ClientError as error:
            self.show_notice(str(error), "warning")
            return
        self._show()

    def do_end_demo(self) -> None:
        self.post_message(self.Go(everywhere.Back))


def head_lines(title: str, at: str, width: int) -> list[Line]:
    clock = f"{at} on the sandbox clock" if width >= 70 else at
    return [spread([Span(title, bold=True)], [Span(clock, "muted")], width)]


def said_lines(sentence: str, more: str, width: int) -> list[Line]:
    rows = wrapped([Span(sentence)], width)
    return [*rows, *wrapped([Span(more, "muted")], width)] if more else rows


def compared_lines(compared: Iterable[tuple[str, str, str]], width: int) -> list[Line]:
    """What a watcher can still compare, and how far that leads."""
    rows: list[Line] = [section_line("What a watcher can still compare", "", width)]
    half = width // 2
    for label, said, remark in compared:
        left = [Span(label.ljust(10), "muted"), Span(said)]
        if width < 90:
            rows.append(cut([*left, Span(f"; {remark}" if remark else "", "muted")], width))
        else:
            right = cut([Span(remark, "muted")], width - half)
            rows.append([*fill(cut(left, half - 1), half), *right])
    return rows
