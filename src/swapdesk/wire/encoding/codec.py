"""JSON bytes in and out, bounded and exact.

Reading refuses what a tolerant parser lets through: duplicate keys, NaN, deep nesting,
endless numbers, broken UTF-8. What a service answers may hold a number of any size where this
program reads none. ``writing`` keeps every digit of a Decimal and refuses floats.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

from swapdesk.wire.encoding.numbers import (
    TOKEN_LIMIT,
    FarNumber,
    NumberError,
    WireNumber,
    number_token,
)
from swapdesk.wire.encoding.parse_cache import PARTS
from swapdesk.wire.encoding.refusals import path_of, sentence
from swapdesk.wire.encoding.timestamps import Timestamp, parse_rfc3339, rfc3339
from swapdesk.wire.encoding.writing import encode_json, encode_twice

__all__ = [
    "CodecError",
    "ShapeError",
    "Timestamp",
    "decode",
    "decode_json",
    "encode_json",
    "encode_twice",
    "parse_rfc3339",
    "rfc3339",
]

T = TypeVar("T")
Side = Literal["client", "service"]

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
_MAX_FIELDS = 50
# A list of a million wrong entries is not worth a million sentences.
_MAX_ERRORS = 2000
_BRACKETS = b'"[]{}'
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_STEPS = bytes.maketrans(b"[{]}", bytes([1, 1, 255, 255]))
_STEPS_AT_ONCE = 4_096


class CodecError(ValueError):
    """Bytes that are no acceptable JSON.

    ``code`` is one of too_large, not_utf8, not_json, too_deep, duplicate_key, number, shape.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ShapeError(CodecError):
    """JSON of another shape: ``fields`` lists (dotted path, message), never a value."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        shown = "; ".join(f"{path or 'body'}: {message}" for path, message in fields[:3])
        more = f" and {len(fields) - 3} more" if len(fields) > 3 else ""
        super().__init__("shape", shown + more)
        self.fields = fields


class _DuplicateKey(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise _DuplicateKey
    return entries


def _constant(name: str) -> NoReturn:
    raise NumberError(f"{name} is no JSON number")


def _decoder_of(
    integer: Callable[[str], Any], number: Callable[[str], Any] = number_token
) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=number,
        parse_int=integer,
        parse_constant=_constant,
        object_pairs_hook=_object,
    )


def _integer_or_part(text: str) -> Any:
    return PARTS.value(text) if len(text) > TOKEN_LIMIT else number_token(text)


def _near_or_far(text: str) -> WireNumber | FarNumber:
    try:
        return number_token(text)
    except NumberError:
        return FarNumber(text)


_decoder = _decoder_of(number_token)
_part_decoder = _decoder_of(_integer_or_part)
_answer_decoder = _decoder_of(_near_or_far, _near_or_far)


def _is_deeper(data: bytes, max_depth: int) -> bool:
    """Whether arrays and objects are nested deeper, read without recursion and hardly further
    than to the first that is: such a document is refused, and shall cost little."""
    if b"\\" in data:
        # Pairs first, so that the quote after an escaped backslash still ends its text.
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two quotes side by side close and open nothing; what is left of the texts is few.
    kept = data.translate(None, _NOT_BRACKETS).replace(b'""', b"")
    outside = b"".join(kept.split(b'"')[::2])
    steps, depth = array("b", outside.translate(_STEPS)), 0
    for start in range(0, len(steps), _STEPS_AT_ONCE):
        some = steps[start : start + _STEPS_AT_ONCE]
        if max(accumulate(some, initial=depth)) > max_depth:
            return True
        depth += sum(some)
    return False


def refuse_deep(data: bytes, max_depth: int = MAX_DEPTH) -> None:
    """Raise CodecError for a document nested deeper, before a recursive reader meets it.

    Where a library has raised Python's limit of recursion, such a document ends the process.
    """
    if data.count(b"[") + data.count(b"{") > max_depth and _is_deeper(data, max_depth):
        raise CodecError("too_deep", f"nested more than {max_depth} deep")


def _text_of(data: bytes, max_bytes: int, max_depth: int) -> str:
    """The text of a document that a parser may be given."""
    if len(data) > max_bytes:
        raise CodecError("too_large", f"more than {max_bytes} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CodecError("not_utf8", f"no UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise CodecError("not_json", "begins with a byte order mark")
    refuse_deep(data, max_depth)
    return text


def shortened(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> str:
    """The text of a document with numbers in the place of what repeats (``parse_cache``). Equal
    ones are equal documents. ValueError when a part is no JSON."""
    return PARTS.shorten(_text_of(data, max_bytes, max_depth), _decoder.raw_decode)


def part_of(number: str) -> str | None:
    """What a number in the text of :func:`shortened` stands for; None for any other number."""
    return PARTS.text(number)


def decode_json(
    data: bytes,
    *,
    side: Side = "service",
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> object:
    """Plain Python values of one JSON document; numbers are :class:`WireNumber`, and for the
    ``client``, who reads members that are added over time, otherwise :class:`FarNumber`."""
    text = _text_of(data, max_bytes, max_depth)
    # What repeats comes from memory; a text that is refused is read whole, to tell why.
    with suppress(ValueError, KeyError):
        return _part_decoder.decode(PARTS.shorten(text, _decoder.raw_decode))
    try:
        return (_answer_decoder if side == "client" else _decoder).decode(text)
    except _DuplicateKey:
        raise CodecError("duplicate_key", "the same name twice in one object") from None
    except NumberError as error:
        raise CodecError("number", str(error)) from None
    except json.JSONDecodeError as error:
        raise CodecError("not_json", f"no JSON at character {error.pos}") from None


_CONTEXTS: dict[Side, dict[str, Side]] = {
    "client": {"side": "client"},
    "service": {"side": "service"},
}
_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters.setdefault(kind, TypeAdapter(kind))
    return adapter


def validate(kind: type[T] | TypeAdapter[T], value: object, *, side: Side) -> T:
    """A decoded value as ``kind``; :class:`ShapeError` names every field that is wrong."""
    adapter = kind if isinstance(kind, TypeAdapter) else _adapter(kind)
    try:
        # Python names of fields are ours alone: on the wire only the aliases count.
        checked: T = adapter.validate_python(
            value, context=_CONTEXTS[side], by_alias=True, by_name=False
        )
        return checked
    except ValidationError as error:
        if error.error_count() > _MAX_ERRORS:
            fields = [("", f"{error.error_count()} fields are wrong")]
        else:
            found = error.errors(include_url=False, include_input=False)
            fields = [(path_of(e["loc"]), sentence(e)) for e in found[:_MAX_FIELDS]]
    # Outside the handler: the original error carries the input, which is not ours to log.
    raise ShapeError(fields)


def decode(
    kind: type[T] | TypeAdapter[T],
    data: bytes,
    *,
    side: Side,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> T:
    """JSON bytes as ``kind``, text rewritten for the ``side`` that reads it."""
    value = decode_json(data, side=side, max_bytes=max_bytes, max_depth=max_depth)
    return validate(kind, value, side=side)
