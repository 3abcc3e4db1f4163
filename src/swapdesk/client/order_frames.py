"""Frames of the stream read by what changed in them.

A service repeats the whole order with every update, and of its 40 members three or four are
others than last time. Those are read and checked as ever; the rest are what they were, text for
text, and so is what was read of them. A frame that is not exactly a flat order of before with
other values in it is read whole, so that nothing is accepted, refused or read otherwise.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import cache
from itertools import compress
from operator import ne
from typing import Any

from pydantic import TypeAdapter

from swapdesk.wire.encoding.codec import CodecError, decode, shortened, validate
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


class OrderFrames:
    """Reads the frames of one connection in their sequence."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._known: OrderedDict[str, tuple[str, Order]] = OrderedDict()
        """By the first member of the order: the text of all of them, and what was read."""

    def read(self, message: str) -> ServerFrame | Order | None:
        """The frame, or the order of an update; None when it cannot be used."""
        try:
            data = message.encode()
            members = self._members(data)
            if members is None:
                return self._whole(data)
            first = members.partition(_BETWEEN)[0]
            order = self._changed(first, members)
            if order is None:
                whole = self._whole(data)
                if not (isinstance(whole, Order) and _flat(members)):
                    self._known.pop(first, None)
                    return whole
                order = whole
        except (CodecError, UnicodeEncodeError):
            return None
        self._known.pop(first, None)
        self._known[first] = (members, order)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return order

    def _whole(self, data: bytes) -> ServerFrame | Order:
        frame = decode(ServerFrame, data, side="client", max_bytes=self._max_bytes)
        if frame.type != "order_update" or frame.code == StreamError.AUTH_FAILED:
            return frame
        return frame if frame.data is None else frame.data

    def _members(self, data: bytes) -> str | None:
        """The members of an order update but for their first quote; None of another frame."""
        try:
            text = shortened(data, max_bytes=self._max_bytes)
        except ValueError:
            return None
        if not (text.startswith(_HEAD) and text.endswith(_TAIL)):
            return None
        members = text[len(_HEAD) : -len(_TAIL)]
        return members if len(members) <= LONGEST else None

    def _changed(self, first: str, members: str) -> Order | None:
        """The order of before with what is new, None when only the whole frame tells."""
        text, order = self._known.get(first, ("", None))
        if order is None:
            return None
        before, after = text.split(_BETWEEN), members.split(_BETWEEN)
        if len(before) != len(after):
            return None
        raw: dict[str, Any] = {}
        for old, new in compress(zip(before, after, strict=True), map(ne, before, after)):
            member = _MEMBER.fullmatch(new)
            if member is None or not old.startswith(f'{member["name"]}":'):
                return None
            if member["name"] not in _SEPARATE:
                return None
            try:
                raw[member["name"]] = _value(member)
            except NumberError:
                return None
        if not raw:
            return order
        try:
            news = {_SEPARATE[name]: _read(name, value) for name, value in raw.items()}
        except CodecError:
            return None
        moved = order.model_copy(update=news)
        # The same names were told; thousands of orders need not hold a set of them each.
        object.__setattr__(moved, "__pydantic_fields_set__", order.model_fields_set)
        return moved


def _flat(members: str) -> bool:
    """Whether there are only members that can be told apart by :data:`_BETWEEN`."""
    return all(map(_MEMBER.fullmatch, members.split(_BETWEEN)))


@cache
def _kind(name: str) -> TypeAdapter[Any]:
    """How the field behind a name on the wire is read."""
    return TypeAdapter(Order.model_fields[_SEPARATE[name]].rebuild_annotation())


def _read(name: str, value: object) -> Any:
    return validate(_kind(name), value, side="client")


def _value(member: re.Match[str]) -> Any:
    text, number, word = member["text"], member["number"], member["word"]
    if text is not None:
        return text
    return number_token(number) if number is not None else _WORDS[word]
