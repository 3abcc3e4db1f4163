"""The address book: who has a name, where it is, how often and when it was paid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.flows.notation import day, short_address
from swapdesk.flows.payees.address_book import AddressBookError, BookEntry
from swapdesk.flows.payees.payees import last_paid, paid_addresses
from swapdesk.tui.commands.address_book import (
    AddEntry,
    CopyEntry,
    DeleteEntry,
    MarkOwn,
    RenameEntry,
)
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, TextRows
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm

COLUMNS = (
    Column("name", "Name", 12),
    Column("chain", "Chain", 12, role="muted"),
    Column("address", "Address", 16),
    Column("paid", "Paid", 8, "right"),
    Column("last", "Last paid", 16, priority=2, role="muted"),
    Column("note", "Note", 16, priority=1, role="muted", grow=1),
)
EMPTY = "No name yet. + gives an address a name."
PANE = 74


class AddressBookScreen(Page):
    """The names of this profile; the whole address of the one under the cursor stands below."""

    NAME = "Address book"
    SPENDS = "quote"
    VERBS = (AddEntry, RenameEntry, MarkOwn, DeleteEntry, CopyEntry)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    AddressBookScreen LineTable { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._table = LineTable(COLUMNS)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield RuleRow()
        yield self._pane

    def on_mount(self) -> None:
        self._table.set_empty(EMPTY)
        self.show()

    def session_changed(self) -> None:
        self.show()

    def show(self) -> None:
        book = self.desk.book
        paid, last = paid_addresses(self.desk.journal), last_paid(self.desk.journal)
        now = self.now()
        rows = []
        for entry in book.entries():
            times, at = paid.get(entry.address, 0), last.get(entry.address)
            cells: dict[str, LineLike] = {
                "name": Span(entry.label, bold=True),
                "chain": _chain(entry),
                "address": short_address(entry.address),
                "paid": _times(times),
                "last": day(at, now) if at is not None else "—",
                "note": "own wallet" if entry.own else entry.note,
            }
            rows.append(Row(entry.name, cells))
        self._table.set_rows(rows)
        self.set_money("in your wallet.", "you: write @name where a recipient is asked for")
        self._show_pane()

    @property
    def current(self) -> BookEntry | None:
        return self.desk.book.entry(self._table.cursor_key or "")

    @on(LineTable.Highlighted)
    def _show_pane(self) -> None:
        entry = self.current
        self._pane.show(_pane(entry) if entry is not None else [])
        self.refresh_keys()

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb in (RenameEntry, MarkOwn, DeleteEntry, CopyEntry) and self.current is None:
            return HIDDEN
        if verb is MarkOwn and self.current is not None and self.current.own:
            return CommandState(verb="not my wallet")
        return READY

    def do_add_entry(self) -> None:
        from swapdesk.tui.screens.book_entry import BookEntryScreen

        self.app.push_screen(BookEntryScreen(self.session))

    def do_rename_entry(self) -> None:
        from swapdesk.tui.screens.book_entry import BookEntryScreen

        entry = self.current
        if entry is not None:
            self.app.push_screen(BookEntryScreen(self.session, renamed=entry))

    def do_mark_own(self) -> None:
        entry = self.current
        if entry is None:
            return
        try:
            self.desk.book.mark_own(entry.name, not entry.own)
        except (AddressBookError, OSError) as error:
            self.show_notice(_sentence(error), "error")
            return
        self.show()

    def do_delete_entry(self) -> None:
        entry = self.current
        if entry is None:
            return
        question = Question(
            "Delete from the address book",
            [
                f"{entry.label} is taken out of {self.desk.book.path.name}.",
                "Orders to this address go on. Paying it again is asked about as for a new one.",
            ],
            entry.name,
            "delete",
        )

        def typed(yes: bool | None) -> None:
            if not yes:
                return
            try:
                self.desk.book.remove(entry.name)
            except (AddressBookError, OSError) as error:
                self.show_notice(_sentence(error), "error")
                return
            self.show()
            self.show_notice(f"{entry.label} is deleted.")

        self.app.push_screen(TypedConfirm(question), typed)

    def do_copy_entry(self) -> None:
        if (entry := self.current) is not None:
            self.controls.copy_value("address", entry.address)


def _pane(entry: BookEntry) -> list[LineLike]:
    facts = [Fact(entry.label, address=entry.address)]
    if entry.memo:
        facts.append(Fact("with memo", Span(entry.memo, bold=True)))
    rows: list[Line] = facts_lines(facts, PANE)
    return list(rows)


def _chain(entry: BookEntry) -> str:
    if entry.chain is not None:
        return entry.chain
    family = ADDRESS_KINDS.get(entry.kind)
    return family.chain if family is not None else entry.kind


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count} times"


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"The address book cannot be written: {error.strerror or 'the disk refuses it'}."
    return str(error)
