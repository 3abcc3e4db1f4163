"""Months of the calendar, as commissions are asked for (``YYYY-MM``, UTC)."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta

from swapdesk.wire.account import ChartMetric, ChartQuery, Granularity

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")

_EARLIEST = "1970-01"


def month_of(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m}"


def stepped(month: str, by: int, now: datetime) -> str:
    """So many months later, or earlier; never after the one of ``now``."""
    year, number = map(int, month.split("-"))
    count = year * 12 + number - 1 + by
    return min(max(f"{count // 12:04}-{count % 12 + 1:02}", _EARLIEST), month_of(now))


def month_name(month: str, now: datetime) -> str:
    """``November``, with the year when it is not this one."""
    year, number = map(int, month.split("-"))
    name = calendar.month_name[number]
    return name if year == now.astimezone(UTC).year else f"{name} {year}"


def days_query(month: str, now: datetime) -> ChartQuery:
    """The days of a month, of this one those up to today."""
    first = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    days = calendar.monthrange(first.year, first.month)[1]
    last = min(first + timedelta(days=days - 1), now)
    return ChartQuery(metric=ChartMetric.VOLUME, granularity=Granularity.DAY, from_=first, to=last)
