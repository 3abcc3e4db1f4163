"""Parts that repeat are parsed once, and no text is read otherwise than as a whole."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.wire.encoding.codec import CodecError, decode_json
from swapdesk.wire.encoding.parse_cache import LONGEST, KnownParts
from swapdesk.wire.orders import Order

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


def test_a_part_that_changed_is_read_anew(parts: KnownParts) -> None:
    read = _Counting()
    for token in (TOKEN, LATER, LATER, TOKEN):
        short = parts.shorten(_frame(token), read)
        assert _whole(parts, short) == json.loads(_frame(token))
    assert read.reads == 3


def test_what_is_forgotten_is_not_answered_for(parts: KnownParts) -> None:
    read = _Counting()
    first = parts.shorten(_frame(TOKEN), read)
    for number in range(3):
        parts.shorten(_frame(TOKEN.replace("af06", f"af0{number}")), read)
    with pytest.raises(KeyError):
        _whole(parts, first)


@pytest.mark.parametrize("token", ['{"id":"x"}', '{"id":"' + "x" * LONGEST + '"}'])
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
