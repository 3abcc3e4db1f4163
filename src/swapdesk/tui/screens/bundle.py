"""What a support file will hold, before it is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.support.case_file import (
    CaseFile,
    CaseFileRefused,
    Shown,
    case_file,
    contents,
    file_name,
    program_facts,
    write_case_file,
)
from swapdesk.flows.support.case_sheet import sheet_of
from swapdesk.flows.support.support_case import CaseFacts
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.inspect import LEAVE_BUNDLE, MASK_OR_SHOW, WRITE_FILE
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.case_body import say_money
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.table_layout import Column, Row

COLUMNS = (Column("what", "In the file", 12), Column("how", "", 40, grow=1))
PUBLIC = (
    "The file may be posted publicly as it is. What is masked stands under a name that is the same"
    " in the whole file; amounts are dots."
)


SHOWN = "What is not masked is for those alone whom you send the file to: do not post it."


class BundleScreen(Page):
    """Lists what is in the file; addresses, amounts, memos, hashes and names are shown on demand
    alone."""

    NAME = "Bundle"
    SPENDS = "read"
    VERBS = (WRITE_FILE, MASK_OR_SHOW, LEAVE_BUNDLE)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, session: Session, facts: CaseFacts) -> None:
        super().__init__(session, context=short_id(facts.tracked.service_id))
        self._facts = facts
        self._path = Path.cwd() / file_name(facts.tracked.service_id)
        self._shown: set[Shown] = set()
        self._file: CaseFile | None = None
        self._table = LineTable(COLUMNS)
        self._where = TextRows(id="where")

    def compose_body(self) -> Iterable[Widget]:
        yield self._table
        yield self._where

    def on_mount(self) -> None:
        say_money(self, sheet_of(self._facts))
        self._make()

    def _make(self) -> None:
        settings, link = self.session.settings, self.link
        self._file = case_file(
            self._facts,
            self._shown,
            program=program_facts(link.api.skew() if link else None, settings),
            secrets=settings.secrets,
        )
        self._table.set_rows(
            Row(
                name,
                {"what": name, "how": Span(said, "status-waiting" if shows(said) else "muted")},
            )
            for name, said in contents(self._file)
        )
        self._where.show(
            [
                [Span(SHOWN if self._shown else PUBLIC, "muted")],
                [],
                [Span(f"{self._path.name}, in the directory where the desk was started")],
            ]
        )
        self.refresh_keys()

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is MASK_OR_SHOW:
            kind = self._kind
            if kind is None:
                return HIDDEN
            return CommandState(verb=f"mask {kind}" if kind in self._shown else f"show {kind}")
        return READY

    @property
    def _kind(self) -> Shown | None:
        key = self._table.cursor_key
        return next((kind for kind in Shown if kind.value == key), None)

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.refresh_keys()

    def do_mask_or_show(self) -> None:
        kind = self._kind
        if kind is not None:
            self._shown ^= {kind}
            self._make()

    @on(LineTable.Chosen)
    def do_write_file(self) -> None:
        if self._file is None:
            return
        try:
            path = write_case_file(
                self._file, Path.cwd() / file_name(self._file.record.sheet.order_id)
            )
        except CaseFileRefused as error:
            self.show_notice(str(error), "warning")
            return
        self.post_message(self.Go(everywhere.BACK))
        self.app.call_later(self.app.notify, f"Written to {path}. Nothing was sent.")

    def do_leave_bundle(self) -> None:
        self.post_message(self.Go(everywhere.BACK))


def shows(said: str) -> bool:
    return said == "as they are"
