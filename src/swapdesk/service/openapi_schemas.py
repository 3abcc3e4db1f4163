"""JSON schemas of the wire models in the dialect of OpenAPI 3.0.

pydantic writes JSON Schema 2020-12; OpenAPI 3.0 has ``nullable`` instead of a null type, no
``const``, boolean exclusive bounds, and nothing beside a ``$ref``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.model import WireModel

REF = "#/components/schemas/{model}"
LINE = "line"
"""Format of free text: one printable line without a blank at either end."""

# The short names stand on types with a validator of our own.
_BOUNDS = {
    "ge": ("minimum", False),
    "gt": ("minimum", True),
    "le": ("maximum", False),
    "lt": ("maximum", True),
    "exclusiveMinimum": ("minimum", True),
    "exclusiveMaximum": ("maximum", True),
}
_UNSUPPORTED = frozenset({"prefixItems", "examples", "patternProperties", "$defs", "if", "not"})


def schemas(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """Component schemas of the models and everything they hold, by name."""
    named = sorted(set(models), key=lambda model: model.__name__)
    _, top = models_json_schema(
        [(model, "validation") for model in named],
        by_alias=True,
        ref_template=REF,
        schema_generator=WireJsonSchema,
    )
    known = _known(named)
    return {
        name: _completed(converted(schema), known.get(name))
        for name, schema in sorted(top["$defs"].items())
    }


def _known(models: Iterable[type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """The models and every model inside them, by class name."""
    found: dict[str, type[BaseModel]] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop()
        if model.__name__ in found:
            continue
        found[model.__name__] = model
        for field in model.model_fields.values():
            waiting.extend(_inside(field.annotation))
    return found


def _inside(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _inside(part)]


def _completed(schema: dict[str, Any], model: type[BaseModel] | None) -> dict[str, Any]:
    """What pydantic cannot know: which fields of an answer are always there, which may be null."""
    if model is None or not issubclass(model, WireModel):
        return schema
    properties = schema.get("properties", {})
    always = [
        name
        for key, field in model.model_fields.items()
        if _always(model, key, field) and (name := _written_name(key, field)) in properties
    ]
    if always:
        schema["required"] = always
    for name, inner in properties.items():
        # A value that is None is left out of an answer, unless its null has a meaning.
        if name not in model.NULLABLE:
            properties[name] = not_null(inner)
    return schema


def _always(model: type[WireModel], key: str, field: FieldInfo) -> bool:
    default = field.get_default(call_default_factory=True, validated_data={})
    return field.is_required() or default is not None or _written_name(key, field) in model.NULLABLE


def _written_name(key: str, field: FieldInfo) -> str:
    return field.serialization_alias or wire_names(key, field)[0]


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, or null; beside a reference nothing may stand in OpenAPI 3.0."""
    if "$ref" in schema:
        return {"allOf": [schema], "nullable": True}
    return {**schema, "nullable": True}


def not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its null."""
    kept = {key: value for key, value in schema.items() if key != "nullable"}
    return kept["allOf"][0] if kept.keys() == {"allOf"} else kept


def converted(schema: Any) -> Any:
    """One schema of JSON Schema 2020-12 in the dialect of OpenAPI 3.0.

    Raises ValueError for a keyword that has no counterpart.
    """
    if isinstance(schema, list):
        return [converted(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if unsupported := _UNSUPPORTED & schema.keys():
        raise ValueError(f"OpenAPI 3.0 has no {', '.join(sorted(unsupported))}")
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: converted(inner) for name, inner in value.items()}
        elif key == "const":
            out["enum"] = [value]
        elif key in _BOUNDS:
            bound, exclusive = _BOUNDS[key]
            out[bound] = value
            if exclusive:
                out["exclusive" + bound.capitalize()] = True
        elif key == "anyOf":
            out.update(_alternatives(value))
        elif key == "description":
            out[key] = _sentence(value)
        elif key == "title" or (key == "default" and value is None):
            continue
        else:
            out[key] = converted(value)
    if out.get("type") == "string" and "maxLength" in out and "pattern" not in out:
        out["format"] = LINE
    if "$ref" in out and len(out) > 1:
        out["allOf"] = [{"$ref": out.pop("$ref")}]
    return out


def _sentence(docstring: str) -> str:
    """The first paragraph of a docstring, with the names of the wire."""
    first = " ".join(docstring.split("\n\n")[0].split())
    return re.sub("``([A-Za-z_.]+)``", lambda name: f"`{to_camel(name[1])}`", first)


def _alternatives(choices: list[dict[str, Any]]) -> dict[str, Any]:
    left = [converted(choice) for choice in choices if choice != {"type": "null"}]
    found = left[0] if len(left) == 1 else {"anyOf": left}
    return nullable(found) if len(left) < len(choices) else found
