"""Frames of the stream read by what changed in them.

A service repeats the whole order with every update, and of its 40 members three or four are
others than last time. Those are read and checked as ever; the rest are what they were, text for
text, and so is what was read of them. A frame that is not exactly a flat order of before with
other values in it is read whole, so that nothing is accepted, refused or read otherwise.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from functools import cache
from itertools import compress, count
from operator import ne
from typing import Any

from msgspec import Struct
from pydantic import TypeAdapter

from swapdesk.wire.encoding.codec import CodecError, decode, part_of, shortened, validate
from swapdesk.wire.encoding.numbers import NumberError, number_token
from swapdesk.wire.events import ServerFrame, StreamError
from swapdesk.wire.orders import Order

KEPT = 10_000
"""Orders whose last text is remembered; the longest silent are forgotten."""
LONGEST = 4 * 1024
"""Characters of such a text, without its tokens."""

_HEAD = '{"type":"order_update","data":{"'
_TAIL = "}}"
_BETWEEN = ',"'
# One member after its first quote. Its text has neither quotes nor escapes, and in an order of
# such members alone a comma and a quote side by side stand between two of them and nowhere else.
_MEMBER = re.compile(
    r'(?P<name>[A-Za-z0-9]+)":'
    r'(?:"(?P<text>[^"\\\x00-\x1f]*)"'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)"
    r"|(?P<word>true|false|null))"
)
_WORDS = {"true": True, "false": False, "null": None}
_TOGETHER = Order.SHARED | Order.JOINED
_SEPARATE = {
    field.validation_alias: name
    for name, field in Order.model_fields.items()
    if isinstance(field.validation_alias, str) and name not in _TOGETHER
}
"""Names on the wire that alone decide over a field, and the field."""


class _Known(Struct, frozen=True):
    """A frame that was read: its flat members in their sequence, and of the others (its tokens)
    where each begins and its text, which thousands of orders share."""

    flat: list[str]
    tokens: tuple[tuple[str, str], ...]
    order: Order


class OrderFrames:
    """Reads the frames of one connection in their sequence."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._known: OrderedDict[str, _Known] = OrderedDict()
        """By the first member of the order."""

    def read(self, message: str) -> ServerFrame | Order | None:
        """The frame, or the order of an update; None when it cannot be used."""
        try:
            data = message.encode()
            if not message.startswith(_HEAD):
                return self._whole(data)
            first = message[len(_HEAD) : message.find(_BETWEEN, len(_HEAD))]
            before = self._known.get(first)
            known = None if before is None else self._changed(before, message, len(data))
            if known is None:
                whole = self._whole(data)
                known = self._learned(data, whole) if isinstance(whole, Order) else None
                if known is None:
                    self._known.pop(first, None)
                    return whole
        except (CodecError, UnicodeEncodeError):
            return None
        self._known[first] = known
        self._known.move_to_end(first)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known.order

    def _whole(self, data: bytes) -> ServerFrame | Order:
        frame = decode(ServerFrame, data, side="client", max_bytes=self._max_bytes)
        if frame.type != "order_update" or frame.code == StreamError.AUTH_FAILED:
            return frame
        return frame if frame.data is None else frame.data

    def _learned(self, data: bytes, order: Order) -> _Known | None:
        """An order that was read whole, None when its members cannot be told apart by
        :data:`_BETWEEN`, or a token holds a number of any size."""
        try:
            text = shortened(data, max_bytes=self._max_bytes)
        except NumberError:
            return None
        members = text.removeprefix(_HEAD).removesuffix(_TAIL)
        if len(members) != len(text) - len(_HEAD) - len(_TAIL) or len(members) > LONGEST:
            return None
        flat, tokens = [], []
        for text in members.split(_BETWEEN):
            member = _MEMBER.fullmatch(text)
            if member is None:
                return None
            part = part_of(member["number"]) if member["number"] else None
            if part is None:
                flat.append(text)
            else:
                tokens.append((sys.intern(f'{_BETWEEN}{member["name"]}":'), part))
        return _Known(flat, tuple(tokens), order)

    def _changed(self, known: _Known, message: str, size: int) -> _Known | None:
        """The order of before with what is new, None when only the whole frame tells."""
        flat = _flat(known, message)
        if flat is None or len(flat) != len(known.flat) or size > self._max_bytes:
            return None
        kept, news = known.flat.copy(), {}
        for at in compress(count(), map(ne, known.flat, flat)):
            member = _MEMBER.fullmatch(flat[at])
            if member is None:
                return None
            name = member["name"]
            if name not in _SEPARATE or not kept[at].startswith(f'{name}":'):
                return None
            try:
                news[_SEPARATE[name]] = validate(_kind(name), _value(member), side="client")
            except (CodecError, NumberError):
                return None
            kept[at] = flat[at]
        if not news:
            return known
        if sum(map(len, kept)) > LONGEST:
            return None
        return _Known(kept, known.tokens, _with(known.order, news))


def _flat(known: _Known, message: str) -> list[str] | None:
    """The members of an order update but for its tokens, None when those are not as before."""
    if not message.endswith(_TAIL):
        return None
    runs: list[str] = []
    done = len(_HEAD)
    for mark, text in known.tokens:
        at = message.find(mark, done)
        if at < 0 or not message.startswith(text, at + len(mark)):
            return None
        runs.append(message[done:at])
        done = at + len(mark) + len(text)
    end = len(message) - len(_TAIL)
    if end < done:
        return None
    runs.append(message[done:end])
    # The first run begins behind the quote of a name; another one with what parts it from a token.
    flat = runs[0].split(_BETWEEN)
    for run in runs[1:]:
        nothing, *members = run.split(_BETWEEN)
        if nothing:
            return None
        flat += members
    return flat


def _with(order: Order, news: dict[str, Any]) -> Order:
    """A copy with other values of the same fields. What was told is the same set of names: a
    thousand copies a second need not hold one each."""
    moved = Order.__new__(Order)
    put = object.__setattr__
    put(moved, "__dict__", order.__dict__ | news)
    put(moved, "__pydantic_fields_set__", order.model_fields_set)
    put(moved, "__pydantic_extra__", None)
    put(moved, "__pydantic_private__", None)
    return moved


@cache
def _kind(name: str) -> TypeAdapter[Any]:
    """How the field behind a name on the wire is read."""
    return TypeAdapter(Order.model_fields[_SEPARATE[name]].rebuild_annotation())


def _value(member: re.Match[str]) -> Any:
    _, text, number, word = member.groups()
    if text is not None:
        return text
    return number_token(number) if number is not None else _WORDS[word]
