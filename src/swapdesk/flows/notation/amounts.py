"""Amounts, money, percentages and rates as text.

Received amounts are rounded down, paid amounts and fees up, and only for display. A value
that is not known is ``—``, never a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Literal

MINUS = "−"
"""U+2212, on screen only; copied values use the ASCII sign."""
NOTHING = "—"
"""Stands where there is no value."""

Side = Literal["receive", "pay"]

_DIGITS = 8
_TRACKER_PLACES = 6
_SMALLEST = Decimal("0.00000001")
# Amounts have up to 39 digits; the default context of 28 would lose some.
_WIDE = Context(prec=80)
_ROUGHLY = Context(prec=4, rounding=ROUND_FLOOR)


def exact_amount(amount: Decimal) -> str:
    """Every digit as returned, grouped left of the point: what is paid, signed or confirmed."""
    return _signed(f"{amount:,f}")


def trimmed(amount: Decimal) -> str:
    """Every digit that counts: exact, without closing zeros after the point."""
    text = exact_amount(amount)
    return text.rstrip("0").rstrip(".") if "." in text else text


def copied_amount(amount: Decimal) -> str:
    """Every digit without groups and with the ASCII sign, as another program reads it."""
    return f"{amount:f}"


def table_amount(amount: Decimal | None, side: Side = "receive") -> str:
    """Eight digits, at most eight of them after the point; whole numbers have no point.

    The part left of the point is never rounded. Below 10^-8 the text is ``<0.00000001``.
    """
    if amount is None:
        return NOTHING
    if amount == amount.to_integral_value():
        return _signed(f"{amount.quantize(Decimal(1), context=_WIDE):,f}")
    if 0 < amount < _SMALLEST:
        return f"<{_SMALLEST:f}"
    whole = int(amount.copy_abs())
    places = _DIGITS - (len(str(whole)) if whole else 0)
    return _signed(f"{_rounded(amount, max(0, min(_DIGITS, places)), side):,f}")


def counted(number: int, noun: str) -> str:
    """``1 order``, ``2 orders``, ``1,204 orders``; ``noun`` has a plural in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tracker_amount(amount: Decimal | None, side: Side = "receive") -> str:
    """As :func:`table_amount`, with at most six fraction digits and no closing zeros."""
    if amount is None:
        return NOTHING
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


def about_amount(amount: Decimal | None) -> str:
    """An estimate with four digits that count: ``≈ 0.04123``, ``≈ 12,350``; ``—`` when unknown."""
    if amount is None:
        return NOTHING
    return f"≈ {_signed(f'{_ROUGHLY.create_decimal(amount).normalize(_ROUGHLY):,f}')}"


def difference(amount: Decimal | None) -> str:
    """A signed difference: ``−0.014777``, ``+2.5``, ``0`` for none."""
    if amount is None:
        return NOTHING
    if amount == 0:
        return "0"
    unit = Decimal(1).scaleb(-_TRACKER_PLACES)
    short = amount.quantize(unit, ROUND_HALF_EVEN, context=_WIDE)
    if short == 0:
        return f"<{unit:f}"
    return _plus(short, f"{short.copy_abs():,f}")


def usd(value: Decimal | None) -> str:
    """``$48,210.00``; ``<$0.01`` for less than a cent; ``—`` when unknown."""
    if value is None:
        return NOTHING
    if 0 < value.copy_abs() < Decimal("0.01"):
        return "<$0.01"
    cents = value.quantize(Decimal("0.01"), ROUND_HALF_EVEN, context=_WIDE)
    return f"{MINUS if cents < 0 else ''}${cents.copy_abs():,f}"


def usd_market(value: Decimal | None) -> str:
    """A market figure with one decimal and K, M, B or T: ``$61.8B``."""
    if value is None:
        return NOTHING
    size = value.copy_abs()
    for unit, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        # 999,950 is one million once it has one decimal.
        if size >= Decimal(unit) * Decimal("0.99995"):
            short = (value / unit).quantize(Decimal("0.1"), ROUND_HALF_EVEN, context=_WIDE)
            return f"{MINUS if short < 0 else ''}${short.copy_abs():,f}{letter}"
    return usd(value)


def percent(value: Decimal | None) -> str:
    """A signed percentage from its value in percent: ``−0.43%``, ``<0.01%``, ``0.00%``."""
    if value is None:
        return NOTHING
    if 0 < value.copy_abs() < Decimal("0.01"):
        return "<0.01%"
    short = value.quantize(Decimal("0.01"), ROUND_HALF_EVEN, context=_WIDE)
    return "0.00%" if short == 0 else _plus(short, f"{short.copy_abs():,f}%")


def rate_both_ways(
    pay: Decimal, pay_symbol: str, get: Decimal, get_symbol: str
) -> tuple[str, str] | None:
    """The rate of one quote in both directions, or None when either amount is not above zero."""
    if pay <= 0 or get <= 0:
        return None
    forth = table_amount(_WIDE.divide(get, pay))
    back = table_amount(_WIDE.divide(pay, get))
    return f"1 {pay_symbol} ≈ {forth} {get_symbol}", f"1 {get_symbol} ≈ {back} {pay_symbol}"


def align_on_point(texts: Sequence[str]) -> list[str]:
    """Pad numbers so that their points stand in one column; all results are equally wide.

    A whole number ends where the others have their point. A text that is not a number
    (``—``, ``in price``) is put at the right edge.
    """
    parts = [split_at_point(text) for text in texts]
    left = max((len(whole) for whole, _, number in parts if number), default=0)
    right = max((len(rest) for _, rest, number in parts if number), default=0)
    width = max(left + right, max((len(text) for text in texts), default=0))
    return [
        (whole.rjust(width - right) + rest.ljust(right)) if number else text.rjust(width)
        for text, (whole, rest, number) in zip(texts, parts, strict=True)
    ]


def split_at_point(text: str) -> tuple[str, str, bool]:
    """Left of the point, the point with what follows, and whether the text is a number."""
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
