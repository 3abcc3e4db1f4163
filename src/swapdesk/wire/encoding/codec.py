"""Reading and writing of JSON, within bounds and exact.

The reader refuses what a tolerant parser accepts: duplicate keys, NaN, deep nesting, overlong
numbers, broken UTF-8. A service's answer may contain a number of any size in a member that this
program does not read. Errors of pydantic become (path, sentence) pairs that quote no value.

The writer keeps every digit of a Decimal, writes times as RFC 3339 and refuses floats. For models
that repeat in other models (``WireModel.SHARED``), it reuses the text that it wrote first.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import accumulate
from json.encoder import encode_basestring
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from swapdesk.wire.encoding.interning import SharedTexts
from swapdesk.wire.encoding.numbers import (
    MAGNITUDE_LIMIT,
    TOKEN_LIMIT,
    FarNumber,
    NumberError,
    WireNumber,
    number_token,
    plain,
)
from swapdesk.wire.encoding.parse_cache import PARTS
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.encoding.timestamps import Timestamp, parse_rfc3339, rfc3339

_SENTENCES = {
    "missing": "is required",
    "extra_forbidden": "is no field here",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}


_DECIMAL_REPR = re.compile(r"Decimal\('([^']+)'\)")


def path_of(loc: Iterable[int | str]) -> str:
    """Returns the dotted path of a location, safe to show: ``orders.0.amount`` for ``("orders", 0,
    "amount")``."""
    return ".".join(safe_text(str(part), 64) for part in loc)


def _shown(value: Any) -> str:
    # pydantic hands a Decimal bound over as its repr.
    match = _DECIMAL_REPR.fullmatch(str(value))
    return format(Decimal(match[1]), "f") if match else str(value)


def sentence(detail: ErrorDetails) -> str:
    """Returns a sentence that says why a value was refused. It never repeats the value."""
    template = _SENTENCES.get(detail["type"])
    if template is not None:
        context = {name: _shown(value) for name, value in detail.get("ctx", {}).items()}
        return template.format_map(context)
    return detail["msg"].replace("Input should be", "must be", 1).removeprefix("Value error, ")


def _integer(value: int) -> str:
    if abs(value) >= 10 ** (MAGNITUDE_LIMIT + 1):
        raise NumberError("is too large or too small")
    return int.__repr__(value)


_SCALARS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    WireNumber: str,
    FarNumber: lambda value: value.text,
    Decimal: plain,
    int: _integer,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
    datetime: lambda value: f'"{rfc3339(value)}"',
}


def _write(value: Any, out: list[str], model_options: dict[str, Any]) -> None:
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        out.append(scalar(value))
    elif isinstance(value, dict):
        separator = "{"
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a JSON name must be a text, not {type(key).__name__}")
            out.append(f"{separator}{encode_basestring(key)}:")
            _write(item, out, model_options)
            separator = ","
        out.append("}" if value else "{}")
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            out.append(separator)
            _write(item, out, model_options)
            separator = ","
        out.append("]" if value else "[]")
    elif isinstance(value, BaseModel):
        shared = None if any(model_options.values()) else getattr(value, "SHARED", None)
        if shared:
            out.append(_with_shared(value, shared, _lean(value, shared)))
        else:
            _write(value.model_dump(by_alias=True, **model_options), out, model_options)
    elif isinstance(value, Enum):
        _write(value.value, out, model_options)
    else:
        for kind in (str, datetime, Decimal):
            if isinstance(value, kind):
                out.append(_SCALARS[kind](value))
                return
        raise TypeError(f"{type(value).__name__} has no exact JSON form")


_shared_texts = SharedTexts()


@cache
def _plan_of(kind: type[BaseModel], shared: frozenset[str]) -> list[tuple[str, str, bool]]:
    nullable: frozenset[str] = getattr(kind, "NULLABLE", frozenset())
    plan = []
    for name, field in kind.model_fields.items():
        if name not in shared:
            written = field.serialization_alias or field.alias or name
            plan.append((name, f"{encode_basestring(written)}:", written in nullable))
    return plan


def _lean(value: BaseModel, shared: frozenset[str]) -> str:
    fields, out = value.__dict__, []
    for name, written, nullable in _plan_of(type(value), shared):
        item = fields[name]
        if item is None and not nullable:
            continue
        scalar = _SCALARS.get(type(item))
        out.append(written + (scalar(item) if scalar is not None else _text(item)))
    return f"{{{','.join(out)}}}"


def _with_shared(value: BaseModel, shared: frozenset[str], lean: str) -> str:
    parts = [lean[1:-1]] if len(lean) > 2 else []
    for name in sorted(shared):
        part = getattr(value, name)
        if part is not None:
            field = type(value).model_fields[name]
            written = field.serialization_alias or field.alias or name
            parts.append(f"{encode_basestring(written)}:{_shared_texts.text(part, _text)}")
    return f"{{{','.join(parts)}}}"


def encode_twice(value: BaseModel) -> tuple[str, str]:
    """Returns the JSON of a model twice: first without the fields that its ``SHARED`` names, then
    complete."""
    shared: frozenset[str] = getattr(value, "SHARED", frozenset())
    lean = _lean(value, shared)
    whole = _with_shared(value, shared, lean)
    return _writable(lean), _writable(whole)


def _writable(text: str) -> str:
    return text if text.isascii() else _encoded(text).decode()


def _encoded(text: str) -> bytes:
    """Returns the text as UTF-8. An unpaired surrogate becomes a JSON escape, because UTF-8 cannot
    express it."""
    return text.encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    out: list[str] = []
    _write(value, out, {})
    return "".join(out)


def encode_json(value: object, *, exclude_none: bool = False, exclude_unset: bool = False) -> bytes:
    """Returns UTF-8 JSON without blanks; decimals keep all digits. ``exclude_none`` and
    ``exclude_unset`` apply to models only. Raises TypeError for a float or an unknown type,
    NumberError for a number out of bounds."""
    out: list[str] = []
    _write(value, out, {"exclude_none": exclude_none, "exclude_unset": exclude_unset})
    return _encoded("".join(out))


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
    """Raised for bytes that are not acceptable JSON. ``code`` is too_large, not_utf8, not_json,
    too_deep, duplicate_key, number or shape."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ShapeError(CodecError):
    """Raised for JSON of an unexpected shape. ``fields`` has (dotted path, message) pairs, which
    never contain a value."""

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
    """Raises CodecError for a document nested deeper than ``max_depth``. Call it before a recursive
    parser, which such a document could crash."""
    if data.count(b"[") + data.count(b"{") > max_depth and _is_deeper(data, max_depth):
        raise CodecError("too_deep", f"nested more than {max_depth} deep")


def _text_of(data: bytes, max_bytes: int, max_depth: int) -> str:
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
    """Returns the text of a JSON document with each repeated part replaced by a number. Documents
    with equal results are equal. Raises ValueError for invalid JSON."""
    return PARTS.shorten(_text_of(data, max_bytes, max_depth), _decoder.raw_decode)


def part_of(number: str) -> str | None:
    """Returns the text of the repeated part that ``number`` replaces in a result of
    :func:`shortened`; None if it replaces no part."""
    return PARTS.text(number)


def decode_json(
    data: bytes,
    *,
    side: Side = "service",
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> object:
    """Returns a JSON document as plain Python values; numbers become :class:`WireNumber`. If
    ``side`` is ``client``, a number out of bounds becomes a :class:`FarNumber`. Raises
    CodecError."""
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


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def validate(kind: type[T] | TypeAdapter[T], value: object, *, side: Side) -> T:
    """Converts a decoded JSON value to the type ``kind``. ``side`` says whether a client or a
    service reads it. Raises ShapeError, which lists the wrong fields."""
    adapter = kind if isinstance(kind, TypeAdapter) else _adapter(kind)  # type: ignore[arg-type]
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
            details = error.errors(include_url=False, include_input=False)
            fields = [(path_of(e["loc"]), sentence(e)) for e in details[:_MAX_FIELDS]]
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
    """Reads JSON bytes into a value of the type ``kind``. If ``side`` is ``client``, display text
    is made safe for a terminal. Raises CodecError."""
    value = decode_json(data, side=side, max_bytes=max_bytes, max_depth=max_depth)
    return validate(kind, value, side=side)
