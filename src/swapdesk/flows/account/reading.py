"""Reads the contents of the account page, keeps them for a minute, and writes them as CSV.

For each limit, this module says how much is used, when the next window begins, and whether the
limit lasts until then. For the chart of the volume by day, it has the months to ask for (a month is
a text such as ``2026-11``, in UTC), a round scale, and bars that a terminal can draw.
"""

from __future__ import annotations

import asyncio
import calendar
import csv
import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import asdict

from swapdesk.client.api import PartnerApi
from swapdesk.client.budget import Allowance, Budget, Window
from swapdesk.flows.notation import Moment, short_clock
from swapdesk.wire.account import (
    ChartMetric,
    ChartPoint,
    ChartQuery,
    CommissionQuery,
    CommissionSummary,
    Granularity,
    WeeklyVolume,
)
from swapdesk.wire.operation import RateClass

NAMES = {RateClass.QUOTE: "quotes", RateClass.EXCHANGE: "exchanges"}

OF_PAYER = (
    "You pay each call: a minute counts calls of every kind, hour and day show quotes and"
    " exchanges alone."
)
"""The sentence beside the gauges for a profile that pays for each call (contract 14.6)."""

_TELLING = 0.1
"""The share of a window (a minute, an hour or a day) that has to pass before its use so far allows
a forecast."""

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_EARLIEST = "1970-01"
LONGEST_DATE = len("2026-11-01")
EIGHTHS = " ▁▂▃▄▅▆▇█"
HALVES = " ____####"
"""The characters of an ASCII bar, by how many eighths of a character cell are filled: a space for
none, ``_`` for one to four, ``#`` for five to eight."""
_TOPS = (1, 2, 4, 6, 8, 10)
"""Factors for a round top of a chart's scale. Half of each is a round number as well."""
KEPT = timedelta(seconds=60)
READS = 3
COLUMNS = ("date", "orders", "volumeUsd")


class LimitGauge(Allowance, frozen=True):
    """How much of one limit of calls in a minute, an hour or a day is used. ``used`` includes calls
    of the partner's other programs if an answer reported them. ``exceeded`` is True above the
    percentage given to the command."""

    PRINTED: ClassVar = {
        "calls": "name", "window": "window_name", "used": "used", "limit": "limit",
        "percent": "percent", "resetsAt": "resets_at", "endsAt": "ends_at",
        "exceeded": "exceeded",
    }  # fmt: skip

    rate_class: RateClass
    resets_at: datetime
    exceeded: bool = False

    @property
    def name(self) -> str:
        """The calls that are limited: ``quotes`` or ``exchanges``."""
        return NAMES[self.rate_class]

    @property
    def window_name(self) -> str:
        """The window of the limit: ``minute``, ``hour`` or ``day``."""
        return self.window.name.lower()

    @property
    def percent(self) -> int:
        """Whole percent of the limit that is used, rounded down; 100 if no call is allowed."""
        return self.used * 100 // self.limit if self.limit > 0 else 100

    @property
    def ends_at(self) -> Moment | None:
        """The time at which the limit will be used up at the current pace; the present time if it
        is used up already. None if the window ends earlier or has only just begun."""
        now = self.resets_at - timedelta(seconds=self.resets_in)
        if self.used >= self.limit:
            return now
        passed = self.window.value - self.resets_in
        if self.used == 0 or passed < _TELLING * self.window.value:
            return None
        left = (self.limit - self.used) * passed / self.used
        return now + timedelta(seconds=left) if left < self.resets_in else None


def limit_gauges(budget: Budget) -> tuple[LimitGauge, ...]:
    """Returns a gauge for each limit: minute, hour and day for quotes, then for exchanges. Empty if
    the limits are not known yet."""
    now = budget.now()
    return tuple(
        LimitGauge(
            **asdict(allowance),
            rate_class=rate_class,
            resets_at=_window_end(now, allowance.window),
        )
        for rate_class in NAMES
        for allowance in budget.of_profile(rate_class)
    )


def _window_end(now: datetime, window: Window) -> datetime:
    number = int(now.timestamp()) // window.value
    return datetime.fromtimestamp((number + 1) * window.value, UTC)


def over(gauges: tuple[LimitGauge, ...], percent: int) -> tuple[LimitGauge, ...]:
    """Returns the gauges of the limits of which more than ``percent`` percent is used."""
    return tuple(gauge for gauge in gauges if gauge.used * 100 > gauge.limit * percent)


def forecast(gauges: tuple[LimitGauge, ...]) -> str | None:
    """Returns a sentence about the limit that would make the desk wait longest; None if no limit
    will be used up."""
    ending = [(gauge, end) for gauge in gauges if (end := gauge.ends_at) is not None]
    if not ending:
        return None
    gauge, end = max(ending, key=lambda pair: pair[0].resets_at - pair[1])
    calls = f"{gauge.name} of this {gauge.window_name}"
    if gauge.used >= gauge.limit:
        return f"The {calls} are used up. The desk waits until {short_clock(gauge.resets_at)}."
    return f"At this pace the {calls} end at {short_clock(end)}. The desk then waits."


def month_of(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m}"


def stepped(month: str, by: int, now: datetime) -> str:
    """Returns the month ``by`` months after ``month``, but at most the month of ``now``."""
    year, number = map(int, month.split("-"))
    count = year * 12 + number - 1 + by
    return min(max(f"{count // 12:04}-{count % 12 + 1:02}", _EARLIEST), month_of(now))


def month_name(month: str, now: datetime) -> str:
    """Returns the name of a month, such as ``November``, with its year unless it is this year."""
    year, number = map(int, month.split("-"))
    name = calendar.month_name[number]
    return name if year == now.astimezone(UTC).year else f"{name} {year}"


def days_query(month: str, now: datetime) -> ChartQuery:
    """Returns the query for the volume of each day of a month; for the month of ``now``, up to
    today."""
    first = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    days = calendar.monthrange(first.year, first.month)[1]
    last = min(first + timedelta(days=days - 1), now)
    return ChartQuery(metric=ChartMetric.VOLUME, granularity=Granularity.DAY, from_=first, to=last)


def scale_of(values: Sequence[Decimal]) -> Decimal:
    """Returns the top of a chart's scale in dollars: the lowest round number that no value
    exceeds."""
    highest = max(values, default=Decimal(0))
    if highest <= 0:
        return Decimal(100)
    unit = Decimal(1).scaleb(highest.adjusted())
    return next(unit * top for top in _TOPS if unit * top >= highest)


def scale_labels(top: Decimal) -> tuple[str, str, str]:
    """Returns the labels of a chart's scale, in dollars, for its top, its middle and its base
    line."""
    return short_usd(top), short_usd(top / 2), "0"


def _eighths(value: Decimal, top: Decimal, rows: int) -> int:
    if value <= 0:
        return 0
    return max(1, int((value * 8 * rows / top).to_integral_value()))


def short_usd(value: Decimal) -> str:
    """Returns an amount of dollars in short form, like ``60k``, ``1.5M`` or ``0.04``."""
    for unit, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (1_000, "k")):
        if value >= unit:
            return f"{(value / unit).normalize():f}{letter}"
    return f"{value.normalize():f}"


def bar_rows(
    values: Sequence[Decimal], rows: int, *, top: Decimal | None = None, ascii_only: bool = False
) -> list[str]:
    """Returns the lines of a bar chart. A value of 0 is a dot on the base line. ``top`` is the
    value of a full bar; None derives it from ``values``."""
    top, cells = top or scale_of(values), HALVES if ascii_only else EIGHTHS
    heights = [_eighths(value, top, rows) for value in values]
    drawn = []
    for row in reversed(range(rows)):
        line = ""
        for height in heights:
            part = min(8, max(0, height - 8 * row))
            line += ("." if ascii_only else "·") if height == 0 and row == 0 else cells[part]
        drawn.append(line)
    return drawn


def text_chart(
    dates: Sequence[str],
    values: Sequence[Decimal],
    *,
    rows: int = 6,
    columns: int = 80,
    ascii_only: bool = False,
) -> list[str]:
    """Returns the lines of a chart with scale and dates. Bars that do not fit into ``columns``
    follow in further charts below, with the same scale."""
    if not dates:
        return []
    top = scale_of(values)
    labels = scale_labels(top)
    width = max(map(len, labels))
    at = {0: labels[0], rows // 2: labels[1], rows - 1: labels[2]}
    lines = []
    for first, end in _parts(len(dates), columns - width - 2):
        drawn = bar_rows(values[first:end], rows, top=top, ascii_only=ascii_only)
        lines += [
            f"{at.get(row, ''):>{width}}  {cells}".rstrip() for row, cells in enumerate(drawn)
        ]
        lines.append(" " * (width + 2) + _below(dates[first:end]))
    return lines


def _parts(bars: int, most: int) -> list[tuple[int, int]]:
    count = -(-bars // max(most, 2 * LONGEST_DATE + 2))
    ends = [bars * part // count for part in range(count + 1)]
    return list(pairwise(ends))


def _below(dates: Sequence[str]) -> str:
    first, last = dates[0], dates[-1]
    gap = max(2, len(dates) - len(first) - len(last))
    return first if len(dates) == 1 else first + " " * gap + last


def begins_late(first: str, asked: datetime) -> str | None:
    """Returns the day or month of ``asked`` if the chart begins with a different one, ``first``.
    Otherwise returns None."""
    wanted = f"{asked.astimezone(UTC):%Y-%m-%d}"[: len(first)]
    return wanted if wanted != first else None


class AccountReading(Struct, frozen=True):
    """What was read for the account page. ``days`` covers ``month`` and the month before, oldest
    first. ``weeks`` begins with the newest."""

    month: str
    read_at: datetime
    commissions: CommissionSummary
    weeks: tuple[WeeklyVolume, ...]
    days: tuple[ChartPoint, ...]

    def days_of(self, month: str) -> tuple[ChartPoint, ...]:
        return tuple(day for day in self.days if day.date.startswith(month))


class AccountReader:
    """Reads the account page of one partner, at most once a minute."""

    def __init__(self, api: PartnerApi) -> None:
        self._api = api
        self._kept: dict[str, AccountReading] = {}

    def kept(self, month: str) -> AccountReading | None:
        """Returns the last reading of a month if it is less than a minute old, otherwise None."""
        reading = self._kept.get(month)
        fresh = reading is not None and self._api.server_now() - reading.read_at < KEPT
        return reading if fresh else None

    async def read(self, month: str, *, anew: bool = False) -> AccountReading:
        """Returns the reading of a month. If a reading is less than a minute old, it is returned
        without a call, unless ``anew`` is True. Raises ClientError."""
        if not anew and (reading := self.kept(month)) is not None:
            return reading
        now = self._api.server_now()
        before = stepped(month, -1, now)
        asked = days_query(month, now)
        query = asked.model_copy(update={"from_": days_query(before, now).from_})
        commissions, weeks, days = await asyncio.gather(
            self._api.get_commissions(CommissionQuery(month=month)),
            self._api.get_weekly_volume(),
            self._api.get_chart(query),
        )
        read = AccountReading(month, now, commissions, tuple(reversed(weeks)), tuple(days))
        self._kept[month] = read
        return read


def account_export_name(reading: AccountReading) -> str:
    """Returns the name of the export file, like ``swapdesk-account-2026-11.csv``."""
    return f"swapdesk-account-{reading.month}.csv"


def account_csv(reading: AccountReading) -> str:
    """Returns CSV with one line for each day of the month: date, number of orders and volume in
    dollars."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for day in reading.days_of(reading.month):
        rows.writerow((day.date, day.count, f"{day.volume_usd:f}"))
    return written.getvalue()
