"""Volume by day: the months it is asked for, a round scale, and bars that a terminal can draw.

A month is a text as ``2026-11``, in UTC.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from msgspec import Struct

from swapdesk.wire.account import ChartMetric, ChartQuery, Granularity

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")

_EARLIEST = "1970-01"
LONGEST_DATE = len("2026-11-01")


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


EIGHTHS = " ▁▂▃▄▅▆▇█"
HALVES = " ____####"
"""The same in ASCII: a cell is empty, low or full."""

_TOPS = (1, 2, 4, 6, 8, 10)
"""Ends of a scale whose half is as round as they are."""


class Scale(Struct, frozen=True):
    """``top`` is where the highest bar may reach, in dollars."""

    top: Decimal

    @property
    def labels(self) -> tuple[str, str, str]:
        """Of the top, the middle and the base line."""
        return short_usd(self.top), short_usd(self.top / 2), "0"

    def eighths(self, value: Decimal, rows: int) -> int:
        """The height of a bar in eighths of a row; whatever is above 0 shows."""
        if value <= 0:
            return 0
        return max(1, int((value * 8 * rows / self.top).to_integral_value()))


def scale_of(values: Sequence[Decimal]) -> Scale:
    """The lowest round scale that holds all of them."""
    highest = max(values, default=Decimal(0))
    if highest <= 0:
        return Scale(Decimal(100))
    unit = Decimal(1).scaleb(highest.adjusted())
    return Scale(next(unit * top for top in _TOPS if unit * top >= highest))


def short_usd(value: Decimal) -> str:
    """``60k``, ``1.5M``, ``0.04``."""
    for unit, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (1_000, "k")):
        if value >= unit:
            return f"{(value / unit).normalize():f}{letter}"
    return f"{value.normalize():f}"


def bar_rows(
    values: Sequence[Decimal], rows: int, *, scale: Scale | None = None, ascii_only: bool = False
) -> list[str]:
    """One character a bar, the highest row first. A value of 0 is a dot on the base line."""
    scale, cells = scale or scale_of(values), HALVES if ascii_only else EIGHTHS
    heights = [scale.eighths(value, rows) for value in values]
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
    """Lines of a chart with its scale at the left, and the first and the last date below. More bars
    than ``columns`` hold follow below it, on the same scale."""
    if not dates:
        return []
    scale = scale_of(values)
    labels = scale.labels
    width = max(map(len, labels))
    at = {0: labels[0], rows // 2: labels[1], rows - 1: labels[2]}
    lines = []
    for first, end in _parts(len(dates), columns - width - 2):
        drawn = bar_rows(values[first:end], rows, scale=scale, ascii_only=ascii_only)
        lines += [
            f"{at.get(row, ''):>{width}}  {cells}".rstrip() for row, cells in enumerate(drawn)
        ]
        lines.append(" " * (width + 2) + _below(dates[first:end]))
    return lines


def _parts(bars: int, most: int) -> list[tuple[int, int]]:
    """Ranges of bars, as alike as can be. Two dates always fit below."""
    count = -(-bars // max(most, 2 * LONGEST_DATE + 2))
    ends = [bars * part // count for part in range(count + 1)]
    return list(pairwise(ends))


def _below(dates: Sequence[str]) -> str:
    first, last = dates[0], dates[-1]
    gap = max(2, len(dates) - len(first) - len(last))
    return first if len(dates) == 1 else first + " " * gap + last


def begins_late(first: str, asked: datetime) -> str | None:
    """The day or month that was asked for where a chart begins at another one, ``first``."""
    wanted = f"{asked.astimezone(UTC):%Y-%m-%d}"[: len(first)]
    return wanted if wanted != first else None
