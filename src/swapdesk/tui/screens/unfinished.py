"""Unfinished business: what the desk found out about creates that an earlier run left open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.tracking.open_business import OpenFinding, findings
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.orders import Orders
from swapdesk.tui.commands.unfinished import Back, GoOn, OpenFound
from swapdesk.tui.glyphs import DONE, ENDED, MOVING, TROUBLE, UNKNOWN
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import SectionLabel, TextRows
from swapdesk.tui.widgets.table_layout import Blank, Column, Prose, Row, TableRow

_SIGNS = {
    "found": (DONE, "status-done"),
    "withheld": (TROUBLE, "status-trouble"),
    "unknown": (UNKNOWN, "status-waiting"),
    "not_created": (ENDED, "muted"),
    "elsewhere": (MOVING, "status-moving"),
}
COLUMNS = (
    Column("mark", "", 1),
    Column("id", "Order", 6, gap=1),
    Column("what", "What was asked", 30, grow=1),
)


class UnfinishedScreen(Page):
    """Unfinished business: what the desk found out about creates that an earlier run left open.

    Shown once after a start that found something; nothing is asked here.
    """

    NAME = "Unfinished business"
    SPENDS = "read"
    VERBS = (OpenFound, GoOn, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    UnfinishedScreen #intro { margin: 0 0 1 0; }
    UnfinishedScreen.-short #intro { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="from an earlier run")
        report = session.report
        self._found: dict[str, OpenFinding] = {
            str(at): one for at, one in enumerate(findings(report) if report is not None else [])
        }
        self._table = LineTable(COLUMNS, heads=False)

    def compose_body(self) -> Iterable[Widget]:
        yield TextRows([_intro(len(self._found))], id="intro")
        yield SectionLabel("Found", str(len(self._found)))
        yield self._table

    def on_mount(self) -> None:
        rows: list[TableRow] = []
        for key, one in self._found.items():
            glyph, role = _SIGNS[one.kind]
            name = short_id(one.service_id) if one.service_id else ""
            rows.append(
                Row(key, {"mark": Span(glyph, role), "id": name, "what": Span(one.what, bold=True)})
            )
            rows.append(Prose(f"said {key}", [Span("         "), Span(one.said, _said_role(one))]))
            rows.append(Blank(f"gap {key}"))
        self._table.set_rows(rows)
        self._table.focus()
        self._say_money()

    def _say_money(self) -> None:
        kinds = {one.kind for one in self._found.values()}
        if "unknown" in kinds:
            next_ = "the desk: it looks again; enter shows what it found"
        elif kinds & {"found", "withheld"}:
            next_ = "you: look at the order"
        else:
            next_ = "you: go on"
        self.set_money("in your wallet. Nothing was paid.", next_, where_short="in your wallet.")

    @property
    def current(self) -> OpenFinding | None:
        return self._found.get(self._table.cursor_key or "")

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.refresh_keys()

    @on(LineTable.Chosen)
    def _chosen_row(self) -> None:
        self.do_open_found()

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is OpenFound:
            current = self.current
            if current is not None and current.intent_id is not None:
                return CommandState(verb="compare the orders")
            return READY if current is not None and current.service_id else HIDDEN
        return HIDDEN if verb is Orders else READY

    def do_open_found(self) -> None:
        current = self.current
        if current is not None and current.intent_id is not None:
            from swapdesk.tui.screens.candidates import CandidatesScreen

            self.app.push_screen(CandidatesScreen(self.session, current.intent_id))
            return
        if current is not None and current.service_id is not None:
            self.controls.navigation.open_order(current.service_id)

    def do_go_on(self) -> None:
        self.post_message(self.Go(Orders))

    def do_back(self) -> None:
        self.post_message(self.Go(everywhere.Back))


def _intro(count: int) -> LineLike:
    said = "One order was" if count == 1 else f"{count} orders were"
    return [Span(f"{said} being created when the desk ended. The desk asked the service about it.")]


def _said_role(one: OpenFinding) -> str:
    return "status-trouble" if one.kind == "withheld" else "muted"
