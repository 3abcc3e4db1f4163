"""Rows of the account: gauges, sums, bars and weeks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.flows.account.chart import bar_rows, month_name, scale_of, stepped
from swapdesk.flows.account.limits import OF_PAYER, LimitGauge, forecast
from swapdesk.flows.account.reading import AccountReading
from swapdesk.flows.notation import clock_time, duration, usd
from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.spans import Line, Span, spread, width_of, wrapped
from swapdesk.tui.widgets.gauge import GaugeState, gauge_line
from swapdesk.tui.widgets.lines_view import section_line
from swapdesk.wire.account import ChartPoint, WeeklyVolume

BAR_ROWS = 6
TWO_MONTHS = 150
"""Cells from which the month before stands beside the one that is shown."""
SUMS, NARROW_SUMS = 40, 30
_NARROW = 90


def limit_lines(
    gauges: Sequence[LimitGauge], now: datetime, width: int, *, pays: bool = False
) -> list[Line]:
    """A gauge for each window, what they count for who ``pays`` each call, and the forecast where a
    limit would not last."""
    fact = f"now {clock_time(now)}"
    lines = [section_line("Limits", fact if gauges else "not known yet", width)]
    for gauge in gauges:
        first = gauge.window.name == "MINUTE"
        head = f"{gauge.name if first else '':10} {gauge.window.name.lower():7}"
        state = GaugeState(
            gauge.used, gauge.limit, duration(gauge.resets_in).replace(" ", ""), head
        )
        lines.append(gauge_line(state, width))
    if pays:
        lines += wrapped([Span(OF_PAYER, "muted")], width)
    said = forecast(tuple(gauges))
    if said is not None:
        lines += wrapped([Span(f"{TROUBLE} {said}", "status-waiting")], width)
    return lines


def sum_lines(reading: AccountReading, now: datetime, width: int) -> list[Line]:
    """Commissions in dollars; those of the month first."""
    told = reading.commissions
    rows = (
        ("this month", told.this_month_earnings),
        ("last month", told.last_month_earnings),
        ("total", told.total_earnings),
        ("paid out", told.processed_commissions),
        ("not paid yet", told.pending_commissions),
    )
    lines = [section_line("Commissions, USD", month_name(reading.month, now), width)]
    for place, (label, value) in enumerate(rows):
        amount = Span(usd(value).replace("$", ""), bold=place == 0, amount=True)
        lines.append(spread([Span(label, "muted")], [amount], width))
    count = Span(f"{told.commission_count:,}", count=True)
    lines.append(spread([Span("entries", "muted")], [count], width))
    return lines


def chart_lines(reading: AccountReading, month: str, now: datetime, width: int) -> list[Line]:
    """A bar for each day of a month, the newest in accent."""
    days = reading.days_of(month)
    count = f"{len(days)} {'day' if len(days) == 1 else 'days'}"
    name = month_name(month, now)
    fact = count if month == reading.month else f"{name}, {count}"
    lines = [section_line("Volume, USD", fact, width)]
    if not any(day.volume_usd for day in days):
        lines.append([Span(f"No orders in {name}.", "muted")])
    values = [day.volume_usd for day in days]
    labels = scale_of(values).labels
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
    """The first and the last day below their bars."""
    first, last = (
        f"{day.day} {day:%b}" for day in (datetime.fromisoformat(days[at].date) for at in (0, -1))
    )
    if len(days) == 1:
        return [Span(first, "muted")]
    return [Span(first + last.rjust(max(len(last) + 2, width - len(first))), "muted")]


def beside(left: list[Line], right: list[Line], width: int) -> list[Line]:
    """Two blocks of rows, the left one this wide."""
    rows = max(len(left), len(right))
    pairs = zip(left + [[]] * (rows - len(left)), right + [[]] * (rows - len(right)), strict=True)
    return [
        [*one, Span(" " * (width - width_of(one))), *other] if other else list(one)
        for one, other in pairs
    ]


def middle_lines(reading: AccountReading, now: datetime, width: int) -> list[Line]:
    """Sums and bars; where there is room the month before as well."""
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
    """Newest first, as many as are given."""
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
