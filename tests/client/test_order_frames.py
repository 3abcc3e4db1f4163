"""Frames read by what changed in them say exactly what the whole of each says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampling
from rows import each_row
from service.world import BTC, ETH
from swapdesk.client import stream_socket
from swapdesk.client.stream_socket import MAX_MESSAGE, OrderFrames
from swapdesk.wire.encoding.codec import CodecError, decode, encode_json
from swapdesk.wire.events import ServerFrame
from swapdesk.wire.orders import Order

TOKEN = encode_json(ETH).decode()
OTHER = encode_json(ETH.model_copy(update={"name": "Ether 2"})).decode()
ANOTHER = encode_json(BTC).decode()
ORDER: dict[str, Any] = {
    "serviceId": "h8Kq2PdT5mXcVbN3wRtY7z",
    "created": "2026-11-20T14:02:11.000Z",
    "modified": "2026-11-20T14:02:11.000Z",
    "receiverAddress": "0x" + "1" * 40,
    "receiverTag": None,
    "depositAddress": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "status": 2,
    "statusLabel": "EXCHANGING",
    "displayStatus": "EXCHANGE_IN_PROGRESS",
    "isDex": False,
    "fixed": False,
    "inAmount": 0.5,
    "outAmount": 14.524108,
    "outSymbol": "ETH",
    "depositTag": "12",
    "actionRequired": False,
}
NAMES = [
    *ORDER,
    *("inToken", "senderTag", "houdiniId", "unknown", "metadata", "orderFinishedReceived", ""),
]
VALUES = [
    *("null", "true", "false", "0", "-0", "7", "18.0", "1e2", "1.50", "1.5", "01", "1.", "NaN"),
    *("1e999999", "9" * 95, "9007199254740993", '"1.5"', '""', '"a,"', '","', '"a\\"b"'),
    *('"a\\u202eb"', '"a\u202eb"', '"\\ud800"', '"a\tb"', '"\u00e9"', '"\U0001f600"', '" x"'),
    *('"EXCHANGE_IN_PROGRESS"', '"FAILED"', '"NEW_WORD"', '"2026-11-20T14:02:12.000Z"'),
    *('"2026-13-20T14:02:12Z"', '{"status":5,"x":1}', "[1,2]", '{"a":1,"a":2}', TOKEN, OTHER),
    *('"x"},"data":{"serviceId":"y"', "1,", ",", ""),
    *('1,"status":5', '"0x","isDex":true', "[" * 40 + "]" * 40, "[" * 3000, '"' + "x" * 5000 + '"'),
]


def text_of(members: list[tuple[str, str]], head: str = '{"type":"order_update","data":') -> str:
    inside = ",".join(f'"{name}":{value}' for name, value in members)
    return f"{head}{{{inside}}}}}"


def whole(message: str) -> ServerFrame | Order | None:
    """What the frame says to somebody who never saw one before."""
    try:
        frame = decode(ServerFrame, message.encode(), side="client", max_bytes=MAX_MESSAGE)
    except (CodecError, UnicodeEncodeError):
        return None
    return frame.data if frame.type == "order_update" and frame.data is not None else frame


def same(one: ServerFrame | Order | None, other: ServerFrame | Order | None) -> bool:
    """Equal in every value, its digits and its type, and in what was told."""
    if one is None or other is None:
        return one is other
    told = one.model_fields_set == other.model_fields_set
    return type(one) is type(other) and told and repr(one) == repr(other)


EDGE = 3
"""How many characters on each side of a border are tried in every run."""


def around(message: str, part: str) -> tuple[int, ...]:
    """Where ``part`` begins and ends in a message, if it is there."""
    at = message.find(part)
    return () if at < 0 else (at, at + len(part))


def plain() -> list[tuple[str, str]]:
    members = [(name, json.dumps(value)) for name, value in ORDER.items()]
    return [*members, ("inToken", TOKEN)]


def between() -> list[tuple[str, str]]:
    """The same with its tokens among the other members."""
    members = plain()
    members.insert(6, ("outToken", ANOTHER))
    members.insert(9, members.pop())
    return members


@st.composite
def conversations(draw: st.DrawFn) -> list[str]:
    """Updates of one order, each a small change of the one before or of the plain one."""
    start = draw(st.sampled_from([plain, between]))
    members, messages = start(), [text_of(start())]
    for _ in range(draw(st.integers(1, 6))):
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(members) - 1))
            name, value = members[at]
            match draw(st.integers(0, 9)):
                case 0 | 1 | 2 | 3 | 4 | 5:
                    members[at] = (name, draw(st.sampled_from(VALUES)))
                case 6:
                    members[at] = (draw(st.sampled_from(NAMES)), value)
                case 7:
                    members.insert(at, (draw(st.sampled_from(NAMES)), value))
                case 8:
                    if len(members) > 1:
                        del members[at]
                case _:
                    members = start()
        messages.append(text_of(members))
    return messages


@settings(max_examples=sampling.examples(400))
@given(conversations())
def test_a_frame_says_the_same_whatever_came_before(messages: list[str]) -> None:
    frames = OrderFrames(MAX_MESSAGE)
    for message in messages:
        assert same(frames.read(message), whole(message)), message


@each_row("name", NAMES)
def test_one_member_at_a_time_between_two_good_frames(name: str) -> None:
    good = plain()
    for value in VALUES:
        frames = OrderFrames(MAX_MESSAGE)
        changed = [(one, value if one == name else old) for one, old in good]
        if changed == good:
            changed.append((name, value))
        for members in (good, changed, good, changed):
            message = text_of(members)
            assert same(frames.read(message), whole(message)), value


@each_row(
    ("before", "after"),
    [
        ('{"x":1,"status":5,"y":2}', '{"x":1,"status":6,"y":2}'),
        ('{"x":{"a":1,"outAmount":1.5,"b":2}}', '{"x":{"a":1,"outAmount":2.5,"b":2}}'),
        ('["a,","statusLabel",":"]', '["a,","statusLabel","."]'),
        ('"a\\","status":5,"', '"a\\","status":6,"'),
    ],
)
def test_what_looks_like_a_member_inside_another_is_none(before: str, after: str) -> None:
    frames = OrderFrames(MAX_MESSAGE)
    for value in (before, after, before):
        members = plain()
        members.insert(5, ("metadata", value))
        message = text_of(members)
        assert same(frames.read(message), whole(message))


@each_row("members", [plain, between])
def test_one_character_otherwise(members: Callable[[], list[tuple[str, str]]]) -> None:
    """Always at the very end and where the members part from the tokens; elsewhere a sample."""
    good = text_of(members())
    frames = OrderFrames(MAX_MESSAGE)
    assert frames.read(good) is not None
    parts = [len(good), *(at for text in (TOKEN, ANOTHER) for at in around(good, text))]
    edges = [at for at in range(len(good)) if any(abs(at - part) <= EDGE for part in parts)]
    sample = random.Random(7).sample(range(len(good)), sampling.examples(len(good), 8))
    for at in sorted({*edges, *sample}):
        for put in ("", "x", ",", '"', "}", good[at] * 2):
            message = good[:at] + put + good[at + 1 :]
            assert same(frames.read(message), whole(message)), message
            frames.read(good)


@each_row(
    "frame",
    [
        '{"type":"pong"}',
        '{"type":"subscribed","all":true}',
        '{"type":"error","code":"AUTH_FAILED","message":"no"}',
        '{"type":"order_update","data":{"serviceId":"a"},"code":"X"}',
        '{"type":"order_update","data":null}',
        '{"type":"order_update"}',
        '{ "type": "order_update", "data": {"serviceId": "a", "status": 1} }',
        "[]",
        "\ud800",
        "",
    ],
)
def test_other_frames_are_read_whole(frame: str) -> None:
    frames = OrderFrames(MAX_MESSAGE)
    for _ in range(2):
        assert same(frames.read(frame), whole(frame))


def test_refused_credentials_are_no_update() -> None:
    told = '{"type":"order_update","data":{"serviceId":"a"},"code":"AUTH_FAILED"}'
    assert isinstance(OrderFrames(MAX_MESSAGE).read(told), ServerFrame)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_socket, "KEPT", 3)
    frames = OrderFrames(MAX_MESSAGE)
    texts = [text_of(plain()).replace("h8Kq2P", f"h8Kq2{n}") for n in range(4)]
    read = [frames.read(text) for text in texts]
    assert frames.read(texts[3]) is read[3]
    assert frames.read(texts[0]) is not read[0]
    long = text_of([("serviceId", '"a"'), ("statusLabel", f'"{"x" * stream_socket.LONGEST}"')])
    assert frames.read(long) is not frames.read(long)
    short = text_of([("serviceId", '"b"'), ("statusLabel", '""')])
    frames.read(short)
    grown = short.replace('""', f'"{"x" * stream_socket.LONGEST}"')
    assert frames.read(grown) is not frames.read(grown)
