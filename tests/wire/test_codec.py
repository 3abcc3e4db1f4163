"""JSON bytes: bounded and exact in, exact out, and errors that quote nothing. Parts and objects
that repeat are read once and written once, stay what they are, and no text is read otherwise than
as a whole."""

from __future__ import annotations

import json
import re
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
from rows import each_row
from sampling import examples
from swapdesk.wire.chains import Chain
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.encoding.codec import (
    CodecError,
    ShapeError,
    Timestamp,
    decode,
    decode_json,
    encode_json,
    encode_twice,
    parse_rfc3339,
    rfc3339,
    validate,
)
from swapdesk.wire.encoding.dialect import VENDOR_NAMES, alias
from swapdesk.wire.encoding.interning import KEPT
from swapdesk.wire.encoding.numbers import Amount, BodyNumber, NumberError, WireNumber, holds_far
from swapdesk.wire.encoding.parse_cache import LONGEST, KnownParts
from swapdesk.wire.encoding.text import Display, Identity
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


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


@each_row("case", [c for c in load("json") if "codec" in c.expect], ids=lambda case: case.id)
def test_hostile_bodies_of_the_corpus(case: Case) -> None:
    assert refusal(case.text.encode()) == case.expect["codec"]


@each_row(
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


@each_row("number", FAR, ids=lambda number: number[:9])
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


@each_row("number", FAR, ids=lambda number: number[:9])
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


@each_row(
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


@each_row("value", [1.5, {"a": 1.0}, [float("nan")], {1: 2}, b"a", object(), {1, 2}])
def test_what_has_no_exact_form_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        encode_json(value)


@each_row(
    "value",
    [Decimal("NaN"), Decimal("1e999999"), 10**41, -(10**5000)],
)
def test_what_no_reader_would_accept_is_not_written(value: object) -> None:
    with pytest.raises(NumberError):
        encode_json([value])


def test_half_a_surrogate_pair_is_written_as_its_escape() -> None:
    assert encode_json(["\ud800é"]) == b'["\\ud800\xc3\xa9"]'


@each_row(
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


@each_row("case", load("timestamp", name="times"), ids=lambda case: case.id)
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


@each_row(
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


@each_row("value", [1700000000, WireNumber("1700000000"), 1.5, True, None])
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


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_come_back_to_the_millisecond(moment: datetime) -> None:
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse_rfc3339(rfc3339(moment)) == cut


TOKEN = (
    '{"id":"af06a859fea1fc9baec21a1b","symbol":"USDC","chainData":{"id":"ad5e8f6f2d09b9ba"},'
    '"price":1.0001}'
)
LATER = TOKEN.replace("1.0001", "1.0002")
_decode = json.JSONDecoder().raw_decode


class _Counting:
    """Reads with the standard library and remembers how often."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, text: str, at: int) -> tuple[Any, int]:
        self.reads += 1
        return _decode(text, at)


@pytest.fixture
def parts() -> KnownParts:
    parts = KnownParts(kept=2)
    parts.expect("inToken")
    return parts


def _frame(token: str, more: str = "") -> str:
    return f'{{"data":{{"serviceId":"x","inToken":{token}{more}}}}}'


def _whole(parts: KnownParts, text: str) -> Any:
    value = json.loads(text, parse_int=lambda n: parts.value(n) if len(n) > 90 else int(n))
    return value


def test_a_part_is_read_once_and_stands_where_it_stood(parts: KnownParts) -> None:
    read = _Counting()
    for number in range(3):
        text = _frame(TOKEN, f',"n":{number}')
        short = parts.shorten(text, read)
        assert TOKEN not in short
        assert _whole(parts, short) == json.loads(text)
    assert read.reads == 1


def test_what_is_forgotten_is_not_answered_for(parts: KnownParts) -> None:
    read = _Counting()
    first = parts.shorten(_frame(TOKEN), read)
    for number in range(3):
        parts.shorten(_frame(TOKEN.replace("af06", f"af0{number}")), read)
    with pytest.raises(KeyError):
        _whole(parts, first)


@each_row("token", ['{"id":"x"}', '{"id":"' + "x" * LONGEST + '"}'])
def test_parts_that_are_tiny_or_huge_stay(parts: KnownParts, token: str) -> None:
    assert parts.shorten(_frame(token), _decode) == _frame(token)


def test_the_tokens_of_orders_are_parts() -> None:
    assert Order.SHARED
    for name in ("inToken", "outToken"):
        texts = (_frame(TOKEN, f',"n":{n}').replace("inToken", name) for n in range(2))
        one, two = (decode_json(text.encode()) for text in texts)
        assert one["data"][name] is two["data"][name]  # type: ignore[index]


_TEXT = st.sampled_from(["", "a", '"', ",", '\\","inToken":{', ',"inToken":' + TOKEN])
_VALUES = st.recursive(
    st.one_of(_TEXT, st.integers(0, 9), st.just(json.loads(TOKEN)), st.just(json.loads(LATER))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["inToken", "outToken", "data", 'x","inToken', "a"]), inner, max_size=4
        ),
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_any_document_is_what_it_is_read_as_a_whole(value: object) -> None:
    text = json.dumps(value, separators=(",", ":"))
    assert decode_json(text.encode()) == json.loads(
        text, parse_int=str, parse_float=str, object_pairs_hook=dict
    )


@given(_VALUES, st.data())
def test_a_broken_document_is_refused_as_before(value: object, data: st.DataObject) -> None:
    text = json.dumps({"x": value, "inToken": json.loads(TOKEN)}, separators=(",", ":"))
    at = data.draw(st.integers(0, len(text) - 1))
    broken = text[:at] + data.draw(st.sampled_from(["", '"', "}", "5", "e5", ","])) + text[at + 1 :]
    decode_json(text.encode())
    try:
        expected = json.loads(
            broken, parse_int=_number, parse_float=_number, object_pairs_hook=_once
        )
    except ValueError:
        with pytest.raises(CodecError):
            decode_json(broken.encode())
    else:
        assert decode_json(broken.encode()) == expected


def _number(text: str) -> str:
    """As it stands; one outside the form that numbers have here is refused."""
    if re.fullmatch(r"-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", text) is None:
        raise ValueError("a number of another form")
    return text


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


CREATED = datetime(2026, 1, 2, tzinfo=UTC)


def token(number: int, name: str = "Ether", description: str | None = None) -> Token:
    chain = Chain(
        id=f"{7:024x}",
        created=CREATED,
        name="Ethereum",
        short_name="ethereum",
        short_name_v1="ETH",
        icon="https://example.test/i.png",
        address_validation="^x$",
        token_address_validation="^x$",
        explorer_url="https://example.test/{txHash}",
        address_url="https://example.test/{address}",
        priority=Decimal(1),
        kind="evm",
        enabled=True,
    )
    return Token(
        id=f"{number:024x}",
        icon="https://example.test/i.png",
        chain="ethereum",
        chain_data=chain,
        decimals=18,
        symbol="ETH",
        name=name,
        created=CREATED,
        price=Decimal("3000.10"),
        description=description,
    )


def order(**values: object) -> Order:
    return Order(service_id="A" * 22, out_amount=Decimal("1.50"), **values)


def read(sent: Order, side: str = "client") -> Order:
    return decode(Order, encode_json(sent), side=side)  # type: ignore[arg-type]


def test_equal_tokens_of_two_orders_are_one_object() -> None:
    first, second = read(order(in_token=token(1))), read(order(in_token=token(1)))
    assert first.in_token is second.in_token
    assert first.in_token.chain_data is second.in_token.chain_data


def test_a_token_that_changed_is_read_anew() -> None:
    before, after = read(order(in_token=token(2))), read(order(in_token=token(2, name="Ether 2")))
    assert (before.in_token.name, after.in_token.name) == ("Ether", "Ether 2")


def test_the_sides_share_no_text() -> None:
    """The client rewrites unsafe text; what the service read must not reach it."""
    unsafe = order(in_token=token(3, name="a\u202eb"))
    kept, shown = read(unsafe, "service").in_token, read(unsafe, "client").in_token
    assert kept.name == "a\u202eb"
    assert "\u202e" not in shown.name
    again = read(unsafe, "service").in_token
    assert again.name == "a\u202eb"


def test_a_heavy_object_is_not_remembered() -> None:
    """A server cannot fill the memory with objects that are kept for their next coming."""
    raw = json.loads(encode_json(order(in_token=token(4))))
    raw["inToken"]["unknown"] = ["x" * 20_000]
    sent = json.dumps(raw).encode()
    first = decode(Order, sent, side="client")
    second = decode(Order, sent, side="client")
    assert first.in_token == second.in_token
    assert first.in_token is not second.in_token


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    kept = read(order(in_token=token(5))).in_token
    for number in range(KEPT + 1):
        read(order(in_token=token(0x10_000 + number)))
    assert read(order(in_token=token(5))).in_token == kept
    assert read(order(in_token=token(5))).in_token is not kept


def test_a_wrong_object_is_refused_each_time() -> None:
    raw = json.loads(encode_json(order(in_token=token(6))))
    raw["inToken"]["decimals"] = "many"
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"inToken\.decimals"):
            decode(Order, json.dumps(raw).encode(), side="client")


@given(
    tokens=st.tuples(*[st.none() | st.integers(1, 5) for _ in range(2)]),
    name=st.text(max_size=20),
    amount=st.decimals(0, 10**9, places=6),
)
def test_what_is_written_reads_as_the_same_order(
    tokens: tuple[int | None, int | None], name: str, amount: Decimal
) -> None:
    sent = Order(
        service_id="B" * 22,
        in_amount=amount,
        in_token=None if tokens[0] is None else token(tokens[0], name),
        out_token=None if tokens[1] is None else token(tokens[1]),
    )
    plain = json.loads(encode_json(sent.model_dump(by_alias=True)))
    assert json.loads(encode_json(sent)) == plain
    assert read(sent, "service") == sent


NUMBERS = st.integers(-(10**39), 10**39)
"""Whole numbers that JSON of this service holds (contract 1.10)."""


@given(
    tag=st.none() | st.from_regex(r"[0-9a-z]{1,5}", fullmatch=True),
    metadata=st.none() | st.dictionaries(st.text(max_size=3), NUMBERS | st.text(max_size=3)),
    label=st.none() | st.text(max_size=9),
    amount=st.none() | st.decimals(-(10**9), 10**9, places=20),
    at=st.none() | st.datetimes(timezones=st.just(UTC)),
    shared=st.booleans(),
)
def test_an_order_is_written_field_by_field_as_its_model_is_dumped(
    tag: str | None,
    metadata: dict[str, object] | None,
    label: str | None,
    amount: Decimal | None,
    at: datetime | None,
    shared: bool,
) -> None:
    written = order(
        receiver_tag=tag, metadata=metadata, status_label=label, in_amount=amount, created=at,
        status=3, in_token=token(8) if shared else None,
    )  # fmt: skip
    lean, whole = encode_twice(written)
    dumped = written.model_dump(by_alias=True, exclude={"in_token", "out_token"})
    assert lean.encode() == encode_json(dumped)
    assert decode_json(whole.encode()) == decode_json(encode_json(written.model_dump()))
