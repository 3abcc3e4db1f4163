"""Lets pydantic read a type by a function of this program. pydantic is imported only when a schema
is built or a value is refused, because the desk's first frame needs safe text and exact numbers,
but no models."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
}
"""The names in JSON Schema of pydantic's bounds."""


class ReadBy:
    """Metadata for ``Annotated``: pydantic reads the type with the function ``read`` and describes
    it by ``json_schema``. A field's bounds apply to the result. If ``with_context`` is True,
    ``read`` also learns whether a client or a service reads."""

    def __init__(
        self, read: Callable[..., Any], json_schema: dict[str, Any], *, with_context: bool = False
    ) -> None:
        self._read = read
        self._json_schema = json_schema
        self._with_context = with_context

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic_core import core_schema

        read = self._read
        inner: dict[str, Any] = dict(handler(source))
        bounds = {theirs: inner[ours] for ours, theirs in BOUNDS.items() if ours in inner}
        described = {**self._json_schema, **bounds}
        metadata = {"pydantic_js_functions": [lambda _schema, _handler: dict(described)]}
        if inner.keys() <= {"type", "microseconds_precision", "metadata"}:
            if self._with_context:
                return core_schema.with_info_plain_validator_function(read, metadata=metadata)
            return core_schema.no_info_plain_validator_function(read, metadata=metadata)
        bounded: Any = inner
        if self._with_context:
            return core_schema.with_info_before_validator_function(read, bounded, metadata=metadata)
        return core_schema.no_info_before_validator_function(read, bounded, metadata=metadata)


def refusal(kind: str, message: str, **values: Any) -> Exception:
    """Returns a validation error for a reading function to raise. ``values`` replace the names in
    braces in ``message``."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(kind, message, values or None)


_NAMED = {" ": "a space", "\n": "a line break", "\r": "a line break", "\t": "a tab"}


def character_in_words(ch: str) -> str:
    """Describes an invisible or dangerous character, such as ``U+202E (right-to-left
    override)``."""
    if ch in _NAMED:
        return _NAMED[ch]
    name = unicodedata.name(ch, "a control character" if ch < " " else "")
    point = f"U+{ord(ch):04X}"
    return f"{point} ({name.lower()})" if name else point
