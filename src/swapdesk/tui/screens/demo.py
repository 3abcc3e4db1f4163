"""The page of a demonstration in the sandbox. For each stage it shows what Alice did, what the
chains show, and what the service knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget

from swapdesk.chain.node_http import NodeError
from swapdesk.client.errors import ClientError
from swapdesk.flows.demo.demonstration import DemoChoice, DemoFailed, Demonstration
from swapdesk.flows.demo.link_search import Comparison
from swapdesk.flows.demo.stage import (
    DEMOS,
    Pane,
    PaneLine,
    Stage,
    edge_said,
    link_pane,
    path_of,
)
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import clock_time, copied_amount, short_clock
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.demo import (
    COPY_HASH,
    END,
    EXPLAIN,
    FASTER,
    NEXT_STAGE,
    SEARCH_LINK,
    SHOW_DEMO,
    SLOWER,
    STAGE_BEFORE,
)
from swapdesk.tui.commands.deposit import READ_BACK, READ_ON
from swapdesk.tui.commands.everywhere import BACK
from swapdesk.tui.glyphs import (
    BECOMES,
    DONE,
    HEAVY,
    MOVING,
    REFUSED,
    RULE,
    SANDBOX_RULE,
    TROUBLE,
    WAITING,
)
from swapdesk.tui.page import Page
from swapdesk.tui.screens.deposit import STEP, reading_standings
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, cut, spread, width_of, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines, section_line
from swapdesk.tui.widgets.stage_line import StageMark, StageState, track_lines

BEGINS = (
    "Other customers of the sandbox come first, so that Bob's payment has others beside it. Alice"
    " follows in a moment."
)
ALONE = "Alice begins in a moment."
FASTEST, SLOWEST = Decimal(10_000), Decimal(1)
TIMED = 28
"""Width in cells of a pane from which it shows the times of its lines."""
WITH_SECONDS = 32
_GLYPHS = {
    "done": (DONE, "status-done"),
    "moving": (MOVING, "status-moving"),
    "waiting": (WAITING, "status-waiting"),
    "trouble": (TROUBLE, "status-trouble"),
}
_LONGEST_PATH = 60
"""Largest width in cells of all arrows of the drawn path together."""
_COMPARED = 110
"""Screen width in cells from which the comparison of two transfers is a table."""


class PaneColumns(VerticalScroll, can_focus=False):
    """The widget with the three panes of a stage, side by side and equally high. They scroll
    together."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    PaneColumns { height: 1fr; margin: 1 2 0 2; scrollbar-size: 0 0; }
    .-normal PaneColumns { margin: 0 2; }
    PaneColumns Horizontal { height: auto; }
    PaneColumns FittedLines { width: 1fr; margin: 0 2 0 0; padding: 1 2; background: $surface; }
    PaneColumns FittedLines:last-child { margin: 0; }
    .-short PaneColumns FittedLines { padding: 0 1; }
    .-normal PaneColumns FittedLines { padding: 1 1 0 1; }
    .-short.-narrow PaneColumns FittedLines, .-small PaneColumns FittedLines {
        padding: 0; background: transparent;
    }
    .-short PaneColumns { margin: 0 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._columns = [FittedLines() for _ in range(3)]

    def compose(self) -> ComposeResult:
        yield Horizontal(*self._columns)

    def show(self, panes: Sequence[Pane], *, whole: bool) -> None:
        for place, column in enumerate(self._columns):
            column.show(_column(panes, place, whole=whole))


class DemoScreen(Page):
    """The page of a demonstration (Alice pays Bob in the sandbox), shown stage by stage."""

    NAME = "Demo"
    SPENDS = "quote"
    VERBS = (
        NEXT_STAGE,
        FASTER,
        SLOWER,
        EXPLAIN,
        SEARCH_LINK,
        STAGE_BEFORE,
        COPY_HASH,
        SHOW_DEMO,
        READ_ON,
        READ_BACK,
        END,
    )
    DEFAULT_CSS = """
    DemoScreen #track { height: 2; margin: 1 0 0 0; }
    DemoScreen #said { margin: 1 0 0 0; }
    DemoScreen #path { margin: 1 0 0 0; }
    DemoScreen #compared { margin: 1 0 0 0; }
    DemoScreen.-short #track, DemoScreen.-short #said,
    DemoScreen.-short #path, DemoScreen.-short #compared { margin: 0; }
    """

    def __init__(self, session: Session, choice: DemoChoice | None = None) -> None:
        self._choice = choice or DemoChoice()
        self._demo = DEMOS[self._choice.name]
        super().__init__(session)
        self._record: list[Stage] = []
        self._at = -1
        self._waits = True
        """True if the page moves on to the next stage by itself as soon as that stage is
        reached."""
        self._more = self._linking = False
        self._begun = False
        self._said = ""
        self._shown: Demonstration | None = None
        self._title, self._sentence = FittedLines(id="title"), FittedLines(id="said")
        self._path = FittedLines(id="path")
        self._compared = FittedLines(id="compared")
        self._track = FittedLines(id="track")
        self._panes = PaneColumns()

    def compose_body(self) -> Iterable[Widget]:
        yield self._title
        yield self._track
        yield self._sentence
        yield self._path
        yield self._panes
        yield self._compared

    def on_resize(self) -> None:
        self.show()

    def session_changed(self) -> None:
        self.show()
        if self.link is None or self._begun:
            return
        self._begun = True
        self.run_worker(self._carry_out(), group="demo", exclusive=True, exit_on_error=False)

    def work_failed(self, group: str) -> None:
        self._stop("A defect stopped the demonstration.")

    # the demonstration

    async def _carry_out(self) -> None:
        shown: Demonstration | None = None
        try:
            tag = f"{self._choice.seed} {int(self.now().timestamp())}"
            shown = Demonstration(self.desk, self._demo, self._choice, tag)
            await shown.begin()
            self._shown = shown
            self.call_later(self.show)
            await shown.run(self._tell)
            self.call_later(self.reached, await shown.last_look())
            # The speed can still be changed, and is given back when the page is left.
            await asyncio.Event().wait()
        except (DemoFailed, NodeError, JournalUnavailable) as error:
            self.call_later(self._stop, str(error))
        except ClientError as error:
            self.call_later(self._stop, f"The sandbox stopped answering: {error}.")
        finally:
            if shown is not None:
                await shown.close()

    def _tell(self, stage: Stage) -> None:
        self.call_later(self.reached, stage)

    def reached(self, stage: Stage) -> None:
        """Stores ``stage``, which was just reached or has changed since, and draws the page."""
        place = stage.number - 1
        if place < len(self._record):
            self._record[place] = stage
        else:
            self._record.append(stage)
        self._said = ""
        if place > self._at and (self._waits or self._at < 0):
            self._at, self._waits = place, False
        self.show()

    def _stop(self, said: str) -> None:
        self._said, self._waits = said, False
        self.show()

    # drawing

    @property
    def current(self) -> Stage | None:
        return self._record[self._at] if 0 <= self._at < len(self._record) else None

    def _track_lines(self) -> Callable[[int], list[Line]]:
        rows, at = self._demo.rows, max(self._at, 0)
        stage = self.current
        mark = StageMark.MOVING if stage is None else StageMark[stage.tone.upper()]
        names = [row.name for row in rows]
        state = StageState(at, len(rows), mark)
        return partial(track_lines, state, names, [row.short for row in rows])

    def show(self) -> None:
        if not self.is_mounted:
            return
        self._say_frame()
        stage = self.current
        self._track.show(self._track_lines())
        self._track.display = self._panes.display = stage is not None
        if stage is None:
            self._title.show(lambda width: wrapped([Span(self._demo.title, bold=True)], width))
            sentence = self._said or (BEGINS if self._demo.private else ALONE)
            self._sentence.show(lambda width: wrapped([Span(sentence, "muted")], width))
            self._path.display = False
            self._compared.show(lambda width: [])
            self.set_money("nothing was paid yet.", "the sandbox" if not self._said else "you: esc")
            self.refresh_keys()
            return
        of, come = len(self._demo.rows), len(self._record)
        self._title.show(lambda width: title_lines(stage, of, come, width))
        self._sentence.show(lambda width: self._sentences(stage, width))
        panes = list(stage.panes)
        if self._linking and stage.search is not None:
            panes[1] = link_pane(stage.search)
        self._panes.show(panes, whole=self._more)
        # Where it is low the drawing goes with the search, in place of the sentence.
        low = not self.has_class("-tall")
        self._path.show(lambda width: path_lines(stage, width))
        self._path.display = bool(path_of(stage)) and (self._linking or not low)
        instead = low and self._path.display and not self._more
        self._sentence.display = not instead or bool(self._said)
        self._compared.show(lambda width: compared_lines(stage.compared, width))
        self._compared.display = not (self.has_class("-short") and self._more)
        more = stage.number < of
        shortest = "press space" if more else stage.next.partition(" with ")[0]
        money = stage.money
        self.set_money(
            money,
            self._next(stage),
            where_short=f"{money.rstrip('.').partition(', ')[0]}.",
            next_short="" if self._waits else shortest,
        )
        # What has no room is known once it is laid out.
        self.call_after_refresh(self.refresh_keys)

    def _sentences(self, stage: Stage, width: int) -> list[Line]:
        lines = said_lines(stage, self._more, width)
        if self._said:
            lines += wrapped([Span(self._said, "status-trouble")], width)
        return lines

    def _next(self, stage: Stage) -> str:
        if stage.number == len(self._demo.rows):
            return stage.next
        actor = stage.next.partition(":")[0]
        return "the service" if self._waits else f"{actor}; press space to go on"

    def _say_frame(self) -> None:
        speed = ""
        if self._shown is not None:
            speed = f" · speed x{copied_amount(self._shown.speed.normalize())}"
        self.context = f"{self._demo.title.lower()} · seed {self._choice.seed}{speed}"
        self.refresh_frame()

    # keys

    def standings(self) -> Standings:
        runs = self._shown is not None and not self._said
        return {
            SHOW_DEMO: False,
            FASTER: runs,
            SLOWER: runs,
            STAGE_BEFORE: self._at > 0,
            **reading_standings(self._panes),
            END: CommandState(verb="close" if self._more or self._linking else ""),
        }

    def standings_of(self, stage: Stage) -> Standings:
        chains = "chains" if self._linking else "link search"
        searched = stage.search is not None and self._demo.private
        later = "it has not come yet" if self._waits else ""
        last = stage.number == len(self._demo.rows)
        return {
            NEXT_STAGE: CommandState(locked=later, hidden=last),
            SEARCH_LINK: CommandState(verb=chains, hidden=not searched),
            COPY_HASH: bool(stage.moved),
        }

    def do_scroll(self, by: int) -> None:
        self._panes.scroll_relative(y=by * STEP, animate=False)
        self.call_after_refresh(self.refresh_keys)

    def do_next_stage(self, stage: Stage) -> None:
        if stage.number < len(self._record):
            self._at = stage.number
        elif not self._said:
            self._waits = True
        self.show()

    def do_stage_before(self) -> None:
        self._at, self._waits = self._at - 1, False
        self.show()

    def do_explain(self, stage: Stage) -> None:
        self._more = not self._more
        self._panes.scroll_home(animate=False)
        self.show()

    def do_search_link(self, stage: Stage) -> None:
        self._linking = not self._linking
        self._panes.scroll_home(animate=False)
        self.show()

    def do_copy_hash(self, stage: Stage) -> None:
        self.controls.copy_value("transaction hash", stage.moved[-1].hash)

    def do_change_speed(self, factor: str) -> None:
        if self._shown is None:
            return
        wanted = min(FASTEST, max(SLOWEST, self._shown.speed * Decimal(factor)))
        changed = self._shown.change_speed(wanted)
        self.fetch("speed", changed, lambda _: self.show(), self._speed_stayed)

    def _speed_stayed(self, error: ClientError) -> None:
        self._stop(f"The speed stayed: {error}.")

    def do_end(self) -> None:
        if self._more or self._linking:
            self._more = self._linking = False
            self._panes.scroll_home(animate=False)
            self.show()
            return
        self.post_message(self.Go(BACK))


def title_lines(stage: Stage, of: int, come: int, width: int) -> list[Line]:
    """Returns the title of a stage, as ``7 of 9 Second exchange in progress``, and its time. ``of``
    is the number of all stages, and ``come`` the number of the latest stage so far."""
    left: Line = [
        Span(f"{stage.number} of {of}", bold=True),
        Span("  "),
        Span(stage.row.title, bold=True),
    ]
    later = come - stage.number
    ahead = f", {later} later stage{'' if later == 1 else 's'} came" if later > 0 else ""
    at = clock_time(stage.at)
    when = Span(f"{at} on the sandbox clock{ahead}", "muted")
    short = Span(f"{at}{ahead}", "muted")
    room = width - width_of(left) - 2
    return [spread(left, [when if len(when.text) <= room else short], width)]


def said_lines(stage: Stage, more: bool, width: int) -> list[Line]:
    lines = wrapped([Span(stage.row.sentence)], width)
    return [*lines, *wrapped([Span(stage.row.more, "muted")], width)] if more else lines


def path_lines(stage: Stage, width: int) -> list[Line]:
    """Returns a line that shows who pays whom, as ``Alice ━━━━━━→ Pell ━━━━━━→ Bob``. If the chains
    were searched, a second line shows the path that was found."""
    places = path_of(stage)
    room = width - sum(cell_len(place.text) for place in places) - 2 * (len(places) - 1)
    if not places or room < 2 * (len(places) - 1):
        return []
    longest, rest = divmod(min(room, _LONGEST_PATH), len(places) - 1)
    first: Line = [Span(places[0].text, bold=True)]
    for number, place in enumerate(places[1:]):
        # As the track: what is done is heavy.
        edge = longest + (number < rest) - 1
        glyph, role = (HEAVY, "status-done") if place.tone == "done" else (RULE, "rule")
        if place.tone == "moving":
            role = "status-moving"
        first += [Span(f" {glyph * edge}{BECOMES} ", role), Span(place.text, bold=True)]
    if stage.search is None:
        return [first]
    hops = len(stage.search.path)
    role = "status-trouble" if hops else "muted"
    verdict = f" {TROUBLE if hops else REFUSED} {edge_said(stage.search)} "
    ends = cell_len(places[0].text) + cell_len(places[-1].text) + 2
    left, right = divmod(width_of(first) - ends - cell_len(verdict), 2)
    second: Line = [
        Span(places[0].text, bold=True),
        Span(f" {SANDBOX_RULE * left}", "rule"),
        Span(verdict, role),
        Span(f"{SANDBOX_RULE * (left + right - 1)}{BECOMES} ", "rule"),
        Span(places[-1].text, bold=True),
    ]
    return [first, second]


def pane_lines(pane: Pane, width: int, *, whole: bool) -> tuple[list[Line], list[Line]]:
    """Returns the lines of a pane, and the lines of its closing sentence, if any. ``whole`` selects
    the full texts of the lines instead of the short ones."""
    rows: list[Line] = [[Span(pane.title, bold=True)], []]
    label_cells = _label_cells(pane.lines, width)
    for line in pane.lines:
        rows += _rows(line, label_cells, width, whole=whole)
    return rows, wrapped([Span(pane.ending, "muted")], width) if pane.ending else []


def _label_cells(lines: Iterable[PaneLine], width: int) -> int:
    labels = [_label(line, width) for line in lines]
    if width < TIMED:
        return 0
    return max((len(label) for label in labels), default=0) + 2 if any(labels) else 0


def _label(line: PaneLine, width: int) -> str:
    if line.at is None:
        return line.label
    if width < TIMED:
        return ""
    return clock_time(line.at) if width >= WITH_SECONDS else short_clock(line.at)


def _rows(line: PaneLine, label_cells: int, width: int, *, whole: bool) -> list[Line]:
    glyph, role = _GLYPHS.get(line.tone, ("", line.tone if line.tone == "muted" else "foreground"))
    label = _label(line, width)
    text: Line = [Span(f"{label} ", "muted")] if label and not label_cells else []
    text += [Span(f"{glyph} ", role)] if glyph else []
    words = (line.whole or line.text) if whole else line.text
    text.append(Span(words, role, bold=line.tone == "strong"))
    rows = wrapped(text, max(8, width - label_cells))
    heads = [label, *[""] * (len(rows) - 1)]
    return [
        [Span(head.ljust(label_cells), "muted"), *row] if label_cells else row
        for head, row in zip(heads, rows, strict=True)
    ]


def compared_lines(rows: Sequence[Comparison], width: int) -> list[Line]:
    """Returns what an observer of the chains can compare between deposit and payout: a table or, on
    narrow screens, a sentence."""
    if not rows:
        return []
    if width < _COMPARED:
        alike = "; ".join(f"{row.label.lower()} {row.brief}" for row in rows if row.brief)
        return wrapped([Span("Still alike: ", "muted"), Span(f"{alike}.")], width)
    label = 10
    value = (width - label) // 2
    lines = [section_line("What a watcher can still compare", "", width)]
    for row in rows:
        at: Line = [Span(row.label.ljust(label), "muted"), *cut(row.value, value - 2)]
        gap = Span(" " * (label + value - width_of(at)))
        lines.append([*at, gap, *cut([Span(row.remark, "muted")], width - label - value)])
    return lines


def _column(panes: Sequence[Pane], place: int, *, whole: bool) -> Callable[[int], list[Line]]:
    def lines(width: int) -> list[Line]:
        made = [pane_lines(pane, width, whole=whole) for pane in panes]
        gap = width >= TIMED
        height = max(len(top) + len(end) + (gap and bool(end)) for top, end in made)
        top, end = made[place]
        return [*top, *[[] for _ in range(height - len(top) - len(end))], *end]

    return lines
