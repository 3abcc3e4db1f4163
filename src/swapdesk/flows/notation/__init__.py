"""How the desk writes numbers, times and addresses, on the screen and in commands.

The functions take and return plain values and texts, without colours, widgets or locale. Amounts
are exact ``Decimal`` values. Only texts to be shown are rounded, never a value that is stored or
copied.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import wraps
from typing import Annotated, Concatenate, Literal, ParamSpec

from msgspec import Meta, Struct

from swapdesk.chain.addresses.display import differing_groups, wrapped_address
from swapdesk.chain.addresses.display import grouped as grouped_address
from swapdesk.chain.addresses.display import groups as address_groups
from swapdesk.chain.addresses.display import short as _short_address
from swapdesk.chain.addresses.display import ungrouped as ungrouped_address
from swapdesk.clock import IsoTime, iso

__all__ = [
    "IsoTime",
    "address_groups",
    "differing_groups",
    "grouped_address",
    "iso",
    "ungrouped_address",
    "wrapped_address",
]

MINUS = "−"
"""The minus sign U+2212, for shown texts. Texts to be copied use the ASCII hyphen."""
NOTHING = "—"
"""The text that is shown if there is no value."""

MASK = re.compile(r"[a-z]+-\d{1,4}", re.ASCII)
"""Matches the placeholder that replaces an address in a support file, such as ``address-2``."""

Side = Literal["receive", "pay"]

_DIGITS = 8
_TRACKER_PLACES = 6
_SMALLEST = Decimal("0.00000001")
# Amounts have up to 39 digits; the default context of 28 would lose some.
_WIDE = Context(prec=80)
_ROUGHLY = Context(prec=4, rounding=ROUND_FLOOR)

EXPIRED = "expired"
_WRITTEN = re.compile(r"(\d{1,4})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def capital(text: str) -> str:
    """Returns the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


_P = ParamSpec("_P")


def _or_nothing(
    write: Callable[Concatenate[Decimal, _P], str],
) -> Callable[Concatenate[Decimal | None, _P], str]:

    @wraps(write)
    def written(value: Decimal | None, /, *args: _P.args, **options: _P.kwargs) -> str:
        return NOTHING if value is None else write(value, *args, **options)

    return written


def short_address(address: str) -> str:
    """Returns the ends of an address, ``0x 71C7 …976F``. A support file's placeholder stays
    unchanged."""
    return address if MASK.fullmatch(address) else _short_address(address)


def exact_amount(amount: Decimal) -> str:
    """Returns every digit with thousands separators, for amounts that are paid in, signed or
    confirmed."""
    return _signed(f"{amount:,f}")


def copied_amount(amount: Decimal) -> str:
    """Returns every digit in a form that other programs read."""
    return f"{amount:f}"


def trimmed(amount: Decimal) -> str:
    """Returns the text of :func:`exact_amount` without trailing zeros after the point."""
    text = exact_amount(amount)
    return text.rstrip("0").rstrip(".") if "." in text else text


@_or_nothing
def table_amount(amount: Decimal, side: Side = "receive") -> str:
    """Returns the amount in eight digits, with the whole part never rounded. Amounts to pay
    (``side`` is ``pay``) are rounded up, others down."""
    if amount == amount.to_integral_value():
        return _signed(f"{amount.quantize(Decimal(1), context=_WIDE):,f}")
    if 0 < amount < _SMALLEST:
        return f"<{_SMALLEST:f}"
    whole = int(amount.copy_abs())
    places = _DIGITS - (len(str(whole)) if whole else 0)
    return in_places(amount, max(0, min(_DIGITS, places)), side)


def in_places(amount: Decimal, places: int, side: Side = "receive") -> str:
    """Returns the amount with ``places`` decimals: rounded up if ``side`` is ``pay``, otherwise
    down."""
    return _signed(f"{_rounded(amount, places, side):,f}")


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 order``, ``1,204 orders``. ``noun`` is the singular."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@_or_nothing
def tracker_amount(amount: Decimal, side: Side = "receive") -> str:
    """Returns the amount like :func:`table_amount`, but with at most six decimals and without
    trailing zeros."""
    text = table_amount(amount, side)
    if "." not in text or text.startswith("<"):
        return text
    whole = int(amount.copy_abs())
    places = min(_TRACKER_PLACES, max(0, _DIGITS - (len(str(whole)) if whole else 0)))
    shorter = _rounded(amount, places, side)
    if shorter == 0:
        return f"<{Decimal(1).scaleb(-places):f}"
    text = f"{shorter:,f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


@_or_nothing
def about_amount(amount: Decimal) -> str:
    """Returns an estimate, cut to four significant digits: ``≈ 0.04123``, ``≈ 12,350``."""
    return f"≈ {_signed(f'{_ROUGHLY.create_decimal(amount).normalize(_ROUGHLY):,f}')}"


@_or_nothing
def difference(amount: Decimal) -> str:
    """Returns a difference with its sign and six decimals, such as ``−0.014777``; ``<0.000001`` if
    it rounds to zero."""
    if amount == 0:
        return "0"
    unit = Decimal(1).scaleb(-_TRACKER_PLACES)
    short = amount.quantize(unit, ROUND_HALF_EVEN, context=_WIDE)
    if short == 0:
        return f"<{unit:f}"
    return _plus(short, f"{short.copy_abs():,f}")


@_or_nothing
def usd(value: Decimal) -> str:
    """Returns an amount in US dollars: ``$48,210.00``; ``<$0.01`` for an amount between 0 and one
    cent."""
    if 0 < value.copy_abs() < Decimal("0.01"):
        return "<$0.01"
    cents = value.quantize(Decimal("0.01"), ROUND_HALF_EVEN, context=_WIDE)
    return f"{MINUS if cents < 0 else ''}${cents.copy_abs():,f}"


@_or_nothing
def usd_market(value: Decimal) -> str:
    """Returns an amount in US dollars in short form, such as ``$61.8B``; below 1,000 in the form of
    :func:`usd`."""
    size = value.copy_abs()
    for unit, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        # 999,950 is one million once it has one decimal.
        if size >= Decimal(unit) * Decimal("0.99995"):
            short = (value / unit).quantize(Decimal("0.1"), ROUND_HALF_EVEN, context=_WIDE)
            return f"{MINUS if short < 0 else ''}${short.copy_abs():,f}{letter}"
    return usd(value)


@_or_nothing
def percent(value: Decimal) -> str:
    """Returns a percentage with its sign, such as ``−0.43%``. A ``value`` of 1 is one percent."""
    if 0 < value.copy_abs() < Decimal("0.01"):
        return "<0.01%"
    short = value.quantize(Decimal("0.01"), ROUND_HALF_EVEN, context=_WIDE)
    return "0.00%" if short == 0 else _plus(short, f"{short.copy_abs():,f}%")


def rate_both_ways(
    pay: Decimal, pay_symbol: str, get: Decimal, get_symbol: str
) -> tuple[str, str] | None:
    """Returns a quote's rate in both directions, such as ``1 BTC ≈ 20 ETH``; None unless both
    amounts are above zero."""
    if pay <= 0 or get <= 0:
        return None
    forth = table_amount(_WIDE.divide(get, pay))
    back = table_amount(_WIDE.divide(pay, get))
    return f"1 {pay_symbol} ≈ {forth} {get_symbol}", f"1 {get_symbol} ≈ {back} {pay_symbol}"


def align_on_point(texts: Sequence[str]) -> list[str]:
    """Returns the texts padded so that their decimal points align. Texts that are no numbers align
    right."""
    parts = [split_at_point(text) for text in texts]
    left = max((len(whole) for whole, _, number in parts if number), default=0)
    right = max((len(rest) for _, rest, number in parts if number), default=0)
    width = max(left + right, max((len(text) for text in texts), default=0))
    return [
        (whole.rjust(width - right) + rest.ljust(right)) if number else text.rjust(width)
        for text, (whole, rest, number) in zip(texts, parts, strict=True)
    ]


def split_at_point(text: str) -> tuple[str, str, bool]:
    """Returns the text before the decimal point, the rest, and whether the text contains a digit.
    If it does not, the first value is the whole text."""
    if not any(char.isdigit() for char in text):
        return text, "", False
    whole, point, rest = text.partition(".")
    return whole, point + rest, True


def _rounded(amount: Decimal, places: int, side: Side) -> Decimal:
    mode = ROUND_FLOOR if side == "receive" else ROUND_CEILING
    return amount.quantize(Decimal(1).scaleb(-places), mode, context=_WIDE)


def _signed(text: str) -> str:
    return MINUS + text[1:] if text.startswith("-") else text


def _plus(value: Decimal, size: str) -> str:
    return (MINUS if value < 0 else "+") + size


class Elapsed(Struct, frozen=True):
    """The time that something has taken, beside the expected time. ``short`` is a text for a narrow
    column; ``late`` means overdue."""

    text: str
    short: str
    late: bool


def duration(seconds: float) -> str:
    """Returns a duration in its one or two largest units, rounded: ``40s``, ``14m``, ``1h05m``,
    ``2d03h``."""
    whole = max(0, round(seconds))
    if whole >= 60:
        whole = round(whole / 60) * 60
    if whole >= 86400:
        whole = round(whole / 3600) * 3600
    return _floored(whole)


def written_seconds(text: str) -> int | None:
    """Returns the seconds in ``40s``, ``30m``, ``1h`` or ``2d``; None for other text."""
    match = _WRITTEN.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] if match is not None else None


def expected(seconds: float | None) -> str:
    """Returns an expected duration with a tilde: ``~14m``; ``—`` for None."""
    return NOTHING if seconds is None else f"~{duration(seconds)}"


def expected_minutes(minutes: Decimal | float | None) -> str:
    """Returns an expected duration, ``~14m``; ``—`` for None (contract 6.7, 8.17)."""
    return expected(None if minutes is None else float(minutes) * 60)


def elapsed(seconds: float, expected_seconds: float | None = None) -> Elapsed:
    """Returns the time passed beside the expected time, such as ``19m of ~27m``. After the expected
    time, returns only the excess, such as ``27m over``."""
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
    """Returns the time left: ``m:ss``, from an hour on ``1h05m``, and at the end ``expired``."""
    if seconds <= 0:
        return EXPIRED
    whole = math.ceil(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def age(seconds: float) -> str:
    """Returns an age in its largest whole unit, rounded down: ``2s``, ``41m``, ``3h``, ``2d``."""
    whole = max(0, int(seconds))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def clock_time(moment: datetime, *, zone: bool = False) -> str:
    """Returns the time of day in UTC, ``14:02:11``; followed by `` UTC`` if ``zone`` is True."""
    return f"{_utc(moment):%H:%M:%S}" + (" UTC" if zone else "")


def short_clock(moment: datetime) -> str:
    """Returns the time of day in UTC without seconds, ``14:36``."""
    return f"{_utc(moment):%H:%M}"


def date(moment: datetime, now: datetime) -> str:
    """Returns the UTC date, ``Mon 17 Nov``, with the year if it differs from that of ``now``."""
    there = _utc(moment)
    text = f"{_DAYS[there.weekday()]} {there.day} {_MONTHS[there.month - 1]}"
    return text if there.year == _utc(now).year else f"{text} {there.year}"


def as_of(moment: datetime, now: datetime) -> str:
    """Returns the UTC time at which a value was read, with the date unless it is the day of
    ``now``."""
    there = _utc(moment)
    if there.date() == _utc(now).date():
        return short_clock(there)
    year = "" if there.year == _utc(now).year else f" {there.year}"
    return f"{there.day} {_MONTHS[there.month - 1]}{year} {short_clock(there)}"


def day(moment: datetime, now: datetime) -> str:
    """Returns the day in UTC, seen from ``now``: ``today 11:20``, ``yesterday``, or the date."""
    days = (_utc(now).date() - _utc(moment).date()).days
    if days == 0:
        return f"today {short_clock(moment)}"
    return "yesterday" if days == 1 else date(moment, now)


Moment = Annotated[datetime, Meta(tz=True)]
"""A time with a time zone, as a field of a JSON document."""


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
