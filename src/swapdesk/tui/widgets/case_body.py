"""The widgets of a support case: an order beside its diagnosis and the reply to the customer, and
the list of the order's updates and requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll

from swapdesk.flows.notation import (
    clock_time,
    iso,
)
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.request_lines import LoggedCall
from swapdesk.flows.support.support_case import CaseMoment, CaseRecord, CaseSheet, timeline
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.glyphs import DOT
from swapdesk.tui.spans import Line, Span, cut, spread, wrapped
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, section_line
from swapdesk.tui.widgets.order_table import SIGNS, stage_mark
from swapdesk.tui.widgets.stage_line import DRAWN_STAGES, StageMark, StageState, stage_spans
from swapdesk.tui.widgets.table_layout import Column, Prose, Row, Section, TableRow

READY_REPLY = "Reply, ready to copy"
FACT_LABEL = 9
NARROW = 100
UNKNOWN_SIGN = SIGNS["unknown"]


def order_lines(sheet: CaseSheet, width: int, *, brief: bool) -> list[Line]:
    """Returns the rows about the order of a support case: what it exchanges and its stage. Unless
    ``brief`` is True, adds the steps and the facts of the order."""
    glyph, role = SIGNS.get(sheet.sign, UNKNOWN_SIGN)
    mark = stage_mark(sheet.level) if sheet.signed else StageMark.ENDED
    state = [Span(glyph, role), Span(" "), Span(sheet.word, role, bold=True)]
    # A file may tell of any number of stages.
    if sheet.stages in DRAWN_STAGES and 0 <= sheet.stage < sheet.stages:
        stage = StageState(sheet.stage, sheet.stages, mark)
        state = [*stage_spans(stage), Span("  "), *state]
    rows: list[Line] = [
        section_line(f"Order {short_id(sheet.order_id)}", sheet.route, width),
        cut(pair_line(sheet), width),
        cut(state, width),
        [],
    ]
    if brief:
        return rows
    for step in sheet.steps:
        glyph, role = SIGNS.get(step.level, UNKNOWN_SIGN)
        at = Span(f"{step.at}  ", "muted")
        rows.append(cut([Span(f"{glyph} ", role), at, Span(step.text)], width))
    if sheet.earlier:
        rows.append([Span(f"  {sheet.earlier} earlier ones: h", "muted")])
    rows.append([])
    for label, text, role in sheet.facts_of_order():
        if label == "Time":
            rows.append([])
        rows += facts_lines([Fact(label, Span(text, role or "foreground"))], width, FACT_LABEL)
    return rows


def pair_line(sheet: CaseSheet) -> Line:
    return [Span(text, bold=True) if amount else Span(text, "muted") for text, amount in sheet.pair]


def answer_lines(sheet: CaseSheet, width: int, reply: str = READY_REPLY) -> list[Line]:
    """Returns the rows that answer a support case: the diagnosis, the reply to the customer below
    the heading ``reply``, and the facts on which both rest."""
    head = [Span("Diagnosis", "foreground", bold=True)]
    fact = [Span(sheet.rests_on, "muted")]
    rows: list[Line] = [spread(head, fact, width), []]
    rows += facts_lines([Fact(label, text) for label, text in sheet.answers], width, FACT_LABEL)
    rows += [[], section_line(reply, "", width)]
    for paragraph in sheet.reply:
        rows += wrapped([Span(paragraph)], width) if paragraph else [[]]
    rows += [[], section_line("From", "", width)]
    for text in sheet.facts:
        rows += wrapped([Span(text, "muted")], width, indent=2)
    return rows


def say_money(screen: DeskScreen, sheet: CaseSheet, whose: str = "") -> None:
    """Shows on the money line where the money of the case is and who acts next. Both texts begin
    with ``whose``, which names the source, as ``by the file,``."""
    acts, place = f"{whose}{sheet.acts.rstrip('.')}", f"{whose}{sheet.place}"
    screen.set_money(
        place,
        acts,
        where_short=place,
        next_short=acts.split(" with order", maxsplit=1)[0],
    )


class CaseBody(VerticalScroll, can_focus=True):
    """A widget with the order of a support case and, at the right of it or below, the answer."""

    SCOPED_CSS = False
    """False because its style rules depend on a class of the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_down", "down", show=False),
        Binding("up,k", "scroll_up", "up", show=False),
        Binding("pagedown,ctrl+d", "page_down", "further down", show=False),
        Binding("pageup,ctrl+u", "page_up", "further up", show=False),
    ]
    DEFAULT_CSS = """
    CaseBody { height: 1fr; margin: 1 0 0 0; scrollbar-size: 0 0; }
    CaseBody Horizontal { height: auto; }
    CaseBody #order { width: 44; }
    CaseBody #answer { width: 1fr; background: $surface; }
    .-narrow CaseBody Horizontal, .-small CaseBody Horizontal { layout: vertical; }
    .-narrow CaseBody #order, .-small CaseBody #order { width: 100%; }
    .-short CaseBody { margin: 0; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._order, self._answer = FittedLines(id="order"), FittedLines(id="answer")

    def compose(self) -> ComposeResult:
        yield Horizontal(self._order, self._answer)

    def show(self, sheet: CaseSheet, *, reply: str = READY_REPLY) -> None:
        # Looked at when they are drawn: after a resize nobody shows the sheet again.
        self._order.show(
            lambda width: order_lines(sheet, width, brief=self.app.size.width < NARROW)
        )
        self._answer.show(lambda width: answer_lines(sheet, width, reply))


# The time line

COLUMNS = (
    Column("mark", "", 1),
    Column("at", "When", 8, gap=1),
    Column("source", "How", 20, priority=1),
    Column("state", "State", 27, grow=1),
    Column("seen", "Seen", 8, priority=2),
)
NOTHING_YET = "The journal of this desk has no update of this order."


class TimeLine(Vertical):
    """A list of the updates and requests of one order, newest first. Below it is the order as it
    was after the update under the cursor."""

    DEFAULT_CSS = """
    TimeLine LineTable { height: 1fr; max-height: 50%; }
    """

    def __init__(self, reply: str = READY_REPLY, **place: Any) -> None:
        super().__init__(**place)
        self._reply = reply
        self.table = LineTable(COLUMNS, empty=NOTHING_YET)
        self.body = CaseBody()
        self._record: CaseRecord | None = None

    def compose(self) -> ComposeResult:
        yield self.table
        yield self.body

    def show(self, record: CaseRecord) -> None:
        self._record = record
        self.table.set_rows(timeline_rows(record))
        self.show_moment()

    def show_moment(self) -> None:
        """Shows the order in the state that it had at the row under the cursor."""
        if self.sheet is not None:
            self.body.show(self.sheet, reply=self._reply)

    @property
    def moment(self) -> CaseMoment | None:
        """The update under the cursor. If the cursor is on a request, the last update before that
        request. None if there is no such update."""
        record, key = self._record, self.table.cursor_key
        if record is None or key is None:
            return None
        kind, _, number = key.partition(" ")
        if kind == "update":
            return record.moments[int(number)]
        at = record.calls[int(number)].at
        return next((moment for moment in reversed(record.moments) if moment.at <= at), None)

    @property
    def sheet(self) -> CaseSheet | None:
        moment = self.moment
        if moment is not None:
            return moment.sheet
        return self._record.sheet if self._record is not None else None

    @property
    def standing(self) -> str:
        moment, record = self.moment, self._record
        if moment is None or record is None:
            return ""
        number = record.moments.index(moment) + 1
        return f"at {clock_time(moment.happened)}, {number} of {len(record.moments)}"

    def step(self, by: int) -> None:
        """Moves the cursor by ``by`` updates: -1 to the earlier update, 1 to the later update."""
        record, moment = self._record, self.moment
        if record is None or not record.moments:
            return
        at = record.moments.index(moment) if moment is not None else 0
        self.table.move_to(f"update {max(0, min(len(record.moments) - 1, at + by))}")


def moment_line(moment: CaseMoment) -> str:
    """Returns one line of text about an update, for copying."""
    changed = ", ".join(moment.changed)
    seen = f"seen {iso(moment.at)}, {moment.source}"
    return f"{iso(moment.happened)} {moment.state}; {changed}; {seen}"


def timeline_rows(record: CaseRecord) -> list[TableRow]:
    """Returns the rows of the list of updates and requests, newest first, with a label for each
    day."""
    rows: list[TableRow] = []
    for entry in timeline(record):
        key, one = entry.key, entry.of
        if entry.day:
            rows += [Prose(f"gap {key}")] if rows else []
            rows.append(Section(f"day {key}", entry.day))
        if entry.quiet:
            rows.append(Prose(f"quiet {key}", [Span(f"  {entry.quiet}", "muted")]))
        rows += _call_rows(key, one) if isinstance(one, LoggedCall) else _moment_rows(key, one)
    return rows


def _moment_rows(key: str, moment: CaseMoment) -> Iterator[TableRow]:
    glyph, role = SIGNS.get(moment.level, UNKNOWN_SIGN)
    yield Row(
        key,
        {
            "mark": Span(glyph, role),
            "at": clock_time(moment.happened),
            "source": Span(moment.source, "muted"),
            "state": Span(moment.state, role),
            "seen": Span(clock_time(moment.at), "muted"),
        },
    )
    for at, said in enumerate(moment.changed):
        yield Prose(f"{key} {at}", [Span("  "), Span(said, "muted")])


def _call_rows(key: str, call: LoggedCall) -> Iterator[TableRow]:
    yield Row(
        key,
        {
            "mark": Span(DOT, "status-trouble" if call.failed else "muted"),
            "at": Span(clock_time(call.at), "muted"),
            "source": Span(f"{call.method} {call.status}", "muted"),
            "state": Span(call.path, "muted"),
            "seen": "",
        },
    )
    if call.told:
        yield Prose(f"{key} id", [Span("  "), Span(call.told, "muted")])
