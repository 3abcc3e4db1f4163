"""Every update of one order that the journal kept, newest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget

from swapdesk.flows.notation import clock_time, date, iso
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.order_history import Update, updates_of
from swapdesk.flows.orders.order_status import order_status
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.order_history import Back, CopyUpdate
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.table_layout import Blank, Column, Prose, Row, Section, TableRow

COLUMNS = (
    Column("mark", "", 1),
    Column("at", "Received", 8, gap=1),
    Column("source", "How", 20, priority=1),
    Column("state", "State", 27, grow=1),
    Column("written", "Written", 8, priority=2),
)
NOTHING_YET = "The journal of this desk has no update of this order."
UNTOLD = "Answers that told nothing new are not listed. Times are UTC."


class OrderHistoryScreen(Page):
    """Every update of one order that the journal kept, newest first.

    What changed stands under each update.
    """

    NAME = "History"
    SPENDS = "read"
    VERBS = (CopyUpdate, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, context=short_id(service_id))
        self.service_id = service_id
        self._updates: dict[str, Update] = {}
        self._table = LineTable(COLUMNS, empty=NOTHING_YET)
        self._heard = TextRows(id="heard")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield self._heard

    def on_mount(self) -> None:
        self._table.focus()
        self._show()

    def on_tick(self) -> None:
        self._say()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self.service_id in ids:
            self._show()

    def _show(self) -> None:
        seen = self.desk.journal.orders.events(self.service_id)
        updates = updates_of(seen)
        # Counted from the oldest: the key of an update stays when a newer one comes.
        self._updates = {str(len(updates) - at): one for at, one in enumerate(updates)}
        self._table.set_rows(self._rows())
        self._say()

    def _rows(self) -> list[TableRow]:
        rows: list[TableRow] = []
        day = ""
        now = self.now()
        for key, update in self._updates.items():
            of = date(update.at, now)
            if of != day:
                rows += [Blank(f"gap {key}")] if rows else []
                rows.append(Section(f"day {key}", of))
                day = of
            glyph, role = SIGNS[update.level]
            rows.append(
                Row(
                    key,
                    {
                        "mark": Span(glyph, role),
                        "at": clock_time(update.at),
                        "source": Span(update.source, "muted"),
                        "state": Span(update.state, role),
                        "written": Span(clock_time(update.written), "muted")
                        if update.written is not None
                        else "",
                    },
                )
            )
            rows += [
                Prose(f"{key} {at}", [Span("  "), Span(said, "muted")])
                for at, said in enumerate(update.changed)
            ]
        return rows

    def _say(self) -> None:
        tracked = self.link.tracker.recall(self.service_id) if self.link is not None else None
        if tracked is None:
            return
        summary = order_status(tracked, self.now())
        heard = f"Last heard of at {clock_time(tracked.seen_at)}. {UNTOLD}"
        self._heard.show([[Span(heard, "muted")]])
        self.set_money(summary.money, summary.brief, where_short=summary.place)

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is CopyUpdate:
            return READY if self._table.cursor_key in self._updates else HIDDEN
        return READY

    def do_copy_update(self) -> None:
        update = self._updates.get(self._table.cursor_key or "")
        if update is not None:
            changed = ", ".join(update.changed)
            said = f"{iso(update.at)} {update.source}: {update.state}; {changed}"
            self.controls.copy_value("update", said)

    def do_back(self) -> None:
        self.post_message(self.Go(everywhere.Back))
