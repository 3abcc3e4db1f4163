"""The account page: the limits of API calls and how much of them is used, commissions, the volume
of each day and of the last weeks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from textual.containers import VerticalScroll
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.account.reading import (
    OF_PAYER,
    READS,
    AccountReading,
    LimitGauge,
    account_csv,
    account_export_name,
    bar_rows,
    forecast,
    limit_gauges,
    month_name,
    month_of,
    scale_labels,
    scale_of,
    stepped,
)
from swapdesk.flows.notation import clock_time, duration, usd
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
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.page import Page
from swapdesk.tui.session import PLAYED, Session
from swapdesk.tui.spans import Line, Span, beside, spread, wrapped
from swapdesk.tui.widgets.gauge import gauge_line
from swapdesk.tui.widgets.lines_view import FittedLines, section_line
from swapdesk.wire.account import ChartPoint, WeeklyVolume

FEW_WEEKS, MANY_WEEKS = 3, 12
MANY_FROM = 50
"""Rows that a screen needs before the page shows :data:`MANY_WEEKS` weeks instead of
:data:`FEW_WEEKS`."""
BAR_ROWS = 6
TWO_MONTHS = 150
"""Cells of width that the page needs before it shows the bars of two months side by side."""
SUMS, NARROW_SUMS = 40, 30
_NARROW = 90


class AccountScreen(Page):
    """The page of the user's own partner account. What was read within the last minute is shown
    without an API call."""

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
        self._said = self._next = ""
        self._limits = FittedLines(id="limits")
        self._sums, self._weeks = FittedLines(id="sums"), FittedLines(id="weeks")

    def compose_body(self) -> Iterable[Widget]:
        yield VerticalScroll(self._limits, self._sums, self._weeks, id="account", can_focus=True)

    def on_resize(self) -> None:
        self.show()

    def on_tick(self) -> None:
        self._show_limits()

    def session_changed(self) -> None:
        if self._reading is None and not self._said:
            self._read(anew=False)
        self.show()

    def work_failed(self, group: str) -> None:
        super().work_failed(group)
        self._not_read("A defect stopped the reading.", "you: report it")

    # reading

    def _read(self, *, anew: bool) -> None:
        link = self.link
        if link is None:
            return
        kept = None if anew else link.account.kept(self._month)
        if kept is not None:
            self._reading, self._said = kept, ""
            return
        self._said = ""
        self.fetch("account", link.account.read(self._month, anew=anew), self.take, self._failed)

    def take(self, reading: AccountReading) -> None:
        if reading.month == self._month:
            self._reading = reading
        self.show()

    def _failed(self, error: ClientError) -> None:
        failure = failure_of_error(error)
        self._not_read(f"Not read. {failure.cause}", failure.next)

    def _not_read(self, reason: str, next_: str) -> None:
        self._said, self._next = reason, next_
        self.show()
        if self._reading is not None:
            self.show_notice(reason, "warning")

    # drawing

    def show(self) -> None:
        if not self.is_mounted:
            return
        self._show_limits()
        reading, now = self._reading, self.now()
        if reading is None:
            words = self._said or "Asking the service."
            role = "status-trouble" if self._said else "muted"
            self._sums.show(lambda width: wrapped([Span(words, role)], width))
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

    def standings(self) -> Standings:
        asking = "asking" if self.fetching else ""
        return {
            SHOW_ACCOUNT: False,
            LATER_MONTH: self._month != month_of(self.now()),
            EXPORT_ACCOUNT: self._reading is not None,
            READ_ACCOUNT: CommandState(verb=f"refresh, {READS} reads", locked=asking),
        }

    def do_step(self, by: int) -> None:
        month = stepped(self._month, by, self.now())
        if month != self._month:
            self._month, self._reading = month, None
            self._read(anew=False)
            self.show()

    def do_read_account(self) -> None:
        self._read(anew=True)
        self.show()

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


def limit_lines(
    gauges: Sequence[LimitGauge], now: datetime, width: int, *, pays: bool = False
) -> list[Line]:
    """Returns the rows about call limits, with a warning if the calls of a period will run out.
    ``pays`` adds a note for users who pay for each call."""
    fact = f"now {clock_time(now)}"
    lines = [section_line("Limits", fact if gauges else "not known yet", width)]
    for gauge in gauges:
        first = gauge.window.name == "MINUTE"
        head = f"{gauge.name if first else '':10} {gauge.window.name.lower():7}"
        reset = duration(gauge.resets_in).replace(" ", "")
        lines.append(gauge_line(gauge.used, gauge.limit, width, reset=reset, label=head))
    if pays:
        lines += wrapped([Span(OF_PAYER, "muted")], width)
    warning = forecast(tuple(gauges))
    if warning is not None:
        lines += wrapped([Span(f"{TROUBLE} {warning}", "status-waiting")], width)
    return lines


def sum_lines(reading: AccountReading, now: datetime, width: int) -> list[Line]:
    """Returns the rows with the commissions in USD and the number of commissions."""
    commissions = reading.commissions
    rows = (
        ("this month", commissions.this_month_earnings),
        ("last month", commissions.last_month_earnings),
        ("total", commissions.total_earnings),
        ("paid out", commissions.processed_commissions),
        ("not paid yet", commissions.pending_commissions),
    )
    lines = [section_line("Commissions, USD", month_name(reading.month, now), width)]
    for place, (label, value) in enumerate(rows):
        amount = Span(usd(value).replace("$", ""), bold=place == 0, amount=True)
        lines.append(spread([Span(label, "muted")], [amount], width))
    count = Span(f"{commissions.commission_count:,}", count=True)
    lines.append(spread([Span("entries", "muted")], [count], width))
    return lines


def chart_lines(reading: AccountReading, month: str, now: datetime, width: int) -> list[Line]:
    """Returns a bar chart of the traded volume in USD, with one bar for each day of ``month``."""
    days = reading.days_of(month)
    count = f"{len(days)} {'day' if len(days) == 1 else 'days'}"
    name = month_name(month, now)
    fact = count if month == reading.month else f"{name}, {count}"
    lines = [section_line("Volume, USD", fact, width)]
    if not any(day.volume_usd for day in days):
        lines.append([Span(f"No orders in {name}.", "muted")])
    values = [day.volume_usd for day in days]
    labels = scale_labels(scale_of(values))
    side = max(map(len, labels)) + 2
    step = 2 if 2 * len(days) <= width - side else 1
    at = {0: labels[0], BAR_ROWS // 2: labels[1], BAR_ROWS - 1: labels[2]}
    for row, cells in enumerate(bar_rows(values, BAR_ROWS)):
        # The axis tells the size of the bars: all of it is an amount but the base line.
        label = f"{at.get(row, ''):>{side - 2}}"
        head = [Span(label, "muted", amount=row < BAR_ROWS - 1), Span("  ")]
        drawn = "".join(cell.ljust(step) for cell in cells)
        newest = len(days) - 1
        lines.append(
            [*head, Span(drawn[: newest * step]), Span(drawn[newest * step :].rstrip(), "accent")]
        )
    if days:
        lines.append([Span(" " * side), *_ends(days, len(days) * step)])
    return lines


def _ends(days: Sequence[ChartPoint], width: int) -> Line:
    first, last = (
        f"{day.day} {day:%b}" for day in (datetime.fromisoformat(days[at].date) for at in (0, -1))
    )
    if len(days) == 1:
        return [Span(first, "muted")]
    return [Span(first + last.rjust(max(len(last) + 2, width - len(first))), "muted")]


def middle_lines(reading: AccountReading, now: datetime, width: int) -> list[Line]:
    """Returns the rows with the commissions and, at the right of them, the month's bar chart."""
    month, before = reading.month, stepped(reading.month, -1, now)
    sums = SUMS if width >= _NARROW else NARROW_SUMS
    room = width - sums - 4
    if width < TWO_MONTHS:
        right = chart_lines(reading, month, now, room)
    else:
        half = (room - 4) // 2
        right = beside(
            chart_lines(reading, before, now, half),
            chart_lines(reading, month, now, half),
            half + 4,
        )
    return beside(sum_lines(reading, now, sums), right, sums + 4)


def week_lines(weeks: Sequence[WeeklyVolume], width: int) -> list[Line]:
    lines = [section_line("Weeks", "", width)]
    if not weeks:
        return [*lines, [Span("No order was finished yet.", "muted")]]
    cells = max(9, (width - 10) // 4)
    heads = ("Orders", "Private", "Volume", "Commission")
    lines.append([Span("Week".ljust(10), "muted"), *(Span(h.rjust(cells), "muted") for h in heads)])
    for week in weeks:
        lines.append(
            [
                Span(f"{week.year} W{week.week:02}".ljust(10)),
                Span(f"{week.count:,}".rjust(cells), count=True),
                Span(f"{week.anonymous:,}".rjust(cells), count=True),
                Span(usd(week.volume).rjust(cells), amount=True),
                Span(usd(week.commission).rjust(cells), amount=True),
            ]
        )
    return lines
