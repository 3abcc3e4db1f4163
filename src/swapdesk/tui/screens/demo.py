"""A private send, presented: what Alice did, what the chains show, what the service knows."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from textual import on
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from swapdesk.flows.demo.private_send import STAGES, DemoFailed, PrivateSend, Stage, Wish
from swapdesk.flows.demo.stage_words import (
    PRIVATE_TRACK,
    Pane,
    PaneEvent,
    StageView,
    private_view,
    search_lines,
)
from swapdesk.flows.notation import NOTHING
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
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, cut, fill, spread, wrapped
from swapdesk.tui.widgets.case_body import FittedLines
from swapdesk.tui.widgets.lines_view import LinesView, section_line
from swapdesk.tui.widgets.stage_line import StageMark, StageState, StageTrack, TrackState

FASTEST, SLOWEST = Decimal(960), Decimal(1)
SHORT_TRACK = ("wait", "seen", "ex 1", "to mid", "mid", "2nd", "ex 2", "to bob", "done")
WITHOUT_TIMES = 26
"""Cells of a pane below which its times are left out."""
EVENT_LABEL = 6
ROLES = {"●": "status-done", "◐": "status-moving", "▲": "status-trouble"}


def track_of(number: int) -> TrackState:
    """Of the stage with this number, from 1."""
    mark = StageMark.DONE if number == STAGES else StageMark.MOVING
    return TrackState(StageState(number - 1, STAGES, mark), PRIVATE_TRACK, SHORT_TRACK)


def head_lines(view: StageView, width: int) -> list[Line]:
    title = [Span(f"{view.number} of {STAGES}  {view.title}", bold=True)]
    clock = f"{view.at} on the sandbox clock" if width >= 70 else view.at
    return [spread(title, [Span(clock, "muted")], width)]


def said_lines(view: StageView, width: int, *, more: bool) -> list[Line]:
    rows = wrapped([Span(view.sentence)], width)
    return [*rows, *wrapped([Span(view.more, "muted")], width)] if more else rows


def pane_lines(pane: Pane, width: int, height: int) -> list[Line]:
    """The events from the top, the sentence at the bottom."""
    inner = max(10, width - 3)
    timed = inner >= WITHOUT_TIMES
    rows: list[Line] = [[], [Span("  "), *cut([Span(pane.title, bold=True)], inner)], []]
    for event in pane.events:
        for at, text in enumerate(event.lines):
            label = (event.at if not at else "").ljust(EVENT_LABEL) if timed else ""
            role = ROLES.get(text[:1], "foreground")
            for part in wrapped([Span(text, role)], max(8, inner - len(label))):
                rows.append([Span("  "), Span(label, "muted"), *part])
                label = " " * len(label)
    closing = [[Span("  "), *part] for part in wrapped([Span(pane.closing, "muted")], inner)]
    gap = max(1, height - len(rows) - len(closing) - 1)
    return [*rows, *([[]] * gap), *closing]


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

    NAME = "Private send, demo"
    SPENDS = "quote"
    VERBS = (
        NextStage,
        Faster,
        Slower,
        ExplainStage,
        SearchLink,
        StageBefore,
        EndDemo,
    )
    DEFAULT_CSS = """
    DemoScreen #said { margin: 1 0 0 0; min-height: 1; }
    DemoScreen StageTrack { margin: 1 0 0 0; }
    DemoScreen #panes { height: 1fr; margin: 1 2 0 2; }
    DemoScreen PaneView { margin: 0 1 0 0; }
    DemoScreen PaneView.-last { margin: 0; }
    DemoScreen #alike { margin: 1 0 0 0; height: auto; }
    DemoScreen.-short #said, DemoScreen.-short #panes, DemoScreen.-short #alike,
    DemoScreen.-short StageTrack { margin-top: 0; }
    """

    def __init__(self, session: Session, wish: Wish | None = None) -> None:
        self._wish = wish or Wish()
        self._speed: Decimal | None = self._wish.speed
        super().__init__(session, context=self._told_context())
        self._send: PrivateSend | None = None
        self._stages: list[Stage] = []
        self._at = 0
        """The stage that is shown, from 1; 0 before the first."""
        self._wanted = 1
        """The stage that is shown as soon as it comes."""
        self._more = self._searching = False
        self._failed = ""
        self._head, self._said = FittedLines(id="head"), FittedLines(id="said")
        self._track = StageTrack(track_of(1))
        self._panes = [PaneView(), PaneView(), PaneView(classes="-last")]
        self._alike = FittedLines(id="alike")

    def _told_context(self) -> str:
        speed = f"x{self._speed:f}" if self._speed is not None else ""
        return " · ".join(filter(None, (f"seed {self._wish.seed}", speed and f"speed {speed}")))

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._track
        yield self._said
        yield Horizontal(*self._panes, id="panes")
        yield self._alike

    def on_mount(self) -> None:
        self._show()

    def session_changed(self) -> None:
        if self._send is None and not self._failed and self.session.ready:
            self._begin()

    async def on_unmount(self) -> None:
        if self._send is not None:
            await self._send.close()

    # the demonstration

    @dataclass
    class StageCame(Message):
        stage: Stage

    @dataclass
    class Ended(Message):
        """``reason`` is empty where all stages were shown."""

        reason: str

    def _begin(self) -> None:
        from swapdesk.flows.catalog.resolution import resolve

        found = resolve(self._wish.token, self.desk.catalog)
        if found.token is None:
            self._failed = found.problem or "This token is not known."
            self._show()
            return
        # Bob's address is made of it, and is new each time.
        tag = f"{self.now():%Y%m%d%H%M%S} {self._wish.seed}"
        rng = random.Random(self._wish.seed)
        self._send = PrivateSend(self.desk, found.token, self._wish.amount, rng, tag)
        self.run_worker(self._play(self._send), group="demo", exclusive=True, exit_on_error=False)

    async def _play(self, send: PrivateSend) -> None:
        from swapdesk.client.chain_transfers import ChainUnreadable
        from swapdesk.client.errors import ClientError

        control = self.desk.link.control
        try:
            if control is not None:
                self._speed = await control.speed(self._speed)
            await send.run(self._tell)
            self.post_message(self.StageCame(await send.last_look()))
            self.post_message(self.Ended(""))
        except (DemoFailed, ClientError, ChainUnreadable) as error:
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

    def _show(self) -> None:
        if not self.is_mounted:
            return
        self.context = self._told_context()
        if not self._at:
            said = self._failed or "The world is asked for a private send."
            self._said.show(lambda width: wrapped([Span(said, "muted")], width))
            self.set_money("in Alice's wallet.", "the desk: it makes the order")
            self.refresh_frame()
            self.refresh_keys()
            return
        stage = self._stages[self._at - 1]
        view, more = private_view(stage), self._more
        self._head.show(lambda width: head_lines(view, width))
        self._track.show(track_of(view.number))
        self._said.show(lambda width: said_lines(view, width, more=more))
        for widget, pane in zip(self._panes, self._shown_panes(view, stage), strict=True):
            widget.show(pane)
        self._alike.show(lambda width: alike_rows(view, width))
        self._alike.display = bool(view.alike)
        self._say_money(view)
        self.refresh_frame()
        self.refresh_keys()

    def _shown_panes(self, view: StageView, stage: Stage) -> tuple[Pane, ...]:
        if not self._searching:
            return view.panes
        alice, _, service = view.panes
        *lines, closing = search_lines(stage.search)
        found = tuple(PaneEvent("", (line,)) for line in lines)
        return (alice, Pane("Link search", found, closing), service)

    def _say_money(self, view: StageView) -> None:
        acts = view.acts
        if self._failed:
            acts = f"nobody: {self._failed}"
        elif self._wanted > self._at:
            acts = f"{acts}; the next stage is on its way"
        elif view.number < STAGES:
            acts = f"{acts}; press space to go on"
        self.set_money(view.money, acts)

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is NextStage and (self._at >= STAGES or not self._at):
            return HIDDEN
        if verb is StageBefore and self._at <= 1:
            return HIDDEN
        if verb in (ExplainStage, SearchLink) and not self._at:
            return HIDDEN
        if verb is SearchLink and self._searching:
            return CommandState(verb="the chains")
        return READY

    def do_next_stage(self) -> None:
        self._wanted = min(STAGES, self._at + 1)
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
        await self._run_at(2)

    async def do_slower(self) -> None:
        await self._run_at(Decimal("0.5"))

    async def _run_at(self, times: Decimal | int) -> None:
        from swapdesk.client.errors import ClientError

        control = self.link.control if self.link is not None else None
        if control is None or self._speed is None:
            return
        wanted = max(SLOWEST, min(FASTEST, self._speed * times))
        try:
            self._speed = await control.speed(wanted)
        except ClientError as error:
            self.show_notice(str(error), "warning")
            return
        if self._send is not None:
            self._send.speed = self._speed
        self._show()

    def do_end_demo(self) -> None:
        self.post_message(self.Go(everywhere.Back))


def alike_rows(view: StageView, width: int) -> list[Line]:
    """What a watcher can still compare."""
    rows: list[Line] = [section_line("What a watcher can still compare", "", width)]
    half = width // 2
    for label, said, hint in view.alike:
        left = [Span(label.ljust(10), "muted"), Span(said or NOTHING)]
        if width < 80:
            rows += wrapped([*left, Span(f"; {hint}" if hint else "", "muted")], width, indent=10)
        else:
            rows.append(
                [*fill(cut(left, half - 1), half), *cut([Span(hint, "muted")], width - half)]
            )
    return rows
