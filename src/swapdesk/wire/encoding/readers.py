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
"""For each bound in a pydantic type (``ge``, ``gt`` and so on): the name of the same bound in JSON
Schema."""


class ReadBy:
    """Metadata for ``Annotated``: pydantic reads the type by the function ``read`` and describes it
    by ``json_schema``. If ``with_context`` is True, ``read`` also gets pydantic's validation
    information, which says whether the client or the service reads.

    If a field has a bound, as in ``x: Amount = Field(1, ge=1)``, pydantic puts it into the schema
    of the inner type. That schema is therefore applied after ``read``; otherwise the bound would be
    lost silently.
    """

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
    """Returns a validation error, to be raised by a function that reads a value. Each name in
    braces in ``message`` is replaced by the entry of ``values`` with that name."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError(kind, message, values or None)


_NAMED = {" ": "a space", "\n": "a line break", "\r": "a line break", "\t": "a tab"}


def character_in_words(ch: str) -> str:
    """Describes a character that is invisible or must not reach a screen, for example ``a space``
    or ``U+202E (right-to-left override)``."""
    if ch in _NAMED:
        return _NAMED[ch]
    name = unicodedata.name(ch, "a control character" if ch < " " else "")
    point = f"U+{ord(ch):04X}"
    return f"{point} ({name.lower()})" if name else point
