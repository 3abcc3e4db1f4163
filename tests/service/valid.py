"""Answers against the served OpenAPI document."""

from __future__ import annotations

from typing import Any

from openapi_schema_validator import OAS30Validator


def require_valid(document: dict[str, Any], model: str, value: Any) -> None:
    """Raise ValidationError for a value that is not of this schema of the document."""
    schema = {"$ref": f"#/components/schemas/{model}", "components": document["components"]}
    OAS30Validator(schema).validate(value)
