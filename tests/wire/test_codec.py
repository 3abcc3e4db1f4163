"""JSON bytes: bounded and exact in, exact out, and errors that quote nothing."""

from __future__ import annotations

import json
import time
import traceback
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from corpus import Case, load
from sampling import examples
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.encoding.codec import (
    CodecError,
    ShapeError,
    Timestamp,
    decode,
    decode_json,
    encode_json,
    parse_rfc3339,
    rfc3339,
    validate,
)
from swapdesk.wire.encoding.dialect import VENDOR_NAMES, alias
from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.encoding.numbers import (
    Amount,
    BodyNumber,
    NumberError,
    WireNumber,
    holds_far,
)
from swapdesk.wire.encoding.text import Display, Identity


class Leg(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    amount: BodyNumber
    name: Annotated[str, Display(20)] = ""
    address_to: Annotated[str, Identity(200)] = Field("", alias="addressTo")


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid")

    orders: list[Leg]


class Row(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    service_id: str = Field(validation_alias=alias("serviceId"), serialization_alias="serviceId")
    amount: Amount | None = None
    created: Timestamp | None = None


class Status(IntEnum):
    FINISHED = 4


class Kind(StrEnum):
    PRIVATE = "private"


def refusal(data: bytes, **bounds: int) -> str:
    with pytest.raises(CodecError) as caught:
        decode_json(data, **bounds)
    return caught.value.code


@pytest.mark.parametrize(
    "case", [c for c in load("json") if "codec" in c.expect], ids=lambda case: case.id
)
def test_hostile_bodies_of_the_corpus(case: Case) -> None:
    assert refusal(case.text.encode()) == case.expect["codec"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_json"),
        (b"<html>", "not_json"),
        (b"{} {}", "not_json"),
        (b"{'a': 1}", "not_json"),
        (b'{"a": 1,}', "not_json"),
        (b'["\x01"]', "not_json"),
        (b"[01]", "not_json"),
        (b"[+1]", "not_json"),
        (b"[1.]", "not_json"),
        (b"\xef\xbb\xbf{}", "not_json"),
        ('{"a": 1}'.encode("utf-16"), "not_utf8"),
        (b'["\xff"]', "not_utf8"),
        (b'["\xed\xa0\x80"]', "not_utf8"),
        (b'["\xc0\xaf"]', "not_utf8"),
        (b"[NaN]", "number"),
        (b"[-Infinity]", "number"),
        (b"[" + b"9" * 5000 + b"]", "number"),
        (b"[1." + b"1" * 41 + b"]", "number"),
        (b"[1e1000]", "number"),
        (b'{"a": 1, "a": 1}', "duplicate_key"),
        (b'[{"x": {"a": 1, "\\u0061": 2}}]', "duplicate_key"),
        (b"[" * 33 + b"]" * 33, "too_deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
        (b"[" * 1000, "too_deep"),
        (b'["\\\\",' * 40, "too_deep"),
        (b"]" * 50, "not_json"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_acceptable_json(data: bytes, code: str) -> None:
    started = time.thread_time()
    assert refusal(data) == code
    assert time.thread_time() - started < 0.5


def test_sizes_and_depths_at_their_edges() -> None:
    assert refusal(b"[1, 2, 3]", max_bytes=8) == "too_large"
    assert decode_json(b"[1, 2, 3]", max_bytes=9) == ["1", "2", "3"]
    assert decode_json(b"[" * 32 + b"]" * 32) is not None
    assert refusal(b"[[1]]", max_depth=1) == "too_deep"
    # Also behind so many brackets that they are not read at once.
    wide = b"[" + b"[],{}," * 3_000
    assert decode_json(wide + b"[" * 31 + b"]" * 32) is not None
    assert refusal(wide + b"[" * 32 + b"]" * 33) == "too_deep"
    brackets = json.dumps(["[" * 100, '"' + "{" * 100, "\\" + "[" * 50, '\\"[['])
    assert decode_json(brackets.encode()) == json.loads(brackets)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**39), 10**39).map(lambda n: WireNumber(str(n)))
    | st.text(st.characters(codec=None), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=examples(400))
@given(json_values)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    data = encode_json(value)
    assert decode_json(data) == value
    assert encode_json(decode_json(data)) == data
    json.loads(data)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


hostile_text = st.text('[]{}"\\,:\n', max_size=6)
nested = st.recursive(
    hostile_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_text, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=examples(300))
@given(nested)
def test_depth_counts_brackets_and_never_text(value: Any) -> None:
    data, depth = encode_json(value), depth_of(value)
    assert decode_json(data, max_depth=depth) == value
    if depth:
        assert refusal(data, max_depth=depth - 1) == "too_deep"


REQUIRED = {"type": "single", "totalSteps": 1, "step": 0, "isComplete": True, "key": "k"}
FAR = ["1e1000", "-1.5e+4000", "9" * 5000, "1." + "1" * 41]


@pytest.mark.parametrize("number", FAR, ids=lambda number: number[:9])
def test_a_number_of_any_size_changes_nothing_where_nobody_reads_it(number: str) -> None:
    told = b'{"order":{"id":"a","new":[{"n":%s}],"amount":1.50},"n":%s}' % ((number.encode(),) * 2)
    found = decode_json(told, side="client")
    assert encode_json(found) == told
    assert holds_far(found)
    with pytest.raises(CodecError, match="number"):
        decode_json(told)
    with pytest.raises(ShapeError) as caught:
        decode(Row, b'{"serviceId":"a","amount":%s}' % number.encode(), side="client")
    assert caught.value.fields == [("amount", "must be a number")]
    with pytest.raises(ShapeError, match=r"data: holds a number outside"):
        validate(SignatureRequirement, {**REQUIRED, "data": found}, side="client")


@pytest.mark.parametrize("number", FAR, ids=lambda number: number[:9])
def test_a_number_of_any_size_goes_back_as_it_came(number: str) -> None:
    told = b'{"n":[%s]}' % number.encode()
    raw = {**REQUIRED, "data": {}, "swapRequiredMetadata": decode_json(told, side="client")}
    asked = validate(SignatureRequirement, raw, side="client")
    metadata = asked.swap_required_metadata
    given = GivenSignature(signature="0x12", key=asked.key, swap_required_metadata=metadata)
    for written in (encode_json(asked), encode_json(given, exclude_none=True)):
        assert b'"swapRequiredMetadata":' + told in written
    again = {**raw, "swapRequiredMetadata": decode_json(told, side="client")}
    assert validate(SignatureRequirement, again, side="client") == asked


@settings(max_examples=examples(400))
@given(st.binary(max_size=60) | st.text('{}[]",:\\u0123456789.eE+-truefalsnN ', max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data
    refused = None
    try:
        encode_json(decode_json(raw, side="client"))
        encode_json(decode_json(raw))
    except CodecError as error:
        refused = error
    codes = {"too_large", "not_utf8", "not_json", "too_deep", "duplicate_key", "number"}
    assert refused is None or refused.code in codes


def test_a_cut_body_is_never_read() -> None:
    whole = b'{"serviceId":"m1Xc7D","amount":1.50,"legs":[{"name":"\\u00e9"}]}'
    assert decode_json(whole)
    for end in range(len(whole)):
        assert refusal(whole[:end]) == "not_json"


def test_numbers_keep_their_text_and_are_no_plain_text() -> None:
    value = decode_json(b'{"a": 1.50, "b": 1e-7, "c": -0, "d": "1.50"}')
    assert value == {"a": "1.50", "b": "1e-7", "c": "-0", "d": "1.50"}
    assert [type(item) for item in value.values()] == [WireNumber] * 3 + [str]
    assert encode_json(value) == b'{"a":1.50,"b":1e-7,"c":-0,"d":"1.50"}'


def test_a_wrong_shape_names_every_field_and_no_value() -> None:
    body = (
        b'{"orders": [{"amount": "7777", "name": 7777, "addressTo": "7777\\n"}, {}],'
        b' "ho\\u001b[2Jle": 7777}'
    )
    with pytest.raises(ShapeError) as caught:
        decode(Group, body, side="service")
    error = caught.value
    assert error.code == "shape"
    assert error.fields == [
        ("orders.0.amount", "must be a number"),
        ("orders.0.name", "must be a text"),
        ("orders.0.addressTo", "no blank at the beginning or the end"),
        ("orders.1.amount", "is required"),
        ("ho<U+001B>[2Jle", "is no field here"),
    ]
    assert "7777" not in "".join(traceback.format_exception(error)).replace(repr(body), "")
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"[]", [("", "must be an object")]),
        (b"null", [("", "must be an object")]),
        (b'{"orders": {}}', [("orders", "must be a list")]),
        (b'{"orders": [1]}', [("orders.0", "must be an object")]),
    ],
)
def test_wrong_containers(body: bytes, fields: list[tuple[str, str]]) -> None:
    with pytest.raises(ShapeError) as caught:
        decode(Group, body, side="service")
    assert caught.value.fields == fields


def test_a_thousand_wrong_fields_are_cut_to_fifty() -> None:
    body = encode_json({"orders": [{} for _ in range(1000)]})
    with pytest.raises(ShapeError) as caught:
        decode(Group, body, side="service")
    assert len(caught.value.fields) == 50
    assert str(caught.value).endswith("and 47 more")


def test_ten_thousands_of_wrong_entries_cost_one_sentence() -> None:
    body = b'{"orders": [%s0]}' % (b"0," * 200_000)
    started = time.thread_time()
    with pytest.raises(ShapeError) as caught:
        decode(Group, body, side="client")
    assert caught.value.fields == [("", "200001 fields are wrong")]
    assert time.thread_time() - started < 5


def test_text_is_rewritten_for_the_client_alone() -> None:
    body = b'{"amount": 1, "name": "US\\u200bDC"}'
    assert decode(Leg, body, side="client").name == "US<U+200B>DC"
    assert decode(Leg, body, side="service").name == "US\u200bDC"
    assert decode(TypeAdapter(list[Leg]), b"[%s]" % body, side="client")[0].amount == 1
    assert decode(list[Leg], b"[]", side="client") == []


def test_names_of_the_public_service_are_read_and_ours_are_written() -> None:
    for names in (b'"houdiniId": "a"', b'"serviceId": "a"', b'"houdiniId": "b", "serviceId": "a"'):
        row = decode(Row, b'{%s, "new": [1]}' % names, side="client")
        assert encode_json(row, exclude_none=True) == b'{"serviceId":"a"}'
    assert alias("multiId").choices == ["multiId"]
    for ours, theirs in VENDOR_NAMES.items():
        assert alias(ours).choices == [ours, *theirs]


def test_python_names_are_no_wire_names() -> None:
    with pytest.raises(ShapeError) as caught:
        decode(Leg, b'{"amount": 1, "address_to": "a"}', side="service")
    assert caught.value.fields == [("address_to", "is no field here")]
    assert encode_json(Leg(amount=Decimal(1), address_to="a")).endswith(b'"addressTo":"a"}')


def test_models_are_written_exactly() -> None:
    row = Row(
        service_id='q"\n\u200b',
        amount=Decimal("1E-8"),
        created=datetime(2026, 11, 20, 14, 2, 11, 999_999, tzinfo=UTC),
    )
    text = '{"serviceId":"q\\"\\n\u200b","amount":0.00000001,"created":"2026-11-20T14:02:11.999Z"}'
    assert encode_json(row) == text.encode()
    assert encode_json(Row(service_id="a"), exclude_unset=True) == b'{"serviceId":"a"}'
    assert encode_json(Row(service_id="a")) == b'{"serviceId":"a","amount":null,"created":null}'
    mixed = {"s": Status.FINISHED, "k": Kind.PRIVATE, "t": (1, True, None), "e": [{}, []]}
    assert encode_json(mixed) == b'{"s":4,"k":"private","t":[1,true,null],"e":[{},[]]}'
    assert encode_json({"n": Decimal("1.50"), "w": WireNumber("1e-7")}) == b'{"n":1.50,"w":1e-7}'


@pytest.mark.parametrize("value", [1.5, {"a": 1.0}, [float("nan")], {1: 2}, b"a", object(), {1, 2}])
def test_what_has_no_exact_form_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        encode_json(value)


@pytest.mark.parametrize(
    "value",
    [Decimal("NaN"), Decimal("1e999999"), 10**41, -(10**5000)],
    ids=["nan", "bomb", "wide", "huge"],
)
def test_what_no_reader_would_accept_is_not_written(value: object) -> None:
    with pytest.raises(NumberError):
        encode_json([value])


def test_half_a_surrogate_pair_is_written_as_its_escape() -> None:
    assert encode_json(["\ud800é"]) == b'["\\ud800\xc3\xa9"]'


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20T14:02:11Z", datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)),
        ("2026-11-20T14:02:11.5+02:00", datetime(2026, 11, 20, 12, 2, 11, 500_000, tzinfo=UTC)),
        ("2026-11-20T14:02:11", datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)),
        ("2026-11-20T00:00:00-05:30", datetime(2026, 11, 20, 5, 30, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_times_that_are_read(text: str, moment: datetime) -> None:
    assert parse_rfc3339(text) == moment
    assert TypeAdapter(Timestamp).validate_python(text).tzinfo is UTC


@pytest.mark.parametrize("case", load("timestamp", name="times"), ids=lambda case: case.id)
def test_times_are_near_enough_to_count_with(case: Case) -> None:
    stamp = TypeAdapter(Timestamp)
    if case.expect["read"] == "refused":
        with pytest.raises(ValidationError):
            stamp.validate_python(case.text)
        return
    read = stamp.validate_python(case.text)
    assert read == parse_rfc3339(case.expect["read"])
    assert stamp.validate_python(parse_rfc3339(case.text)) == read
    assert read + timedelta(days=9999) > read > read - timedelta(days=9999)


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "1700000000", "2026-13-01", "2026-02-30", "2026-11-20T25:00:00Z",
        "2026-11-20 14:02:11", "2026-11-20T14:02Z", "2026-11-20T14:02:11+0200",
        "2026-11-20T14:02:11+99:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
        "２026-11-20", "2026-11-20\n", "20261120", "0000-01-01", "2026-11-20T14:02:11+05:60",
    ],
)  # fmt: skip
def test_times_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_rfc3339(text)
    with pytest.raises(ValidationError):
        TypeAdapter(Timestamp).validate_python(text)


@pytest.mark.parametrize("value", [1700000000, WireNumber("1700000000"), 1.5, True, None])
def test_a_number_is_no_time(value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Timestamp).validate_python(value)


def test_native_times_become_utc_and_need_a_zone() -> None:
    stamp = TypeAdapter(Timestamp)
    east = datetime(2026, 11, 20, 16, tzinfo=timezone(timedelta(hours=2)))
    assert stamp.validate_python(east).isoformat() == "2026-11-20T14:00:00+00:00"
    assert rfc3339(east) == "2026-11-20T14:00:00.000Z"
    naive = east.replace(tzinfo=None)
    with pytest.raises(ValidationError):
        stamp.validate_python(naive)
    with pytest.raises(ValueError, match="zone"):
        rfc3339(naive)
    schema = stamp.json_schema(schema_generator=WireJsonSchema)
    assert schema == {"type": "string", "format": "date-time"}


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_come_back_to_the_millisecond(moment: datetime) -> None:
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse_rfc3339(rfc3339(moment)) == cut
