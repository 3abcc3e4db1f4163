"""JSON bytes out: every digit of a Decimal, times as RFC 3339, no float.

A model that shares others (``WireModel.SHARED``) is written without them, and they are written
from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from typing import Any

from pydantic import BaseModel

from swapdesk.wire.encoding.interning import SharedTexts
from swapdesk.wire.encoding.numbers import (
    MAGNITUDE_LIMIT,
    FarNumber,
    NumberError,
    WireNumber,
    plain,
)
from swapdesk.wire.encoding.timestamps import rfc3339


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
            _write_sharing(value, shared, out)
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


def _write_sharing(value: BaseModel, shared: frozenset[str], out: list[str]) -> None:
    """A model whose ``shared`` fields are written from memory, after all others."""
    out.append(_with_shared(value, shared, _lean(value, shared)))


_Plan = list[tuple[str, str, bool]]
_plans: dict[type[BaseModel], _Plan] = {}
"""Fields in their sequence: name, written name with its colon, whether null is written."""


def _plan_of(kind: type[BaseModel], shared: frozenset[str]) -> _Plan:
    nullable: frozenset[str] = getattr(kind, "NULLABLE", frozenset())
    plan: _Plan = []
    for name, field in kind.model_fields.items():
        if name not in shared:
            written = field.serialization_alias or field.alias or name
            plan.append((name, f"{encode_basestring(written)}:", written in nullable))
    return plan


def _lean(value: BaseModel, shared: frozenset[str]) -> str:
    """As ``model_dump`` and :func:`_write`, without the dictionary between."""
    kind = type(value)
    plan = _plans.get(kind)
    if plan is None:
        plan = _plans.setdefault(kind, _plan_of(kind, shared))
    fields, out = value.__dict__, []
    for name, written, nullable in plan:
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
    """JSON of a model without the models it shares with others, and the whole of it."""
    shared: frozenset[str] = getattr(value, "SHARED", frozenset())
    lean = _lean(value, shared)
    whole = _with_shared(value, shared, lean)
    return _writable(lean), _writable(whole)


def _writable(text: str) -> str:
    return text if text.isascii() else _encoded(text).decode()


def _encoded(text: str) -> bytes:
    """Half a surrogate pair becomes its escape, which inside a text is the same JSON value."""
    return text.encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    out: list[str] = []
    _write(value, out, {})
    return "".join(out)


def encode_json(value: object, *, exclude_none: bool = False, exclude_unset: bool = False) -> bytes:
    """UTF-8 JSON without blanks; Decimals digit for digit, times as RFC 3339.

    Models are written under their wire names; the two options apply to models only.
    Raises TypeError for a float (or any unknown type) and NumberError out of bounds.
    """
    out: list[str] = []
    _write(value, out, {"exclude_none": exclude_none, "exclude_unset": exclude_unset})
    return _encoded("".join(out))
