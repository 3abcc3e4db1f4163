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
    """A ``schema_generator`` for pydantic that writes bounds under their standard names, as int or
    Decimal."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        json_schema = super().generate_inner(schema)
        for ours, theirs in BOUNDS.items():
            if ours in json_schema:
                json_schema[theirs] = _number(json_schema.pop(ours))
        return json_schema

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, Decimal) else super().encode_default(dft)


def _number(value: Any) -> Any:
    if isinstance(value, (str, float)):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return value
    return value
