"""Two pages: the address book, and the form that adds or renames one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.exchange import new_intent_id
from swapdesk.flows.notation import day, short_address
from swapdesk.flows.payees.address_book import (
    AddressBook,
    AddressBookError,
    BookEntry,
    EntryCheck,
    check_entry,
)
from swapdesk.flows.payees.recipients import (
    RecipientCheck,
    challenge_for,
    last_paid,
    paid_addresses,
)
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.address_book import (
    ADD_ENTRY,
    COPY_ENTRY,
    DELETE_ENTRY,
    MARK_OWN,
    NEXT_KIND,
    RENAME_ENTRY,
    SAVE_ENTRY,
)
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.create import BACK, FIELD_ABOVE, FIELD_BELOW
from swapdesk.tui.page import Page
from swapdesk.tui.screens.create_form import first_payment
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import (
    ADDRESS_LIMIT,
    LabelledField,
)
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, TextRows
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.text_field import TextField, step_focus

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
    """A page with the address book: each name with its chain, its address, and how often and when
    it received a payment."""

    NAME = "Address book"
    SPENDS = "quote"
    VERBS = (ADD_ENTRY, RENAME_ENTRY, MARK_OWN, DELETE_ENTRY, COPY_ENTRY)
    DEFAULT_CSS = """
    AddressBookScreen LineTable { height: 1fr; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._table = LineTable(COLUMNS, empty=EMPTY)
        self._pane = TextRows(id="pane")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield RuleRow()
        yield self._pane

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
        return self.desk.book.entry(self._table.cursor_key)

    @on(LineTable.Highlighted)
    def _show_pane(self) -> None:
        entry = self.current
        self._pane.show(_pane(entry) if entry is not None else [])
        self.refresh_keys()

    # keys

    def standings_of(self, entry: BookEntry) -> Standings:
        return {MARK_OWN: CommandState(verb="not my wallet" if entry.own else "")}

    def do_add_entry(self) -> None:
        self.app.push_screen(BookEntryScreen(self.session))

    def do_rename_entry(self, entry: BookEntry) -> None:
        self.app.push_screen(BookEntryScreen(self.session, renamed=entry))

    def do_mark_own(self, entry: BookEntry) -> None:
        self._change(lambda book: book.mark_own(entry.name, not entry.own))

    def _change(self, change: Callable[[AddressBook], object]) -> bool:
        try:
            change(self.desk.book)
        except (AddressBookError, OSError) as error:
            self.show_notice(_sentence(error), "error")
            return False
        self.show()
        return True

    def do_delete_entry(self, entry: BookEntry) -> None:
        question = Question(
            "Delete from the address book",
            [
                f"{entry.label} is taken out of {self.desk.book.path.name}.",
                "Orders to this address go on. Paying it again is asked about as for a new one.",
            ],
            entry.name,
            "delete",
        )

        def delete() -> None:
            if self._change(lambda book: book.remove(entry.name)):
                self.show_notice(f"{entry.label} is deleted.")

        self.confirm(question, delete)

    def do_copy_entry(self, entry: BookEntry) -> None:
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


class BookEntryScreen(Page):
    """The page with the form for an entry of the address book. The form adds a name with its
    address, or renames the entry ``renamed``."""

    NAME = "Address book"
    SPENDS = "quote"
    VERBS = (SAVE_ENTRY, NEXT_KIND, FIELD_BELOW, FIELD_ABOVE, BACK)
    AUTO_FOCUS: ClassVar[str | None] = "TextField"
    DEFAULT_CSS = """
    BookEntryScreen LabelledField { margin: 0 0 1 0; }
    BookEntryScreen.-short LabelledField { margin: 0; }
    """

    def __init__(self, session: Session, *, renamed: BookEntry | None = None) -> None:
        super().__init__(session, context=f"rename {renamed.label}" if renamed else "a new name")
        self._renamed = renamed
        self._kind = ""
        name = TextField(renamed.name if renamed is not None else "", limit=33)
        self._naming = LabelledField("Name", name, note="write it as @name afterwards")
        self._placing = LabelledField(
            "Address",
            TextField(grouped=True, limit=ADDRESS_LIMIT),
            note="paste it; the chain is found from it",
        )
        self._tagging = LabelledField(
            "Memo", TextField(limit=64), note="where the wallet is an account of an exchange"
        )

    def compose_body(self) -> Iterable[Widget]:
        yield self._naming
        if self._renamed is None:
            yield self._placing
            yield self._tagging

    @property
    def counting(self) -> bool:
        return True

    @on(TextField.Changed)
    def _changed(self) -> None:
        self.settle_notice(self.subject())
        self.show()

    def subject(self) -> tuple[str, ...]:
        return tuple(field.value for field in self._fields())

    def _fields(self) -> list[TextField]:
        if self._renamed is not None:
            return [self._naming.field]
        return [self._naming.field, self._placing.field, self._tagging.field]

    def _checked(self) -> EntryCheck:
        return check_entry(
            self.desk.book,
            self._naming.value.strip(),
            self._placing.value.strip(),
            self._tagging.value.strip(),
            self._kind,
        )

    def show(self) -> None:
        self.set_money("in your wallet.", "you: name the address")
        if self._renamed is None:
            check = self._checked()
            self._naming.show_checks(list(check.name) if self._naming.value else [])
            address = list(check.address) if self._placing.value else []
            if not check.kind and check.kinds:
                called = ADDRESS_KINDS[check.kinds[0]].called
                address.append(CheckLine("note", f"It may be {called}.", "tab takes it as one."))
            elif len(check.kinds) > 1:
                said = f"Taken as an address on {ADDRESS_KINDS[check.kind].chain}."
                address.append(CheckLine("note", said, "tab takes another chain."))
            self._placing.show_checks(address)
            self._tagging.show_checks(list(check.memo))
        self.refresh_keys()

    # keys

    def standings(self) -> Standings:
        new = self._renamed is None
        check = self._checked()
        return {
            NEXT_KIND: new and bool(set(check.kinds) - {check.kind}),
            **dict.fromkeys((FIELD_BELOW, FIELD_ABOVE), new),
            SAVE_ENTRY: CommandState(verb="save" if self._fields()[-1].has_focus else ""),
        }

    def do_next_kind(self) -> None:
        check = self._checked()
        kinds = check.kinds
        if kinds:
            at = kinds.index(check.kind) + 1 if check.kind else 0
            self._kind = kinds[at % len(kinds)]
            self.show()

    def do_step(self, by: int) -> None:
        step_focus(self._fields(), by)

    @on(TextField.Submitted)
    def do_save_entry(self) -> None:
        renamed, check = self._renamed, self._checked()
        if renamed is not None:
            self._write(lambda book: book.rename(renamed.name, self._naming.value.strip()))
        elif not self._fields()[-1].has_focus:
            self.do_step(1)
            self.refresh_keys()
        elif check.entry is None:
            said = check.problem or "The entry is not complete."
            self.show_notice(said, "warning", about=self.subject())
        else:
            self._compare(check.entry)

    def _compare(self, entry: BookEntry) -> None:
        paid = paid_addresses(self.desk.journal)
        seen = RecipientCheck(
            entry.address, entry.address, None, True, (), first_use=not paid.get(entry.address)
        )
        challenge = challenge_for(seen, new_intent_id())
        if challenge is None:
            self._write(lambda book: book.add(entry))
            return
        hide = self._placing.field.hide
        hide(challenge.hidden)
        self.confirm(
            first_payment(challenge, "A name for this address"),
            lambda: self._write(lambda book: book.add(entry)),
            partial(hide, frozenset()),
        )

    def _write(self, change: Callable[[AddressBook], object]) -> None:
        try:
            change(self.desk.book)
        except (AddressBookError, OSError) as error:
            self.show_notice(str(error), "warning", about=self.subject())
        else:
            self.post_message(self.Go(everywhere.BACK))
