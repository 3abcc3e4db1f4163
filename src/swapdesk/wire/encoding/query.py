"""Query strings: the service reads them strictly and the client writes them, both with the same
models.

Source: contract 1.6 and 1.11 to 1.14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from msgspec import Struct
from pydantic import (
    AliasChoices,
    BaseModel,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from swapdesk.wire.encoding.codec import encode_json, sentence
from swapdesk.wire.encoding.numbers import INTEGER_LIMIT, NumberError, bounded, number_by
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.encoding.timestamps import ASKED_TIME

M = TypeVar("M", bound=BaseModel)

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?")


def _integer(value: object) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= INTEGER_LIMIT:
        raise NumberError("must be an integer")
    return value


def _number(value: object) -> Decimal:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Decimal(value)
    if isinstance(value, (Decimal, int)) and not isinstance(value, bool):
        return bounded(Decimal(value))
    raise NumberError("must be a number like 1.5")


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value == "true":
        return True
    if value == "false":
        return False
    raise NumberError("must be true or false")


QueryInteger = Annotated[int, number_by(_integer, "integer")]
"""An integer in a query: ``^-?(0|[1-9][0-9]*)$``, below 2^53."""

QueryNumber = Annotated[Decimal, number_by(_number, "number")]
"""A number in a query: ``^(0|[1-9][0-9]*)(\\.[0-9]+)?$``, at most 40 digits on each side."""

QueryBoolean = Annotated[bool, number_by(_boolean, "boolean")]
"""A truth value in a query: ``true`` or ``false``."""

QueryTime = Annotated[datetime, ASKED_TIME]
"""A time in a query: RFC 3339 or ``YYYY-MM-DD``, of any year. Without an offset it is UTC."""


class FreeText(Identity):
    """Metadata for a search text of limited length, in any script, without control characters."""


class QueryError(ValueError):
    """Raised for a wrong query. ``fields`` maps each wrong parameter to a sentence about it."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in fields.items()))
        self.fields = fields


class _Parameter(Struct, frozen=True):
    names: tuple[str, ...]
    many: bool
    ascii_only: bool


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)


def wire_names(name: str, field: FieldInfo) -> tuple[str, ...]:
    """Returns the names under which a query parameter is read. The contract's name comes first."""
    source = field.validation_alias or field.alias or name
    if isinstance(source, AliasChoices):
        return tuple(choice for choice in source.choices if isinstance(choice, str))
    return (source,) if isinstance(source, str) else (name,)


@lru_cache(maxsize=256)
def _parameters(model: type[BaseModel]) -> tuple[_Parameter, ...]:
    parameters = []
    for name, field in model.model_fields.items():
        parts = [*_parts(field.annotation), *field.metadata]
        many = any(get_origin(part) is list for part in parts)
        free = any(isinstance(part, FreeText) for part in parts)
        parameters.append(_Parameter(wire_names(name, field), many, not free))
    return tuple(parameters)


def _problem(parameter: _Parameter, values: list[str]) -> str | None:
    for value in values:
        if not value:
            return "must not be empty"
        if parameter.ascii_only and not value.isascii():
            return "must be ASCII"
    if len(values) > 1 and not parameter.many:
        return "must be given once"
    return None


def known_pairs(model: type[BaseModel], pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    names = {name for parameter in _parameters(model) for name in parameter.names}
    return [pair for pair in pairs if pair[0] in names]


def parse_query(model: type[M], pairs: list[tuple[str, str]]) -> M:
    """Reads decoded query pairs into ``model``. Only list fields may repeat; a comma does not
    separate values. Raises one :class:`QueryError` for all problems."""
    by_name = {name: p for p in _parameters(model) for name in p.names}
    sent: dict[str, list[str]] = {}
    spelled: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name, value in pairs:
        parameter = by_name.get(name)
        if parameter is None:
            problems[name] = "is no parameter of this operation"
            continue
        sent.setdefault(parameter.names[0], []).append(value)
        spelled.setdefault(parameter.names[0], name)
    accepted: dict[str, Any] = {}
    refused: set[str] = set()
    for canonical, values in sent.items():
        parameter = by_name[canonical]
        problem = _problem(parameter, values)
        if problem is not None:
            problems[spelled[canonical]] = problem
            refused.add(canonical)
        else:
            accepted[canonical] = values if parameter.many else values[0]
    try:
        parsed = model.model_validate(accepted, by_alias=True, by_name=False)
    except ValidationError as error:
        parsed = None
        for detail in error.errors(include_url=False):
            name = _name_of(detail, by_name)
            if name in refused:
                continue
            shown = spelled.get(name, name)
            problems.setdefault(shown, sentence(detail))
    if parsed is None or problems:
        raise QueryError(problems)
    return parsed


def _name_of(detail: ErrorDetails, by_name: dict[str, _Parameter]) -> str:
    if detail["loc"]:
        first = str(detail["loc"][0])
        return by_name[first].names[0] if first in by_name else first
    return str(detail.get("ctx", {}).get("field", ""))


def _written(value: object) -> str:
    return str(value) if isinstance(value, str) else encode_json(value).decode().strip('"')


def encode_query(model: BaseModel) -> list[tuple[str, str]]:
    """Returns the pairs of a query string, without unset fields and None. A list becomes several
    pairs."""
    pairs: list[tuple[str, str]] = []
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if value is None or name not in model.model_fields_set:
            continue
        wire_name = field.serialization_alias or wire_names(name, field)[0]
        values = value if isinstance(value, (list, tuple)) else [value]
        pairs.extend((wire_name, _written(item)) for item in values)
    return pairs
