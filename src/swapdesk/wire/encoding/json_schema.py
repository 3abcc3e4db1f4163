"""JSON schemas of wire types, in the words of JSON Schema.

pydantic writes a bound on a custom-read number under its own name (``ge``); readers of the OpenAPI
document know ``minimum`` alone.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from swapdesk.wire.encoding.readers import BOUNDS


class WireJsonSchema(GenerateJsonSchema):
    """Use as ``schema_generator``: bounds become ``minimum``, ``exclusiveMinimum`` and so on.

    Bounds and defaults are int or Decimal, never float or text; ``encode_json`` writes them.
    """

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        json_schema = super().generate_inner(schema)
        for ours, theirs in BOUNDS.items():
            if ours in json_schema:
                json_schema[theirs] = _number(json_schema.pop(ours))
        return json_schema

    def encode_default(self, dft: Any) -> Any:
        return dft if isinstance(dft, Decimal) else super().encode_default(dft)


def _number(value: Any) -> Any:
    """pydantic hands a Decimal bound over as text or float."""
    if isinstance(value, (str, float)):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return value
    return value
