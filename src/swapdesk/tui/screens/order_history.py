"""The page with the history of one order: its updates and requests, and the state of the order
after the chosen update."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.support.support_case import CaseMoment, calls_about, facts_of, record_of
from swapdesk.tui.commands.order_history import BACK, COPY_UPDATE, EARLIER_UPDATE, LATER_UPDATE
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.case_body import TimeLine, moment_line, say_money
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import TextRows

UNTOLD = "Answers that told nothing new are not listed. Times are UTC."


class OrderHistoryScreen(Page):
    """A page with every update of one order in the journal, newest first, and this run's requests
    about it."""

    NAME = "History"
    SPENDS = "read"
    VERBS = (EARLIER_UPDATE, LATER_UPDATE, COPY_UPDATE, BACK)

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, context=short_id(service_id))
        self.service_id = service_id
        self._line = TimeLine()
        self._heard = TextRows(id="heard")

    def compose_body(self) -> Iterable[Widget]:
        yield self._line
        yield self._heard

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self.service_id in ids:
            self.show()

    def show(self) -> None:
        if self.link is None:
            return
        try:
            facts = facts_of(self.desk, self.service_id)
        except JournalUnavailable as error:
            self.show_notice(str(error), "warning")
            return
        if facts is not None:
            self._line.show(record_of(calls_about(self.desk, facts)))
            heard = f"Last heard of at {clock_time(facts.tracked.seen_at)}. {UNTOLD}"
            self._heard.show([[Span(heard, "muted")]])
            self._stand()

    @on(LineTable.Highlighted)
    def _stand(self) -> None:
        self._line.show_moment()
        sheet = self._line.sheet
        if sheet is not None:
            say_money(self, sheet)
        self.context = f"{short_id(self.service_id)}  {self._line.standing}"
        self.refresh_frame()
        self.refresh_keys()

    @property
    def current(self) -> CaseMoment | None:
        return self._line.moment

    def do_step(self, by: int) -> None:
        self._line.step(by)

    def do_copy_update(self, moment: CaseMoment) -> None:
        self.controls.copy_value("update", moment_line(moment))
