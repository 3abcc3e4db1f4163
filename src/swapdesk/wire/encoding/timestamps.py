"""Times on the wire: RFC 3339 text, read as aware UTC and limited to the range that this program
computes with.

The public service also writes Unix time, and HTTP headers contain dates in words.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

from pydantic import ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.readers import ReadBy
from swapdesk.wire.encoding.time_range import EARLIEST, http_date, within_range

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
_OFFSET = r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
_RFC3339 = re.compile(f"{_DATE}(?:{_TIME}{_OFFSET})?")


def rfc3339(dt: datetime) -> str:
    """Returns the time as ``2026-11-20T14:02:11.000Z``, truncated to milliseconds. Raises
    ValueError for a time without a zone."""
    if dt.tzinfo is None:
        raise ValueError("a time without a zone")
    moment = dt if dt.tzinfo is UTC else dt.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def parse_rfc3339(text: str) -> datetime:
    """Reads RFC 3339 or ``YYYY-MM-DD`` as UTC. Raises ValueError (contract 1.14)."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("must be a date-time like 2026-11-20T14:02:11Z")
    if text[-1] == "Z":
        try:
            # Ten times as fast, and the form is known to be no other by now.
            return datetime.fromisoformat(text)
        except ValueError:
            raise ValueError("is no time of the calendar") from None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    zone = UTC
    if offset is not None and offset not in "Zz":
        hours, minutes = int(offset[1:3]), int(offset[4:6])
        if hours > 23 or minutes > 59:
            raise ValueError("is no time of the calendar")
        delta = timedelta(hours=hours, minutes=minutes)
        zone = timezone(-delta if offset[0] == "-" else delta)
    micros = int((fraction or "").ljust(6, "0")[:6])
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            micros,
            tzinfo=zone,
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("is no time of the calendar") from None


LONGEST_WAIT = 10.0**9
"""The longest wait in seconds that :func:`retry_after` returns, so that adding it to a time cannot
overflow."""
LONGEST_HOLD = 86_400.0
"""The longest time in seconds that background work waits at a service's request: one day."""
_SECONDS = re.compile(
    r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(?:e\+?[0-9]+)?(?= *(?:s|sec|secs|second|seconds)?$)",
    re.I | re.A,
)
_NEXT_VALUE = re.compile(r"(?<!mon)(?<!tue)(?<!wed)(?<!thu)(?<!fri)(?<!sat)(?<!sun)(?<!day),", re.I)
"""Finds the commas between the values of a ``Retry-After`` header, but not the one within a
date."""


def retry_after(text: str | None, now: datetime, date: str | None = None) -> float | None:
    """Returns the seconds to wait by a ``Retry-After`` header, the longest if it has several
    values; None if it is unusable. The wait until a date counts from ``now`` (the service's time)
    or ``date`` (the ``Date`` header), whichever is earlier."""
    if not text or len(text) > 1_000:
        return None
    with suppress(ValueError):
        now = min(now, http_date(date or ""))
    # A comma may also be a decimal one: 4,2 is read as 4, as 2 and as 4.2.
    values = [*_NEXT_VALUE.split(text), text.replace(",", ".")]
    waits = [wait for value in values if (wait := _wait(value.strip(), now)) is not None]
    return max(waits, default=None)


def _wait(value: str, now: datetime) -> float | None:
    seconds = _SECONDS.match(value)
    if seconds is not None:
        return min(float(seconds[0]), LONGEST_WAIT)
    for read in (parse_rfc3339, http_date):
        try:
            return min(max(0.0, (read(value) - now).total_seconds()), LONGEST_WAIT)
        except ValueError:
            continue
    return None


def _read_time(value: object) -> datetime:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise PydanticCustomError("timestamp", "must have a time zone")
        return value.astimezone(UTC)
    if not isinstance(value, str) or isinstance(value, WireNumber):
        raise PydanticCustomError("timestamp", "must be a date-time text")
    try:
        return parse_rfc3339(value)
    except ValueError as error:
        raise PydanticCustomError("timestamp", "{reason}", {"reason": str(error)}) from None


_SCHEMA = {"type": "string", "format": "date-time"}
ASKED_TIME = ReadBy(_read_time, _SCHEMA)
"""Metadata for a time in a query, which may be outside the range of ``time_range``."""

_UNIX = re.compile(r"([1-9][0-9]{8,9})(?:\.([0-9]{1,9}))?|([1-9][0-9]{11,12})")


def _from_unix(text: str) -> datetime | None:
    """Reads Unix seconds or milliseconds. Returns None for text that is not such a number, or for a
    time before 1973."""
    match = _UNIX.fullmatch(text)
    if match is None:
        return None
    whole, fraction, millis = match.groups()
    if millis is not None:
        return EARLIEST + timedelta(milliseconds=int(millis))
    micros = int((fraction or "").ljust(6, "0")[:6])
    return EARLIEST + timedelta(seconds=int(whole), microseconds=micros)


def _read_told(value: object, info: ValidationInfo) -> datetime:
    """Reads a time in an answer. A time out of range becomes the nearest allowed time, so that the
    order can still be shown."""
    if _is_client(info) and isinstance(value, str):
        unix = _from_unix(value)
        value = value if unix is None else unix
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = within_range(value)
    return within_range(_read_time(value))


def _is_client(info: ValidationInfo) -> bool:
    return info.context is not None and info.context["side"] == "client"


def _none_if_unreadable(
    value: object, read: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> datetime | None:
    try:
        moment: datetime | None = read(value)
    except ValueError:
        if _is_client(info):
            return None
        raise
    return moment


Timestamp = Annotated[datetime, ReadBy(_read_told, _SCHEMA, with_context=True)]
"""A time of an answer or a body, as aware UTC within the range of ``time_range``."""

OptionalTime = Annotated[Timestamp | None, WrapValidator(_none_if_unreadable)]
"""A time that may be absent. For a client, an unreadable time is None, so that one bad row does not
spoil a list."""
