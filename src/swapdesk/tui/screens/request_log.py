"""The page with the request log: every API call of this run with its answer, and every notice that
the desk showed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.flows.request_lines import (
    LoggedCall,
    as_command,
    call_lines,
    clock_time,
    logged_call,
)
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.request_log import (
    BACK,
    COPY_AS_COMMAND,
    COPY_REQUEST_ID,
    FILTER_CALLS,
    REQUESTS,
    SHOW_ALL,
)
from swapdesk.tui.page import Page
from swapdesk.tui.screens.raw_order import RawText
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.form_fields import FilterField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import SectionLabel
from swapdesk.tui.widgets.table_layout import Cell, Column, Row, TableRow
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.client.exchange_log import Exchange
    from swapdesk.tui.widgets.frame import KeptNotice

COLUMNS = (
    Column("time", "Time", 8, role="muted"),
    Column("method", "Call", 6),
    Column("path", "Path", 20, grow=1),
    Column("status", "Status", 6, "right"),
    Column("code", "Code", 24, priority=2),
    Column("ms", "ms", 6, "right", role="muted"),
    Column("id", "Request", 36, priority=1, role="muted"),
)
_NOTICE = "notice"


class RequestLogScreen(Page):
    """A table with every API call of this run and every notice, oldest first."""

    NAME = "Requests"
    SPENDS = "read"
    VERBS = (SHOW_ALL, COPY_REQUEST_ID, COPY_AS_COMMAND, FILTER_CALLS, BACK)
    AUTO_FOCUS: ClassVar[str | None] = "#calls"
    DEFAULT_CSS = """
    RequestLogScreen #calls { height: 1fr; }
    RequestLogScreen #label { margin: 1 0 0 0; }
    RequestLogScreen #pane { height: 45%; }
    RequestLogScreen.-short #label { margin: 0; }
    RequestLogScreen.-short #pane { height: 6; }
    RequestLogScreen.-whole #calls, RequestLogScreen.-whole #filter { display: none; }
    RequestLogScreen.-whole #label { margin: 0; }
    RequestLogScreen.-whole #pane { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="this run, secrets left out")
        self._field = FilterField(id="filter")
        self._table = LineTable(COLUMNS, empty="No call has been made yet.", id="calls")
        self._label = SectionLabel("", id="label")
        self._pane = RawText(id="pane")
        self._rows: dict[str, TableRow] = {}
        self._calls: dict[str, Exchange] = {}
        self._notices: dict[str, KeptNotice] = {}
        self._drawn = (-1, -1, "")
        self._paned = ""

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield self._label
        yield self._pane

    def on_tick(self) -> None:
        self.show()

    # rows

    def show(self) -> None:
        """Redraws the table with new calls and notices. Does nothing if there are no new ones and
        the filter is the same."""
        funds = self.funds()
        self.set_money(funds.where, "you: read, or esc goes back", where_short=funds.short)
        if not self.session.opened:
            return
        log, kept = self.desk.exchange_log, self.controls.notices
        drawn = (log.count, kept.count, self._field.text)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        before, cursor = self._table.rows, self._table.cursor_key
        follow = not cursor or not before or before[-1].key == cursor
        self._calls = {f"c{entry.number}": entry for entry in log}
        self._notices = {f"n{entry.number}": entry for entry in kept}
        kept_keys = self._calls.keys() | self._notices.keys()
        self._rows = {key: row for key, row in self._rows.items() if key in kept_keys}
        rows = [row for _, row in sorted(self._matching(), key=lambda entry: entry[0])]
        self._table.set_empty(
            "No call matches." if self._field.text else "No call has been made yet."
        )
        self._table.set_rows(rows)
        if follow and rows:
            self._table.move_to(rows[-1].key)
        self._show_pane()

    def _matching(self) -> Iterable[tuple[float, TableRow]]:
        words = self._field.text
        for key, exchange in self._calls.items():
            if not words or logged_call(exchange).matches(words):
                if key not in self._rows:
                    self._rows[key] = _call_row(key, logged_call(exchange))
                yield exchange.at.timestamp(), self._rows[key]
        for key, notice in self._notices.items():
            if all(word in f"{_NOTICE} {notice.text}".lower() for word in words.lower().split()):
                if key not in self._rows:
                    self._rows[key] = _notice_row(key, notice)
                yield notice.at.timestamp() if notice.at else 0.0, self._rows[key]

    # the call under the cursor

    @property
    def current(self) -> Exchange | None:
        return self._calls.get(self._table.cursor_key)

    @on(LineTable.Highlighted, "#calls")
    def _show_pane(self) -> None:
        key, call = self._table.cursor_key, self.current
        notice = self._notices.get(key)
        shown = call is not None or notice is not None
        self._label.display = self._pane.display = shown
        if shown and key != self._paned:
            self._paned = key
            number = f"{call.method} {call.status or ''}".strip() if call else _NOTICE
            self._label.show(number, "enter shows all" if call else "")
            self._pane.show(call_lines(call) if call else [notice.text if notice else ""])
        self.refresh_keys()

    @property
    def whole(self) -> bool:
        return self.has_class("-whole")

    # keys

    def standings(self) -> Standings:
        typing, call = self._field.has_focus, self.current
        listed = "to the list"
        clears = "clear the filter" if self._field.opened else ""
        return {
            REQUESTS: False,
            FILTER_CALLS: not typing and not self.whole,
            SHOW_ALL: CommandState(verb=listed) if typing else call is not None and not self.whole,
            BACK: CommandState(verb=listed if self.whole else clears),
        }

    def standings_of(self, call: Exchange) -> Standings:
        reads = not self._field.has_focus
        return {COPY_REQUEST_ID: reads and bool(call.request_id), COPY_AS_COMMAND: reads}

    @on(LineTable.Chosen, "#calls")
    def do_show_all(self) -> None:
        if self.current is not None:
            self.add_class("-whole")
            self._pane.focus()
            self.refresh_keys()

    def do_copy_request_id(self, call: Exchange) -> None:
        self.controls.copy_value("request id", call.request_id or "")

    def do_copy_as_command(self, call: Exchange) -> None:
        settings = self.session.settings
        named = settings.live and settings.profile.name != "SWAPDESK_API_URL"
        command = as_command(call, settings.profile.value if named else None)
        if command is None:
            self.show_notice("Part of this call is not kept, so no command repeats it.", "warning")
        else:
            self.controls.copy_value("command", command)

    def do_filter_calls(self) -> None:
        self._field.open()
        self.refresh_keys()

    def do_back(self) -> None:
        if self.whole:
            self.remove_class("-whole")
        elif self._field.opened:
            self._field.close()
            self.show()
        else:
            self.post_message(self.Go(everywhere.BACK))
            return
        self._table.focus()
        self.refresh_keys()

    @on(TextField.Changed)
    def _typed(self) -> None:
        if self._field.opened:
            self.show()

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        self._table.focus()
        self.refresh_keys()


def _call_row(key: str, call: LoggedCall) -> Row:
    role = "status-trouble" if call.failed else "foreground"
    cells: dict[str, Cell] = {
        "time": clock_time(call.at),
        "method": call.method,
        "path": call.path,
        "status": Span(call.status, role),
        "code": Span(call.code, role),
        "ms": call.ms,
        "id": call.request_id,
    }
    return Row(key, cells)


def _notice_row(key: str, notice: KeptNotice) -> Row:
    time = clock_time(notice.at) if notice.at is not None else ""
    role = "foreground" if notice.severity == "information" else "status-waiting"
    cells: dict[str, Cell] = {"time": time, "method": Span(_NOTICE, "muted")}
    return Row(key, cells, tail=Span(notice.text, role), tail_from="path")
