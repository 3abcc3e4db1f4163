"""Durations, countdowns, ages and dates as text. Durations are seconds; moments are aware UTC."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct

EXPIRED = "expired"
_WRITTEN = re.compile(r"(\d{1,4})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Elapsed(Struct, frozen=True):
    """Time passed against time expected; ``late`` asks for the trouble colour."""

    text: str
    short: str
    late: bool


def duration(seconds: float) -> str:
    """``40s``, ``14m``, ``1h05m``, ``2d03h``; rounded to the nearest unit shown."""
    whole = max(0, round(seconds))
    if whole >= 60:
        whole = round(whole / 60) * 60
    if whole >= 86400:
        whole = round(whole / 3600) * 3600
    return _floored(whole)


def written_seconds(text: str) -> int | None:
    """Seconds of ``40s``, ``30m``, ``1h`` or ``2d`` as a person writes it; None for anything
    else."""
    found = _WRITTEN.fullmatch(text)
    return int(found[1]) * _SECONDS[found[2]] if found is not None else None


def expected(seconds: float | None) -> str:
    """An expected duration: ``~14m``; ``—`` when nothing is promised."""
    return "—" if seconds is None else f"~{duration(seconds)}"


def expected_minutes(minutes: Decimal | float | None) -> str:
    """As :func:`expected`, from the minutes of the wire (contract 6.7, 8.17)."""
    return expected(None if minutes is None else float(minutes) * 60)


def elapsed(seconds: float, expected_seconds: float | None = None) -> Elapsed:
    """``19m of ~27m``, ``27m over`` when late, only the time passed when nothing is expected."""
    passed = _floored(seconds)
    if expected_seconds is None:
        return Elapsed(passed, passed, late=False)
    over = seconds - expected_seconds
    if over > 0:
        text = f"{_floored(over)} over"
        return Elapsed(text, text, late=True)
    promised = duration(expected_seconds)
    return Elapsed(f"{passed} of ~{promised}", f"{passed}/{promised}", late=False)


def countdown(seconds: float) -> str:
    """``m:ss`` below an hour, ``1h05m`` above, ``expired`` from zero on."""
    if seconds <= 0:
        return EXPIRED
    whole = math.ceil(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def age(seconds: float) -> str:
    """The largest whole unit: ``2s``, ``41m``, ``3h``, ``2d``."""
    whole = max(0, int(seconds))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def clock_time(moment: datetime, *, zone: bool = False) -> str:
    """``14:02:11``, with `` UTC`` where a screen names its zone."""
    return f"{_utc(moment):%H:%M:%S}" + (" UTC" if zone else "")


def short_clock(moment: datetime) -> str:
    """``14:36``."""
    return f"{_utc(moment):%H:%M}"


def date(moment: datetime, now: datetime) -> str:
    """``Mon 17 Nov``, with the year when it is not this one."""
    there = _utc(moment)
    text = f"{_DAYS[there.weekday()]} {there.day} {_MONTHS[there.month - 1]}"
    return text if there.year == _utc(now).year else f"{text} {there.year}"


def as_of(moment: datetime, now: datetime) -> str:
    """``06:44``, ``24 Nov 06:44``: when something was true that may not be any more."""
    there = _utc(moment)
    if there.date() == _utc(now).date():
        return short_clock(there)
    year = "" if there.year == _utc(now).year else f" {there.year}"
    return f"{there.day} {_MONTHS[there.month - 1]}{year} {short_clock(there)}"


def day(moment: datetime, now: datetime) -> str:
    """``today 11:20``, ``yesterday``, else the date."""
    days = (_utc(now).date() - _utc(moment).date()).days
    if days == 0:
        return f"today {short_clock(moment)}"
    return "yesterday" if days == 1 else date(moment, now)


Moment = Annotated[datetime, Meta(tz=True)]
"""An aware time, as documents hold it."""


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _floored(seconds: float) -> str:
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"
