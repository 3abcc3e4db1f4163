"""Types read by one function of ours: the bridge to pydantic's schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import CoreSchema, core_schema


def schema_metadata(json_schema: dict[str, Any]) -> dict[str, Any]:
    """Core schema metadata under which a custom-read type has ``json_schema``."""
    return {"pydantic_js_functions": [lambda _schema, _handler: dict(json_schema)]}


def plain_reader(read: Callable[[Any], Any], json_schema: dict[str, Any]) -> CoreSchema:
    """A type read by ``read`` alone and described by ``json_schema``."""
    return core_schema.no_info_plain_validator_function(read, metadata=schema_metadata(json_schema))
