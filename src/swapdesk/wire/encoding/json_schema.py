"""JSON schemas of wire types in standard JSON Schema.

pydantic writes a bound of a custom number type under its own name (``ge``), but readers of the
OpenAPI document only know ``minimum``.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from swapdesk.wire.encoding.readers import BOUNDS


class WireJsonSchema(GenerateJsonSchema):
    """A ``schema_generator`` for pydantic that writes bounds under their standard names
    (``minimum``, ``exclusiveMinimum`` and so on). Bounds and defaults in the schema are int or
    Decimal, never float or text, so that ``encode_json`` can write them."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        json_schema = super().generate_inner(schema)
        for ours, theirs in BOUNDS.items():
            if ours in json_schema:
                json_schema[theirs] = _number(json_schema.pop(ours))
        return json_schema

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, Decimal) else super().encode_default(dft)


def _number(value: Any) -> Any:
    """Returns a bound as a Decimal if pydantic gives it as text or float; any other value
    unchanged."""
    if isinstance(value, (str, float)):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return value
    return value
