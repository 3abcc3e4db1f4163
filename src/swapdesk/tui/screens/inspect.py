"""The page that finds an order by any text that identifies it, explains its state, and offers a
reply to the customer. A second page shows what the file about an order will contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, get_args

from textual import events, on
from textual.message import Message
from textual.widget import Widget

from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.support.case_file import (
    CaseFile,
    CaseFileRefused,
    Shown,
    case_file,
    contents,
    file_bytes,
    file_name,
    program_facts,
    write_case,
)
from swapdesk.flows.support.order_search import (
    SECRET_REPLY,
    Answer,
    OrderSearch,
    Searched,
    begun_here,
)
from swapdesk.flows.support.pasted_text import MAY_BEGIN, PastedText, read_pasted
from swapdesk.flows.support.support_case import (
    CaseFacts,
    CaseSheet,
    calls_about,
    facts_of,
    line_again,
    sheet_of,
)
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, CommandState, Standings
from swapdesk.tui.commands.inspect import (
    BACK,
    CASE_HISTORY,
    COPY_ESCALATION,
    COPY_REPLY,
    INSPECT,
    LEAVE_BUNDLE,
    LOOK_UP,
    MASK_OR_SHOW,
    TRY_AGAIN,
    WRITE_BUNDLE,
    WRITE_FILE,
)
from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, cut, wrapped
from swapdesk.tui.widgets.case_body import UNKNOWN_SIGN, CaseBody, pair_line, say_money
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, TextRows
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.text_field import TextField

WHAT = (
    "Paste whatever names the order: its id or the beginning of it, an address, a transaction hash,"
    " a memo, a request id, a link, an amount with its symbol, or the whole message. Looking here"
    " costs nothing; what costs something is asked before."
)
SHOWN = 200
"""Largest number of characters of a pasted text that are shown in the field."""
LABEL = 10
_MARKS: dict[Answer, tuple[str, str]] = {
    "found": (VALID, "status-done"),
    "nothing": (DOT, "muted"),
    "failed": (TROUBLE, "status-trouble"),
    "not asked": (REFUSED, "muted"),
}
COLUMNS = (
    Column("order", "Order", 8),
    Column("state", "State", 18),
    Column("pair", "Pair", 24, grow=1),
    Column("by", "Found by", 18, priority=1, role="muted"),
    Column("created", "Created", 8, priority=2, role="muted"),
)
FILE_COLUMNS = (Column("what", "In the file", 12), Column("how", "", 40, grow=1))
PUBLIC = (
    "The file may be posted publicly as it is. What is masked stands under a name that is the same"
    " in the whole file; amounts are dots."
)
NOT_PUBLIC = "What is not masked is for those alone whom you send the file to: do not post it."


class PasteField(TextField):
    """A text field that keeps no pasted text. It reports a paste, of any size, by
    :class:`Pasted`."""

    @dataclass
    class Pasted(Message):
        text: str

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Pasted(event.text))


class InspectScreen(Page):
    """The page that finds and explains an order. ``service_id`` is the id of the order; if it is
    None, the user types or pastes a text to search for."""

    NAME = "Inspect"
    SPENDS = "read"
    VERBS = (
        LOOK_UP,
        COPY_REPLY,
        COPY_ESCALATION,
        WRITE_BUNDLE,
        CASE_HISTORY,
        TRY_AGAIN,
        INSPECT,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = "PasteField"
    DEFAULT_CSS = """
    InspectScreen #readings, InspectScreen #searched { margin: 1 0 0 0; }
    InspectScreen #found { height: 1fr; margin: 1 0 0 0; }
    InspectScreen.-short #readings, InspectScreen.-short #searched, InspectScreen.-short #found {
        margin: 0;
    }
    """

    def __init__(self, session: Session, service_id: str | None = None) -> None:
        super().__init__(session, context="read only")
        self._begin_with = service_id
        self._pasted = PastedText()
        self._search: OrderSearch | None = None
        self._sheets: dict[str, CaseSheet] = {}
        self._opened: str | None = None
        self._field = PasteField()
        self._readings, self._searched = FittedLines(id="readings"), FittedLines(id="searched")
        self._table = LineTable(COLUMNS, id="found")
        self._body = CaseBody()

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._readings
        yield self._searched
        yield self._table
        yield self._body

    def on_mount(self) -> None:
        if self._begin_with is not None:
            with self.prevent(TextField.Changed):
                self._field.set_value(self._begin_with)

    def session_changed(self) -> None:
        if self._begin_with is not None and self.link is not None:
            begin, self._begin_with = self._begin_with, None
            self._read(begin)
            self.do_look_up()
        self.show()

    def on_tick(self) -> None:
        self.show()

    def orders_changed(self, ids: frozenset[str]) -> None:
        self.show()

    # what was pasted

    @on(PasteField.Pasted)
    def _was_pasted(self, event: PasteField.Pasted) -> None:
        self._read(event.text)
        shown = " ".join(event.text.split())[:SHOWN]
        visible = "".join(char for char in shown if char.isprintable())
        if self._pasted.secret:
            visible = ""
        with self.prevent(TextField.Changed):
            self._field.set_value(visible)
        self._field.action_edit("home")
        self.show()
        if self._pasted.secret:
            # Letters are keys again: y copies what to write.
            self._body.focus()

    @on(TextField.Changed)
    def _typed(self, event: TextField.Changed) -> None:
        self._read(event.value)
        if self._pasted.secret:
            with self.prevent(TextField.Changed):
                self._field.set_value("")

    def _read(self, text: str) -> None:
        catalog = self.catalog
        self._pasted = read_pasted(
            text,
            is_symbol=lambda word: catalog is not None and bool(catalog.rows_of_symbol(word)),
            own_secrets=self.session.settings.secrets,
            begun=begun_here(self.desk) if self.session.opened else lambda words: (),
        )
        self._search, self._sheets, self._opened = None, {}, None
        self._body.scroll_home(animate=False)
        self.show()

    # searching

    @on(TextField.Submitted)
    @on(LineTable.Chosen, "#found")
    def do_look_up(self) -> None:
        if not self._pasted.searchable or self.link is None:
            return
        if self._search is None:
            self._search = OrderSearch(self.desk, self._pasted)
            self._search.look_here()
            self._took_in()
            cost = self._search.next_cost
            if cost is not None and cost[0] == 0:
                # Nodes of chains take no calls of the service.
                self._ask(self._search)
            return
        if self._table.has_focus and self._table.cursor_key and self._opened is None:
            self._opened = self._table.cursor_key
            self._body.focus()
            self.show()
        elif self._search.next_cost is not None and not self.fetching:
            self._ask(self._search)
        elif (sheet := self.current) is not None:
            self.controls.navigation.open_order(sheet.order_id)

    def _ask(self, search: OrderSearch) -> None:
        self.fetch("inspect", self._go_on(search), self._was_searched)
        self.show()

    async def _go_on(self, search: OrderSearch) -> OrderSearch:
        async for _ in search.go_on():
            self.call_later(self._was_searched, search)
        return search

    def _was_searched(self, search: OrderSearch) -> None:
        if search is self._search:
            self._took_in()

    def _took_in(self) -> None:
        self.show()
        (self._table if len(self._sheets) > 1 and self._opened is None else self._body).focus()

    def on_descendant_focus(self) -> None:
        self.refresh_keys()

    # drawing

    @property
    def current(self) -> CaseSheet | None:
        """The case sheet of the explained order. None if no order was found, or if several were
        found and the user has chosen none."""
        if self._opened is not None:
            return self._sheets.get(self._opened)
        return next(iter(self._sheets.values())) if len(self._sheets) == 1 else None

    def show(self) -> None:
        if not self.is_mounted:
            return
        pasted, search = self._pasted, self._search
        self._field.hint = read_as(pasted)
        self._field.redraw()
        self._take_sheets()
        sheet = self.current
        many = len(self._sheets) > 1 and self._opened is None
        verdict = self._verdict
        unread = self._field_used and (verdict or not pasted.searchable)
        self._readings.show(partial(self._reading_rows, pasted.problem if unread else ""))
        self._searched.show(
            lambda width: [
                *(searched_lines(search.searched, width) if search is not None else []),
                *(wrapped([Span(verdict)], width) if verdict else []),
            ]
        )
        self._readings.display = sheet is None
        self._searched.display = search is not None
        self._table.display, self._body.display = many, sheet is not None
        if many and search is not None:
            self._table.set_rows(found_rows(search, self._sheets))
        if sheet is not None:
            self._body.show(sheet)
        self._say_money(sheet)
        self.refresh_keys()

    @property
    def _verdict(self) -> str:
        if self._search is None or self.fetching:
            return "Asking …" if self.fetching and not self._sheets else ""
        return self._search.verdict

    @property
    def _ready_reply(self) -> str:
        if (sheet := self.current) is not None:
            return "\n".join(sheet.reply)
        if self._pasted.secret:
            return SECRET_REPLY
        return self._search.reply if self._search is not None and self._nothing else ""

    @property
    def _nothing(self) -> bool:
        return self._search is not None and not self.fetching and bool(self._search.verdict)

    @property
    def _field_used(self) -> bool:
        return bool(self._field.value) or self._pasted.secret

    def _reading_rows(self, problem: str, width: int) -> list[Line]:
        if problem:
            role = "status-trouble" if self._pasted.secret else "muted"
            return wrapped([Span(problem, role)], width)
        if not self._field_used:
            return wrapped([Span(WHAT, "muted")], width)
        return reading_lines(self._pasted, width)

    def _take_sheets(self) -> None:
        search = self._search
        if search is None:
            return
        self._sheets = {
            service_id: sheet_of(facts)
            for service_id in search.found
            if (facts := self._facts(service_id)) is not None
        }

    def _facts(self, service_id: str) -> CaseFacts | None:
        try:
            return facts_of(self.desk, service_id, self._search)
        except JournalUnavailable:
            return None

    def _say_money(self, sheet: CaseSheet | None) -> None:
        if sheet is not None:
            say_money(self, sheet)
        elif self._sheets:
            self.set_money(
                f"{len(self._sheets)} orders; each says where.",
                "you: open the one that is meant",
                next_short="you: open one",
            )
        else:
            money = "not known before an order is found."
            asks = "you: paste what you have"
            if self._pasted.searchable:
                asks = "you: enter looks for it"
                if self.link is None:
                    failed = self.session.phase == "failed"
                    again = "you: connect again on the first page"
                    asks = again if failed else "the desk: it connects"
            if self._pasted.secret:
                asks = "the customer: move the money to a new wallet; y copies what to write"
            elif self.fetching:
                asks = "the service: it is asked"
            elif self._search is not None and self._search.verdict:
                money, asks = f"{self._search.money}.", self._search.next
            short = f"{money.partition(':')[0].removesuffix('.')}."
            self.set_money(money, asks, where_short=short, next_short=asks.split(" for ")[0])

    # keys

    def standings(self) -> Standings:
        reads = not self._field.has_focus
        return {
            LOOK_UP: self._look_up_standing(),
            COPY_REPLY: reads and bool(self._ready_reply),
            COPY_ESCALATION: reads and (self.current is not None or self._nothing),
            INSPECT: CommandState(verb="look for another", hidden=not reads),
            BACK: CommandState(verb="" if self._opened is None else "to the list"),
        }

    def standings_of(self, sheet: CaseSheet) -> Standings:
        reads = not self._field.has_focus
        again = reads and bool(self._line_again(sheet))
        return {WRITE_BUNDLE: reads, CASE_HISTORY: reads, TRY_AGAIN: again}

    def _look_up_standing(self) -> CommandState:
        if not self._pasted.searchable:
            return HIDDEN
        if self._search is None:
            waits = "not connected" if self.session.phase == "failed" else "connecting"
            return CommandState(locked=waits if self.link is None else "")
        if self.fetching:
            return CommandState(locked="asking")
        if len(self._sheets) > 1 and self._opened is None:
            return CommandState(verb="open")
        cost = self._search.next_cost
        if cost is not None:
            return CommandState(verb="ask", cost=cost[1])
        return CommandState(verb="order", hidden=self.current is None)

    def do_inspect(self) -> None:
        """Empties the text field and clears the search, so that the user can look for a different
        order."""
        self._field.set_value("")
        self._pasted = PastedText()
        self._search, self._sheets, self._opened = None, {}, None
        self._field.focus()
        self.show()

    def do_copy_reply(self) -> None:
        self.controls.copy_value("reply", self._ready_reply)

    def do_copy_escalation(self) -> None:
        sheet = self.current
        text = "\n".join(sheet.escalation) if sheet is not None else ""
        if self._search is not None and self._nothing:
            text = self._search.escalation
        self.controls.copy_value("text for the service", text)

    def do_case_history(self, sheet: CaseSheet) -> None:
        from swapdesk.tui.screens.order_history import OrderHistoryScreen

        self.app.push_screen(OrderHistoryScreen(self.session, sheet.order_id))

    def do_write_bundle(self, sheet: CaseSheet) -> None:
        facts = self._facts(sheet.order_id)
        if facts is not None:
            self.app.push_screen(BundleScreen(self.session, calls_about(self.desk, facts)))

    async def do_try_again(self, sheet: CaseSheet) -> None:
        """Fills the line of the first page with a new swap of the same pair
        (:func:`line_again`)."""
        await self.controls.navigation.begin_with(self._line_again(sheet))

    def _line_again(self, sheet: CaseSheet) -> str:
        facts = self._facts(sheet.order_id)
        if facts is None or self.catalog is None:
            return ""
        return line_again(facts.tracked, self.catalog)

    def do_back(self) -> None:
        if self._opened is not None and len(self._sheets) > 1:
            self._opened = None
            self._took_in()
        else:
            self.post_message(self.Go(everywhere.BACK))


class BundleScreen(Page):
    """The page that lists what the support file about an order will contain. Private texts are
    masked unless the user shows them on this page."""

    NAME = "Bundle"
    SPENDS = "read"
    VERBS = (WRITE_FILE, MASK_OR_SHOW, LEAVE_BUNDLE)

    def __init__(self, session: Session, facts: CaseFacts) -> None:
        super().__init__(session, context=short_id(facts.tracked.service_id))
        self._facts = facts
        self._path = Path.cwd() / file_name(facts.tracked.service_id)
        self._shown: set[Shown] = set()
        self._file = self._masked()
        self._table = LineTable(FILE_COLUMNS)
        self._where = TextRows(id="where")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield self._where

    def on_mount(self) -> None:
        say_money(self, sheet_of(self._facts))

    def _masked(self) -> CaseFile:
        settings, link = self.session.settings, self.link
        return case_file(
            self._facts,
            self._shown,
            program=program_facts(link.api.skew() if link else None, settings),
            secrets=settings.secrets,
        )

    def show(self) -> None:
        self._table.set_rows(
            Row(
                name,
                {"what": name, "how": Span(state, "status-waiting" if shows(state) else "muted")},
            )
            for name, state in contents(self._file)
        )
        self._where.show(
            [
                [Span(NOT_PUBLIC if self._shown else PUBLIC, "muted")],
                [],
                [Span(f"{self._path.name}, in the directory where the desk was started")],
            ]
        )
        self.refresh_keys()

    def standings_of(self, kind: Shown) -> Standings:
        does = "mask" if kind in self._shown else "show"
        return {MASK_OR_SHOW: CommandState(verb=f"{does} {kind}")}

    @property
    def current(self) -> Shown | None:
        """The kind of text, such as addresses, that the row under the cursor masks or shows. None
        for other rows."""
        key = self._table.cursor_key
        return next((kind for kind in get_args(Shown) if kind == key), None)

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.refresh_keys()

    def do_mask_or_show(self, kind: Shown) -> None:
        self._shown ^= {kind}
        self._file = self._masked()
        self.show()

    @on(LineTable.Chosen)
    def do_write_file(self) -> None:
        try:
            path = write_case(
                file_bytes(self._file), Path.cwd() / file_name(self._file.record.sheet.order_id)
            )
        except CaseFileRefused as error:
            self.show_notice(str(error), "warning")
            return
        self.post_message(self.Go(everywhere.BACK))
        self.app.call_later(self.app.notify, f"Written to {path}. Nothing was sent.")

    def do_leave_bundle(self) -> None:
        self.post_message(self.Go(everywhere.BACK))


def read_as(pasted: PastedText) -> str:
    """Returns how the pasted text was understood, as ``an order id, and 2 more``. If it was not
    understood, returns a hint or an empty text."""
    if not pasted.readings:
        return MAY_BEGIN if pasted.beginnings else ""
    first, *others = pasted.readings
    if not others:
        return first.called
    return f"{first.called}, and {len(others)} more" if len(others) > 1 else first.called


def reading_lines(pasted: PastedText, width: int) -> list[Line]:
    """Returns the rows below the text field: all ways to read the text, if there are several, then
    warnings."""
    rows: list[Line] = []
    if len(pasted.readings) > 1:
        for at, reading in enumerate(pasted.readings):
            label = "Read as" if not at else ""
            shown = [Span(label.ljust(LABEL), "muted"), Span(reading.called, "muted"), Span("  ")]
            rows.append(cut([*shown, Span(reading.value)], width))
    if pasted.cut:
        rows.append([Span(" " * LABEL), Span("The end of the text was not read.", "muted")])
    if pasted.warning:
        indent = [Span(" " * LABEL)]
        warned = wrapped([Span(pasted.warning, "status-waiting")], max(8, width - LABEL))
        rows += [[*indent, *line] for line in warned]
    return rows


def searched_lines(searched: Sequence[Searched], width: int) -> list[Line]:
    """Returns one row for each place that was searched, with its answer."""
    rows: list[Line] = []
    for at, place in enumerate(searched):
        glyph, role = _MARKS[place.answer]
        label = "Searched" if not at else ""
        head = [Span(label.ljust(LABEL), "muted"), Span(f"{glyph} ", role)]
        name = Span(place.place.ljust(25), "foreground" if place.answer == "found" else "muted")
        rows.append(cut([*head, name, Span(place.said, "muted")], width))
    return rows


def found_rows(search: OrderSearch, sheets: Mapping[str, CaseSheet]) -> list[Row]:
    """Returns one row for each order that was found. The row says how the order was found."""
    rows = []
    for service_id, sheet in sheets.items():
        _, role = SIGNS.get(sheet.sign, UNKNOWN_SIGN)
        rows.append(
            Row(
                service_id,
                {
                    "order": short_id(service_id),
                    "state": Span(sheet.word, role),
                    "pair": pair_line(sheet),
                    "by": search.found.get(service_id, ""),
                    "created": clock_time(sheet.created) if sheet.created is not None else "",
                },
            )
        )
    return rows


def shows(text: str) -> bool:
    return text == "as they are"
