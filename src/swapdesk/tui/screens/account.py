"""The own account: limits with what is used of them, commissions, volume and weeks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.containers import VerticalScroll
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.account.chart import month_of, stepped
from swapdesk.flows.account.limits import limit_gauges
from swapdesk.flows.account.reading import (
    READS,
    AccountReading,
    account_csv,
    account_export_name,
)
from swapdesk.flows.notation import usd
from swapdesk.flows.orders.order_export import export_directory, write_export
from swapdesk.flows.tracking.announcements import failure_of_error
from swapdesk.tui.commands.account import (
    BACK,
    EARLIER_MONTH,
    EXPORT_ACCOUNT,
    LATER_MONTH,
    READ_ACCOUNT,
    SHOW_ACCOUNT,
)
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.page import Page
from swapdesk.tui.screens.account_view import limit_lines, middle_lines, week_lines
from swapdesk.tui.session import PLAYED, Session
from swapdesk.tui.spans import Span, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines

FEW_WEEKS, MANY_WEEKS = 3, 12
MANY_FROM = 50
"""Rows of the screen."""


class AccountScreen(Page):
    """Opened again within a minute it reads nothing."""

    NAME = "Account"
    SPENDS = "read"
    VERBS = (EARLIER_MONTH, LATER_MONTH, EXPORT_ACCOUNT, READ_ACCOUNT, SHOW_ACCOUNT, BACK)
    AUTO_FOCUS: ClassVar[str | None] = "#account"
    DEFAULT_CSS = """
    AccountScreen #account { height: 1fr; scrollbar-size: 0 0; }
    AccountScreen #sums, AccountScreen #weeks { margin: 1 0 0 0; }
    AccountScreen.-short #sums, AccountScreen.-short #weeks { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._month = month_of(self.now())
        self._reading: AccountReading | None = None
        self._asking = False
        self._said = self._next = ""
        self._limits = FittedLines(id="limits")
        self._sums, self._weeks = FittedLines(id="sums"), FittedLines(id="weeks")

    def compose_body(self) -> Iterable[Widget]:
        yield VerticalScroll(self._limits, self._sums, self._weeks, id="account", can_focus=True)

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def on_tick(self) -> None:
        self._show_limits()

    def session_changed(self) -> None:
        if self._reading is None and not self._said:
            self._read(anew=False)
        self._show()

    def work_failed(self, group: str) -> None:
        self._not_read("A defect stopped the reading.", "you: report it")

    # reading

    def _read(self, *, anew: bool) -> None:
        """What was read within a minute is shown at once."""
        link = self.link
        if link is None:
            return
        kept = None if anew else link.account.kept(self._month)
        if kept is not None:
            self._reading, self._said = kept, ""
            return
        self._asking, self._said = True, ""
        self.run_worker(
            self._ask(self._month, anew=anew), group="account", exclusive=True, exit_on_error=False
        )

    async def _ask(self, month: str, *, anew: bool) -> None:
        try:
            reading = await self.desk.link.account.read(month, anew=anew)
        except ClientError as error:
            failure = failure_of_error(error)
            self.call_later(self._not_read, f"Not read. {failure.cause}", failure.next)
        else:
            self.call_later(self.take, reading)

    def take(self, reading: AccountReading) -> None:
        self._asking = False
        if reading.month == self._month:
            self._reading = reading
        self._show()

    def _not_read(self, said: str, next_: str) -> None:
        self._asking, self._said, self._next = False, said, next_
        self._show()
        if self._reading is not None:
            self.show_notice(said, "warning")

    # drawing

    def _show(self) -> None:
        if not self.is_mounted:
            return
        self._show_limits()
        reading, now = self._reading, self.now()
        if reading is None:
            said = self._said or "Asking the service."
            role = "status-trouble" if self._said else "muted"
            self._sums.show(lambda width: wrapped([Span(said, role)], width))
            self._weeks.show(lambda width: [])
            next_ = self._next if self._said else "the service"
            self.set_money("not looked at here; this is your account.", next_)
        else:
            many = MANY_WEEKS if self.app.size.height >= MANY_FROM else FEW_WEEKS
            self._sums.show(lambda width: middle_lines(reading, now, width))
            self._weeks.show(lambda width: week_lines(reading.weeks[:many], width))
            pending = usd(reading.commissions.pending_commissions)
            self.set_money(f"commissions {pending} not paid out yet.", "the partner desk pays")
        self.refresh_keys()

    def _show_limits(self) -> None:
        link = self.link
        gauges = limit_gauges(link.api.budget) if link is not None else ()
        pays = link is not None and link.connection.credentials.pays
        now = self.now()
        self._limits.show(lambda width: limit_lines(gauges, now, width, pays=pays))

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is SHOW_ACCOUNT:
            return HIDDEN
        if verb is LATER_MONTH and self._month == month_of(self.now()):
            return HIDDEN
        if verb is EXPORT_ACCOUNT:
            return READY if self._reading is not None else HIDDEN
        if verb is READ_ACCOUNT:
            cost = f"refresh, {READS} reads"
            return CommandState(verb=cost, locked="asking" if self._asking else "")
        return READY

    def do_step(self, by: int) -> None:
        month = stepped(self._month, by, self.now())
        if month != self._month:
            self._month, self._reading = month, None
            self._read(anew=False)
            self._show()

    def do_read_account(self) -> None:
        self._read(anew=True)
        self._show()

    def do_export_account(self) -> None:
        if self.session.played:
            self.show_notice(PLAYED, "warning")
            return
        reading = self._reading
        if reading is None:
            return
        directory = export_directory(self.session.settings.home, Path.home())
        try:
            written = write_export(
                directory / account_export_name(reading), account_csv(reading).encode()
            )
        except OSError as error:
            self.show_notice(f"Nothing was written: {error.strerror or error}.", "error")
        else:
            self.show_notice(f"Written to {written}")
