"""Exact amounts: the digits of a JSON number become a Decimal and are written back as the same
digits.

An amount is never a float. Bounds are checked before any arithmetic, because converting
``1e999999`` to an integer takes half a minute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
)
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from msgspec import Struct

from swapdesk.wire.encoding.readers import ReadBy, character_in_words, refusal

T = TypeVar("T")

TOKEN_LIMIT = 90
MAGNITUDE_LIMIT = 40
SCALE_LIMIT = 40
INTEGER_LIMIT = 2**53

_TOKEN = re.compile(r"-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_INTEGER_TOKEN = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")

MONEY = Context(prec=80, traps=[Inexact, InvalidOperation, Overflow, DivisionByZero])
"""Decimal context for exact arithmetic: a result that does not fit is an error, never rounded."""

ROUGH = Context(prec=60, traps=[InvalidOperation, Overflow, DivisionByZero])
"""Decimal context for divisions, rates and shares: 60 digits, rounded half to even."""

_WIDE = Context(prec=200, traps=[InvalidOperation, Overflow, DivisionByZero])


class NumberError(ValueError):
    """Raised for a number that is out of bounds or not in a form that the API allows."""


class WireNumber(str):
    """The exact text of one JSON number token."""

    __slots__ = ()


class FarNumber(Struct, frozen=True):
    """The exact text of a JSON number that is too large for the wire. No field accepts it: a client
    can tolerate such a number only in members that it does not read."""

    text: str


def holds_far(value: object) -> bool:
    """Returns True if a decoded value contains a :class:`FarNumber`, at any depth."""
    if isinstance(value, dict):
        return any(map(holds_far, value.values()))
    return any(map(holds_far, value)) if isinstance(value, list) else isinstance(value, FarNumber)


def refuse_far(value: T) -> T:
    """Returns the value unchanged. Raises a validation error if it contains a :class:`FarNumber`.
    Meant for values that are stored without being read and used later."""
    if holds_far(value):
        raise refusal("number", "holds a number outside the accepted form")
    return value


def number_token(text: str) -> WireNumber:
    """Returns a JSON number token as a WireNumber. Raises NumberError if it is too long or too
    large."""
    if len(text) > TOKEN_LIMIT:
        raise NumberError(f"a number of {len(text)} characters")
    if _TOKEN.fullmatch(text) is None:
        raise NumberError("a number outside the accepted form")
    return WireNumber(text)


def bounded(amount: Decimal) -> Decimal:
    """Returns ``amount``. Raises NumberError unless it is finite and within 40 digits on each side
    of the point."""
    if not amount.is_finite():
        raise NumberError("must be a finite number")
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent > SCALE_LIMIT:
        raise NumberError(f"must have at most {SCALE_LIMIT} decimals")
    if not -MAGNITUDE_LIMIT <= amount.adjusted() <= MAGNITUDE_LIMIT:
        raise NumberError("is too large or too small")
    return amount


def _amount_of(value: object, *, text_allowed: bool) -> Decimal:
    if isinstance(value, WireNumber):
        # Without an exponent the grammar of a token is the bound.
        amount = Decimal(value)
        return bounded(amount) if "e" in value or "E" in value else amount
    if isinstance(value, (Decimal, int)) and not isinstance(value, bool):
        return bounded(Decimal(value))
    if text_allowed and isinstance(value, str):
        # Some servers quote their amounts; the grammar is that of a JSON number.
        return bounded(Decimal(number_token(value)))
    raise NumberError("must be a number")


def _integer_of(value: object, *, decimal_allowed: bool) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, WireNumber) and _INTEGER_TOKEN.fullmatch(value):
        number = int(value)
    elif decimal_allowed and isinstance(value, (WireNumber, Decimal)):
        amount = bounded(Decimal(value))
        if amount != amount.to_integral_value():
            raise NumberError("must be an integer")
        number = int(amount)
    else:
        raise NumberError("must be an integer")
    if abs(number) >= INTEGER_LIMIT:
        raise NumberError("must be an integer below 2^53")
    return number


def number_by(read: Callable[[object], Any], json_type: str) -> ReadBy:
    """Returns metadata for ``Annotated`` that makes pydantic read a number with the function
    ``read``. ``json_type`` is the number's type in the JSON schema."""

    def validate(value: object) -> Any:
        try:
            return read(value)
        except NumberError as error:
            raise refusal("number", "{reason}", reason=str(error)) from None

    return ReadBy(validate, {"type": json_type})


Amount = Annotated[Decimal, number_by(lambda v: _amount_of(v, text_allowed=True), "number")]
"""A number in a service's answer, as a JSON number or a text. Trailing zeros are kept."""

NO_BOUND = Decimal(2**53 - 1)
"""The largest integer that a double stores exactly; some services send it for "no upper bound"."""


def _ceiling_of(value: object) -> Decimal | None:
    # 1.8e308 is out of the bounds of an amount, and only one more way to say "no bound".
    far = isinstance(value, str) and _TOKEN.fullmatch(value) and Decimal(value) >= NO_BOUND
    amount = NO_BOUND if far else _amount_of(value, text_allowed=True)
    return amount if 0 < amount < NO_BOUND else None


Ceiling = Annotated[Decimal, number_by(_ceiling_of, "number")] | None
"""The largest accepted amount. "No bound" (0, or at least ``NO_BOUND``) becomes None, so that
nothing is compared with it (contract 6.2)."""

BodyNumber = Annotated[Decimal, number_by(lambda v: _amount_of(v, text_allowed=False), "number")]
"""A number in a request body: a JSON number, never a text."""

WireInteger = Annotated[int, number_by(lambda v: _integer_of(v, decimal_allowed=True), "integer")]
"""An integer in an answer of a service, below 2^53; ``18.0`` is read as 18."""

BodyInteger = Annotated[int, number_by(lambda v: _integer_of(v, decimal_allowed=False), "integer")]
"""An integer in a request body, below 2^53, without point or exponent."""


def plain(d: Decimal) -> str:
    """Returns the number with all its digits, never in scientific notation. Trailing zeros are
    kept."""
    text = str(d)
    if len(text) <= SCALE_LIMIT and "E" not in text and d.is_finite():
        return text
    return format(bounded(d), "f")


@dataclass(slots=True)
class AmountError(ValueError):
    """Raised if a typed amount is refused. ``code`` names the reason, ``message`` is the text to
    show, and ``position`` is the 0-based position of the fault."""

    code: str
    message: str
    position: int

    def __str__(self) -> str:
        return self.message


_UNREADABLE = 'A comma is not part of an amount. Write "1.5".'


def _comma(text: str) -> AmountError:
    """Returns the error for a comma in a typed amount. The desk does not guess the amount, because
    a wrong guess can be off by a factor of 1000."""
    position = text.index(",")
    whole = text.replace(",", "")
    point = text.replace(",", ".")
    if len(text) > 60:
        return AmountError("comma", _UNREADABLE, position)
    if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+", text):
        advice = text.replace(".", "").replace(",", ".")
    elif text.rfind(",") > text.find(".") >= 0 or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", whole):
        return AmountError("comma", _UNREADABLE, position)
    elif text.count(",") > 1 or "." in text:
        advice = whole
    elif re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", text):
        advice = f"{point} or {whole}"  # 1,000 is one or a thousand: not ours to guess
    else:
        advice = point if point[0] != "." else "0" + point
    return AmountError("comma", f'"{text}": write {advice}.', position)


_GROUPED = re.compile(
    r"[0-9]{1,3}(?:([ \u00a0\u2009\u202f'\u2019])[0-9]{3}(?:\1[0-9]{3})*)(\.[0-9]+)?"
)
"""Matches digits in groups of three, separated by blanks or apostrophes, which are never a decimal
point."""


def _stranger(text: str, ch: str, position: int) -> AmountError:
    shown = f'"{ch}"' if ch.isprintable() and ch != " " else character_in_words(ch)
    message = f"{shown[:1].upper()}{shown[1:]} is not part of an amount"
    if len(text) <= 60 and _GROUPED.fullmatch(text):
        message += f": write {text.replace(ch, '')}"
    return AmountError("character", f"{message}.", position)


def parse_amount(text: str, *, decimals: int | None = None, symbol: str = "This token") -> Decimal:
    """Returns the amount that a person typed (contract 1.11). Raises AmountError, also for more
    than ``decimals`` digits after the point; None means no limit."""
    if not text:
        raise AmountError("empty", "Type an amount.", 0)
    if text[0] in "+-":
        raise AmountError("sign", "An amount has no sign.", 0)
    for position, ch in enumerate(text):
        if ch == ",":
            raise _comma(text)
        if ch in "eE" and position and text[position - 1] in "0123456789.":
            raise AmountError("exponent", "Write all digits, without an exponent.", position)
        if ch not in "0123456789.":
            raise _stranger(text, ch, position)
    whole, point, fraction = text.partition(".")
    if "." in fraction:
        second = len(whole) + 1 + fraction.index(".")
        raise AmountError("character", "An amount has one point.", second)
    if not whole:
        raise AmountError("character", "Write a digit before the point.", 0)
    if point and not fraction:
        raise AmountError("character", "Write a digit after the point.", len(whole))
    if len(whole) > 1 and whole[0] == "0":
        raise AmountError("leading_zero", "An amount does not begin with 0 and a digit.", 0)
    if len(whole) > MAGNITUDE_LIMIT or len(fraction) > SCALE_LIMIT:
        position = MAGNITUDE_LIMIT if len(whole) > MAGNITUDE_LIMIT else len(whole) + 1 + SCALE_LIMIT
        message = f"An amount has at most {MAGNITUDE_LIMIT} digits on each side of the point."
        raise AmountError("too_long", message, position)
    if decimals is not None and len(fraction) > decimals:
        message = f"{symbol} has {decimals} decimals. {text} has {len(fraction)}."
        raise AmountError("too_many_decimals", message, len(whole) + 1 + decimals)
    return Decimal(text)


def to_base_units(amount: Decimal, decimals: int) -> int:
    """Returns the amount in the token's smallest units. Raises NumberError if it has more than
    ``decimals`` digits after the point."""
    scaled = _WIDE.scaleb(bounded(amount), decimals)
    if scaled != scaled.to_integral_value(context=_WIDE):
        raise NumberError(f"{plain(amount)} has more than {decimals} decimals")
    return int(scaled)


def from_base_units(units: int, decimals: int) -> Decimal:
    """Converts smallest units into whole tokens, with exactly ``decimals`` digits after the
    point."""
    return _WIDE.scaleb(Decimal(units), -decimals)


def quantize(amount: Decimal, decimals: int, *, up: bool) -> Decimal:
    """Rounds to ``decimals`` digits after the point: up if ``up`` is True (amounts to pay),
    otherwise down (amounts to receive). Raises NumberError if the amount is far out of range."""
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    if not amount.is_finite() or abs(amount.adjusted()) > 2 * MAGNITUDE_LIMIT:
        raise NumberError("is too large or too small")
    return amount.quantize(_unit(decimals), rounding=rounding, context=_WIDE)


@lru_cache(64)
def _unit(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def short(amount: Decimal) -> Decimal:
    """Returns the same number without trailing zeros after the point, and without an exponent."""
    cut = amount.normalize(_WIDE)
    return cut.quantize(Decimal(1), context=_WIDE) if int(cut.as_tuple().exponent) > 0 else cut


def as_double(d: Decimal) -> Decimal:
    """Returns the amount that a server returns if it has stored ``d`` as a double."""
    return Decimal(repr(float(bounded(d))))


def survives_double(d: Decimal) -> bool:
    """Returns True if the amount is unchanged after a server has stored it as a floating-point
    double."""
    return as_double(d) == d
