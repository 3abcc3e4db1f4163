"""Reuse of objects that repeat in many answers: each is read once and written once.

Four fifths of an order's bytes are its two tokens with their chains, and a stream of orders repeats
a few hundred of these objects. The objects are frozen, so that many orders can share one. Several
threads may read and write at the same time, because the journal has its own thread.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swapdesk.wire.encoding.numbers import FarNumber
from swapdesk.wire.encoding.parse_cache import Newest

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler, ValidationInfo
    from pydantic_core import CoreSchema

KEPT = 1_024
"""The most objects of one kind that are remembered; the least recently added are forgotten."""
_HEAVIEST = 16 * 1024


class Shared(Struct, frozen=True):
    """Metadata for a field, used as ``Annotated[Token, Shared()]``. Equal JSON objects with the
    same ``id`` are read as one shared model."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.with_info_wrap_validator_function(_Reading(), handler(source))


class _Reading:
    def __init__(self) -> None:
        self._known: Newest[tuple[Any, Any], tuple[dict[str, Any], Any]] = Newest(KEPT)
        self._adding = Lock()

    def __call__(self, value: Any, read: Callable[[Any], Any], info: ValidationInfo) -> Any:
        name = value.get("id") if type(value) is dict else None
        if type(name) is not str:
            return read(value)
        # Text is rewritten for the side that reads it, so the sides share nothing.
        key = (info.context["side"] if info.context else None, name)
        remembered = self._known.get(key)
        if remembered is not None and (remembered[0] is value or remembered[0] == value):
            return remembered[1]
        model = read(value)
        if _weight(value) <= _HEAVIEST:
            with self._adding:
                self._known[key] = (value, model)
        return model


def _weight(value: Any) -> int:
    if type(value) is dict:
        return sum(len(name) + _weight(item) for name, item in value.items())
    if type(value) is list:
        return sum(map(_weight, value), len(value))
    if isinstance(value, FarNumber):
        return len(value.text)
    return len(value) if isinstance(value, str) else 1


class SharedTexts:
    """A cache of the JSON texts of frozen models; the keys are their Python ``id()``. Each model is
    kept alive, so that no ``id()`` is reused."""

    def __init__(self, kept: int = KEPT) -> None:
        self._known: Newest[int, tuple[BaseModel, str]] = Newest(kept)
        self._adding = Lock()

    def text(self, model: BaseModel, write: Callable[[BaseModel], str]) -> str:
        remembered = self._known.get(id(model))
        if remembered is not None:
            return remembered[1]
        text = write(model)
        with self._adding:
            self._known[id(model)] = (model, text)
        return text
