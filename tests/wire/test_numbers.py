"""Exact amounts: no digit is lost between the bytes, the Decimal and the bytes again."""

from __future__ import annotations

import random
import time
from decimal import Decimal, Inexact
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from corpus import Case, load
from rows import each_row
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode, decode_json, encode_json
from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.encoding.numbers import (
    MONEY,
    ROUGH,
    Amount,
    AmountError,
    BodyInteger,
    BodyNumber,
    NumberError,
    WireInteger,
    WireNumber,
    as_double,
    from_base_units,
    number_token,
    parse_amount,
    plain,
    quantize,
    short,
    survives_double,
    to_base_units,
)


class Priced(BaseModel):
    amountOut: Amount  # noqa: N815


class Asked(BaseModel):
    amountOut: BodyNumber  # noqa: N815


def read(token: str, model: type[Any] = Priced) -> Decimal:
    data = b'{"amountOut": %s}' % token.encode()
    amount: Decimal = decode(model, data, side="client").amountOut
    return amount


digits = st.text("0123456789", min_size=1, max_size=40)
whole_part = digits.map(lambda text: text.lstrip("0") or "0")
tokens = st.builds(
    lambda sign, whole, fraction: sign + whole + ("." + fraction if fraction else ""),
    st.sampled_from(["", "-"]),
    whole_part,
    st.one_of(st.just(""), digits),
)
amounts = st.decimals(-(10**20), 10**20, places=18, allow_nan=False, allow_infinity=False)


@given(tokens)
def test_wire_text_comes_back_digit_for_digit(token: str) -> None:
    amount = read(token)
    assert str(amount.copy_abs()) in (token.lstrip("-"), format(amount.copy_abs(), "E"))
    assert encode_json({"amountOut": amount}) == f'{{"amountOut":{token}}}'.encode()
    assert encode_json(decode_json(f"[{token}]".encode())) == f"[{token}]".encode()


def test_two_hundred_thousand_amounts_keep_every_digit() -> None:
    rng = random.Random(7)
    written = [f"{rng.randrange(10**9)}.{rng.randrange(10**18):018d}" for _ in range(200_000)]
    data = f"[{','.join(written)}]".encode()
    values = decode_json(data, max_bytes=8 << 20)
    assert [plain(Decimal(value)) for value in values] == written


# Each token of the table of measured traps, with what this desk makes of it.
TRAPS: list[tuple[str, str | None]] = [
    ("1.123456789012345678", "1.123456789012345678"),
    ("123456789.123456789012345678", "123456789.123456789012345678"),
    ("1.50", "1.50"),
    ("1e400", None),
    ("1e-999999", None),
    ("NaN", None),
    ("Infinity", None),
    ("-Infinity", None),
    ('"NaN"', None),
    ('" 1.5 "', None),
    ('"1_000"', None),
    ('"١٢"', None),
    ("true", None),
    ("9" * 5000, None),
    ("1e-7", "0.0000001"),
]


@each_row(("token", "kept"), TRAPS, ids=lambda value: str(value)[:24])
def test_measured_number_traps(token: str, kept: str | None) -> None:
    if kept is None:
        with pytest.raises(CodecError):
            read(token)
    else:
        assert plain(read(token)) == kept


@each_row("case", [c for c in load("json") if "amountOut" in c.text], ids=lambda case: case.id)
def test_hostile_amounts_of_the_corpus(case: Case) -> None:
    data = case.text.encode()
    if case.expect.get("amount", "refused") == "refused":
        with pytest.raises(CodecError) as caught:
            decode(Priced, data, side="client")
        # A number of any size may stand in an answer; it is the field that takes none such.
        refused = case.expect.get("codec", "shape")
        far = refused == "number" and "NaN" not in case.text
        assert caught.value.code == ("shape" if far else refused)
    else:
        assert plain(decode(Priced, data, side="client").amountOut) == case.expect["amount"]


@each_row("token", ["1e999999", "1e-999999", "1e999", "1e41", "1e-41", "9" * 91])
def test_a_decimal_bomb_is_answered_at_once(token: str) -> None:
    started = time.thread_time()
    with pytest.raises(CodecError):
        read(token)
    for amount in (Decimal("1e999999"), Decimal("1e-999999"), Decimal("NaN"), Decimal("inf")):
        for work in (
            lambda d: to_base_units(d, 18),
            plain,
            as_double,
            lambda d: quantize(d, 6, up=True),
            lambda d: encode_json([d]),
        ):
            with pytest.raises(NumberError):
                work(amount)
    assert time.thread_time() - started < 1.0


def test_text_amounts_are_read_in_answers_and_refused_in_bodies() -> None:
    assert read('"0.10"') == Decimal("0.10")
    with pytest.raises(ShapeError) as caught:
        read('"0.10"', Asked)
    assert caught.value.fields == [("amountOut", "must be a number")]


@each_row("bad", [1.5, True, None, "1,5", "+1", "01", ".5", "1.", "", "1e1000", []])
def test_what_is_no_amount(bad: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Amount).validate_python(bad)


@each_row("good", [5, Decimal("1.50"), WireNumber("1.50"), Decimal("-0.0")])
def test_native_numbers_are_amounts(good: object) -> None:
    for kind in (Amount, BodyNumber):
        amount = TypeAdapter(kind).validate_python(good)
        assert str(amount) == str(good)


@each_row(
    ("value", "in_body", "in_answer"),
    [
        (WireNumber("18"), 18, 18),
        (WireNumber("-3"), -3, -3),
        (WireNumber("18.0"), None, 18),
        (WireNumber("1.8e1"), None, 18),
        (WireNumber("18.5"), None, None),
        (WireNumber("9007199254740991"), 2**53 - 1, 2**53 - 1),
        (WireNumber("9007199254740992"), None, None),
        (WireNumber("1e999"), None, None),
        (Decimal("6.00"), None, 6),
        (7, 7, 7),
        (2**53, None, None),
        (True, None, None),
        ("18", None, None),
        (1.0, None, None),
    ],
)
def test_integers(value: object, in_body: int | None, in_answer: int | None) -> None:
    for kind, expected in ((BodyInteger, in_body), (WireInteger, in_answer)):
        adapter = TypeAdapter(kind)
        if expected is None:
            with pytest.raises(ValidationError):
                adapter.validate_python(value)
        else:
            read_back = adapter.validate_python(value)
            assert read_back == expected
            assert type(read_back) is int


def test_bounds_are_checked_and_documented() -> None:
    class Body(BaseModel):
        markup: Annotated[BodyNumber, Field(ge=0, le=4)]
        share: Annotated[BodyNumber, Field(gt=Decimal("0.5"))] | None = None
        page: BodyInteger = Field(1, ge=1)

    with pytest.raises(ShapeError) as caught:
        decode(Body, b'{"markup": 4.01, "share": 0.5, "page": 0}', side="service")
    assert caught.value.fields == [
        ("markup", "must be at most 4"),
        ("share", "must be greater than 0.5"),
        ("page", "must be at least 1"),
    ]
    schema = Body.model_json_schema(schema_generator=WireJsonSchema)["properties"]
    share = {"type": "number", "exclusiveMinimum": Decimal("0.5")}
    assert schema["share"]["anyOf"] == [share, {"type": "null"}]


@given(amounts)
def test_base_units_are_exact_both_ways(amount: Decimal) -> None:
    units = to_base_units(amount, 18)
    assert Decimal(units) == amount.scaleb(18, context=MONEY)
    assert from_base_units(units, 18) == amount


def test_base_units_refuse_what_does_not_fit() -> None:
    assert to_base_units(Decimal("1.1"), 18) == 1_100_000_000_000_000_000
    assert to_base_units(Decimal("5"), 0) == 5
    with pytest.raises(NumberError):
        to_base_units(Decimal("0.1234567"), 6)
    assert to_base_units(Decimal("0.1230000"), 3) == 123


@given(amounts, st.integers(0, 18))
def test_rounding_goes_the_way_it_was_told(amount: Decimal, decimals: int) -> None:
    up = quantize(amount, decimals, up=True)
    down = quantize(amount, decimals, up=False)
    unit = Decimal(1).scaleb(-decimals)
    assert down <= amount <= up
    assert up - down in (0, unit)
    assert up.as_tuple().exponent == down.as_tuple().exponent == -decimals


def test_money_never_rounds_and_rough_does() -> None:
    third = ROUGH.divide(Decimal(1), Decimal(3))
    assert len(third.as_tuple().digits) == 60
    with pytest.raises(Inexact):
        MONEY.divide(Decimal(1), Decimal(3))
    left, right = Decimal("12345678901234567.123456789012345678"), Decimal(1)
    assert MONEY.multiply(left, right) == left


@given(st.floats(-1e30, 1e30, allow_nan=False).filter(lambda f: f == 0 or abs(f) > 1e-15))
def test_a_double_survives_as_its_shortest_digits(value: float) -> None:
    amount = Decimal(repr(value))
    assert survives_double(amount)
    assert as_double(amount) == amount


def test_what_a_double_server_would_receive() -> None:
    assert as_double(Decimal("0.12345678901234567890")) == Decimal("0.12345678901234568")
    assert not survives_double(Decimal("1.123456789012345678"))
    assert survives_double(Decimal("1.50"))


@each_row(
    ("text", "code", "position", "message"),
    [
        ("", "empty", 0, "Type an amount."),
        ("1,5", "comma", 1, '"1,5": write 1.5.'),
        (",5", "comma", 0, '",5": write 0.5.'),
        ("1,000", "comma", 1, '"1,000": write 1.000 or 1000.'),
        ("1,000.5", "comma", 1, '"1,000.5": write 1000.5.'),
        ("1,000,000", "comma", 1, '"1,000,000": write 1000000.'),
        ("1.500,00", "comma", 5, '"1.500,00": write 1500.00.'),
        ("1.5,00", "comma", 3, 'A comma is not part of an amount. Write "1.5".'),
        ("1.500.000,5", "comma", 9, '"1.500.000,5": write 1500000.5.'),
        ("1,x", "comma", 1, 'A comma is not part of an amount. Write "1.5".'),
        ("1e3", "exponent", 1, "Write all digits, without an exponent."),
        ("1E3", "exponent", 1, "Write all digits, without an exponent."),
        ("+1", "sign", 0, "An amount has no sign."),
        ("-1", "sign", 0, "An amount has no sign."),
        ("１２", "character", 0, '"１" is not part of an amount.'),
        ("1٣", "character", 1, '"٣" is not part of an amount.'),
        (" 1", "character", 0, "A space is not part of an amount."),
        ("1 000", "character", 1, "A space is not part of an amount: write 1000."),
        ("1 000 000.5", "character", 1, "A space is not part of an amount: write 1000000.5."),
        (
            "1\u202f000",
            "character",
            1,
            "U+202F (narrow no-break space) is not part of an amount: write 1000.",
        ),
        ("1'000", "character", 1, '"\'" is not part of an amount: write 1000.'),
        ("1 00", "character", 1, "A space is not part of an amount."),
        ("1\t", "character", 1, "A tab is not part of an amount."),
        ("1\u202e", "character", 1, "U+202E (right-to-left override) is not part of an amount."),
        ("1\x1b", "character", 1, "U+001B (a control character) is not part of an amount."),
        ("1_000", "character", 1, '"_" is not part of an amount.'),
        ("NaN", "character", 0, '"N" is not part of an amount.'),
        ("0x10", "character", 1, '"x" is not part of an amount.'),
        ("1.2.3", "character", 3, "An amount has one point."),
        (".5", "character", 0, "Write a digit before the point."),
        ("1.", "character", 1, "Write a digit after the point."),
        ("00.5", "leading_zero", 0, "An amount does not begin with 0 and a digit."),
        ("1" * 41, "too_long", 40, "An amount has at most 40 digits on each side of the point."),
        (
            "0." + "1" * 41,
            "too_long",
            42,
            "An amount has at most 40 digits on each side of the point.",
        ),
        ("0.1234567", "too_many_decimals", 8, "USDC has 6 decimals. 0.1234567 has 7."),
    ],
)
def test_a_typed_amount_is_refused_with_its_reason(
    text: str, code: str, position: int, message: str
) -> None:
    with pytest.raises(AmountError) as caught:
        parse_amount(text, decimals=6, symbol="USDC")
    assert (caught.value.code, caught.value.position) == (code, position)
    assert caught.value.message == str(caught.value) == message


@each_row("text", ["0", "1", "1.5", "1.50", "0.000001", "9" * 40])
def test_a_typed_amount_is_kept_as_typed(text: str) -> None:
    assert plain(parse_amount(text, decimals=6)) == text


@given(st.text("0123456789.,eE+-_x ١٣", max_size=12))
def test_a_typed_amount_is_exact_or_refused(text: str) -> None:
    refusal = None
    try:
        assert plain(parse_amount(text)) == text
    except AmountError as error:
        refusal = error
    assert refusal is None or 0 <= refusal.position <= max(len(text) - 1, 0)


@each_row("bad", ["", "1.", "01", "+1", "1e1000", "0x1", "1" * 41, "١", "NaN", "1\n"])
def test_number_tokens_outside_the_form(bad: str) -> None:
    with pytest.raises(NumberError):
        number_token(bad)


@each_row(
    ("text", "wanted"),
    [("1.500", "1.5"), ("100.00", "100"), ("1E+3", "1000"), ("0.00", "0"), ("0.10", "0.1")],
)
def test_a_short_number_is_the_same_number(text: str, wanted: str) -> None:
    found = short(Decimal(text))
    assert (str(found), found == Decimal(text)) == (wanted, True)
