"""The API as the service describes it: operations, inputs and fields, from the wire models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel

from generator.markdown import anchor, code, codes, page, section, sentence, table
from swapdesk.service.openapi import LINE, converted, document
from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BODY_LIMIT, BY_NAME, OPERATIONS, STREAM_PATH

Schema = dict[str, Any]


@cache
def described() -> Schema:
    """The OpenAPI document; its version is nowhere shown."""
    return document("0")


def api_page() -> str:
    return page(
        "The API",
        "Every operation with its inputs, its codes and the fields of its answers, from the table"
        " of operations and the models that the service checks with. `swapdesk api` prints answers"
        " with these fields, and the `order` of other commands has them. What they mean is in"
        " [contract.md](../contract.md), what the codes mean in [errors.md](errors.md).",
        section(
            "Operations",
            "Paths are below `/v2`. Access `key` needs an API key, `read` a key or a `partner-id`,"
            f" `open` nothing. A request body has at most {BODY_LIMIT:,} bytes. The WebSocket is at"
            f" `{STREAM_PATH}`.",
            table(
                ("Call", "Name", "Answers", "Access", "Counted as", "Waits at most"),
                map(_row, OPERATIONS),
            ),
        ),
        *map(_operation, OPERATIONS),
        section(
            "Objects",
            "A field of an answer without `yes` under Always may be absent. Unknown fields of a"
            " request are refused, those of an answer are ignored.",
            *(
                _object(name, schema)
                for name, schema in described()["components"]["schemas"].items()
            ),
        ),
    )


def _row(operation: Operation) -> tuple[str, ...]:
    link = f"[`{operation.name}`](#{operation.name})"
    call = code(f"{operation.method} {operation.path}")
    return (
        call,
        link,
        sentence(operation.summary),
        operation.access,
        operation.rate_class,
        f"{operation.deadline:g} s",
    )


def _operation(operation: Operation) -> str:
    entry = described()["paths"][operation.path][operation.method.lower()]
    answer = entry["responses"]["200"]["content"]["application/json"]["schema"]
    inputs = [
        (
            code(parameter["name"]),
            parameter["in"],
            *shape(parameter["schema"]),
            "yes" if parameter["required"] else "",
        )
        for parameter in entry.get("parameters", ())
    ]
    body = entry.get("requestBody", {}).get("content", {}).get("application/json", {})
    facts = [("Call", code(f"{operation.method} {operation.path}"))]
    if body:
        facts.append(("Body", shape(body["schema"])[0]))
    facts += [("Answer", shape(answer)[0]), ("Codes", codes(operation.errors))]
    return section(
        operation.name,
        "\n".join(f"- {name}: {value}" for name, value in facts),
        table(("Input", "In", "Type", "Bounds", "Required"), inputs),
        level=3,
    )


def _object(name: str, schema: Schema) -> str:
    always = schema.get("required", ())
    rows = [
        (code(field), *shape(one), "yes" if field in always else "")
        for field, one in schema.get("properties", {}).items()
    ]
    text = schema.get("description", "")
    # What is sent is closed, what is answered is open.
    must = "Always" if schema.get("additionalProperties") is not False else "Required"
    return section(
        name,
        anchor(_anchor(name)) if _anchor(name) != name.lower() else "",
        sentence(text) if text else "",
        table(("Field", "Type", "Bounds", must), rows),
        level=3,
    )


def shape_of(model: type[BaseModel]) -> dict[str, tuple[str, str]]:
    """Type and bounds of the fields of a model that is no part of the API, by their wire names."""
    schema = model.model_json_schema(by_alias=True, schema_generator=WireJsonSchema)
    inner = schema.get("$defs", {})
    return {
        name: shape(converted(_resolved(field, inner)))
        for name, field in schema["properties"].items()
    }


def _resolved(schema: Any, inner: Schema) -> Any:
    if isinstance(schema, list):
        return [_resolved(item, inner) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(inner[schema["$ref"].rpartition("/")[2]], inner)
    return {key: _resolved(member, inner) for key, member in schema.items() if key != "description"}


def shape(schema: Schema) -> tuple[str, str]:
    """The type of a value and what bounds it, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})", ""
    if "allOf" in schema:
        text, bounds = shape(schema["allOf"][0])
        return _or_null(text, schema), bounds
    if "anyOf" in schema:
        # An alternative that is null alone is what ``nullable`` says.
        choices = [choice for choice in schema["anyOf"] if choice.get("enum") != [None]]
        return _or_null(" or ".join(shape(choice)[0] for choice in choices), schema), ""
    if "enum" in schema:
        return _or_null("one of", schema), codes(schema["enum"])
    kind = schema.get("type", "any")
    bounds = ", ".join(_bounds(schema))
    if kind == "array":
        inner, of_inner = shape(schema.get("items", {}))
        items = f"each {of_inner}" if of_inner else ""
        return _or_null(f"list of {inner}", schema), ", ".join(filter(None, (bounds, items)))
    if kind == "object":
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            inner, of_inner = shape(extra)
            return _or_null(f"object of {inner}", schema), of_inner
    if kind == "string":
        kind = {"date-time": "time", LINE: "line"}.get(schema.get("format", ""), "text")
    return _or_null(str(kind), schema), bounds


def _anchor(name: str) -> str:
    """Of an object: its heading, or its own where an operation has a heading of that name."""
    return f"object-{name.lower()}" if name.lower() in BY_NAME else name.lower()


def _or_null(text: str, schema: Schema) -> str:
    return f"{text}, or null" if schema.get("nullable") else text


def _bounds(schema: Schema) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        yield f"above {_number(low)}" if schema.get("exclusiveMinimum") else f"from {_number(low)}"
    if high is not None:
        yield f"below {_number(high)}" if schema.get("exclusiveMaximum") else f"to {_number(high)}"
    if "maxLength" in schema:
        least = schema.get("minLength", 0)
        many = f"{least} to {schema['maxLength']}" if least else f"at most {schema['maxLength']}"
        yield f"{many} characters"
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']}"
    if "pattern" in schema:
        yield code(schema["pattern"])
    if "default" in schema and schema["default"] not in ("", []):
        yield f"default {code(str(schema['default']).lower())}"


def _number(value: Any) -> str:
    digits = re.sub(r"\.0$", "", str(value))
    if re.fullmatch("9{7,}", digits):
        return f"1e{len(digits)} - 1"
    return f"{int(digits):,}" if digits.lstrip("-").isdigit() else digits
