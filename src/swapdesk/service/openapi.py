"""The OpenAPI 3.0.3 document of this service, written from the operations table."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from swapdesk.service.openapi_schemas import LINE, converted, not_null, schemas
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.encoding.numbers import INTEGER_LIMIT, MAGNITUDE_LIMIT
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode, ValidationBody
from swapdesk.wire.operation import Access, Operation
from swapdesk.wire.operations import BY_NAME, OPERATIONS, STREAM_PATH

_DESCRIPTION = f"""\
Quote, create and track swap orders. Amounts are decimal numbers in the token's own units.

**Access.** `Authorization: <ApiKey>:<ApiSecret>`, sent raw, for everything; `partner-id` alone
for reading reference data, quotes and an order by its id. An `apiKey` query parameter is not a
credential: it is ignored when `Authorization` is sent, and answered 401 without it.

**Strictness.** Unknown or repeated parameters, empty values and unknown body fields are
answered 422 with `fields`. Numbers in a query have ASCII digits and at most one point, no sign
and no exponent. Text of format `{LINE}` is one line without control characters and without a
blank at either end. Branch on `code`, never on `message`; the set of codes is open. Paths have
no trailing slash. HEAD and OPTIONS are answered 405 with `Allow`.

**Order updates.** A WebSocket at `{STREAM_PATH}` (API key only) sends `welcome`, and after
`{{"type":"subscribe"}}` (all orders) or `{{"type":"subscribe","serviceIds":[...]}}` an
`order_update` with the order in `data` for every change. `unsubscribe` and `ping` exist too.
Nothing is replayed after a reconnect: read `GET /orders` again.
"""

_STATUS_MEANING = {
    400: "The request is malformed.",
    401: "The credentials are missing, unknown, or not enough for this operation.",
    403: "The account or the key may not do this.",
    404: "Nothing is known under this path or id, or the token is disabled.",
    409: "What is asked for is held by something else.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "An input is invalid; `fields` names it.",
    429: "Too many requests.",
    500: "The service failed.",
    502: "No provider could open the exchange.",
    503: "The service, or the outcome, is not available at present.",
}

_HEADERS = {
    "x-request-id": {
        "description": "Unique id of the request, quoted to support.",
        "required": True,
        "schema": {"type": "string", "format": "uuid"},
    },
    "Date": {
        "description": "Time of the service when it answered.",
        "required": True,
        "schema": {"type": "string"},
    },
}
_RETRY_AFTER = {
    "description": "Seconds to wait before the next request.",
    "schema": {"type": "string"},
}


def document(version: str) -> dict[str, Any]:
    """The whole document; ``version`` is that of the service."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Partner Swap API",
            "version": version,
            "description": _DESCRIPTION,
        },
        "servers": [{"url": "/v2"}],
        "paths": paths,
        "components": {
            "schemas": schemas(_models()),
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`<ApiKey>:<ApiSecret>`, raw.",
                },
                "partnerId": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "partner-id",
                    "description": "Read-only access.",
                },
            },
        },
    }


@cache
def encoded_document(version: str) -> bytes:
    """The document as JSON; written once, because it depends on the version alone."""
    return encode_json(document(version))


def _models() -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = [ErrorBody, ValidationBody]
    for operation in OPERATIONS:
        result = operation.result
        for part in (result, *get_args(result), operation.body):
            if isinstance(part, type) and issubclass(part, BaseModel):
                found.append(part)
    return found


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": _security(operation.access),
        "responses": _responses(operation),
    }
    parameters = [
        *_parameters(operation.path_parameters, "path"),
        *_parameters(operation.query, "query"),
    ]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(operation.body)}},
        }
    return described


def _security(access: Access) -> list[dict[str, list[str]]]:
    if access is Access.OPEN:
        return []
    if access is Access.KEY:
        return [{"apiKey": []}]
    return [{"apiKey": []}, {"partnerId": []}]


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _parameters(model: type[BaseModel] | None, place: str) -> list[dict[str, Any]]:
    """One entry per field; a list is a repeated name. Absent and null are no values of a query."""
    if model is None:
        return []
    schema = model.model_json_schema(
        by_alias=True, mode="validation", schema_generator=WireJsonSchema
    )
    inner = schema.get("$defs", {})
    found = []
    for key, field in model.model_fields.items():
        name = wire_names(key, field)[0]
        value = not_null(converted(_resolved(schema["properties"][name], inner)))
        _bound(value)
        entry = {
            "name": name,
            "in": place,
            "required": place == "path" or field.is_required(),
            "schema": value,
        }
        if value.get("type") == "array":
            _bound(value["items"])
            value.setdefault("minItems", 1)
            entry |= {"style": "form", "explode": True}
        found.append(entry)
    return found


def _bound(value: dict[str, Any]) -> None:
    """What holds for every parameter: no empty text, and numbers of bounded size."""
    kind = value.get("type")
    if kind == "string" and "enum" not in value:
        value.setdefault("minLength", 1)
    elif kind == "integer":
        value.setdefault("minimum", 1 - INTEGER_LIMIT)
        value.setdefault("maximum", INTEGER_LIMIT - 1)
    elif kind == "number":
        value.setdefault("minimum", 0)
        value.setdefault("maximum", 10**MAGNITUDE_LIMIT - 1)


def _resolved(schema: Any, inner: dict[str, Any]) -> Any:
    """The schema with the enumerations of the model put in place."""
    if isinstance(schema, list):
        return [_resolved(item, inner) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = inner[schema["$ref"].rsplit("/", 1)[1]]
        return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {key: _resolved(value, inner) for key, value in schema.items()}


def _responses(operation: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "200": {
            "description": operation.summary,
            "headers": _HEADERS,
            "content": {"application/json": {"schema": _result(operation.result)}},
        }
    }
    if operation.links:
        answers["200"]["links"] = {
            target: _link(target, taken) for target, taken in operation.links.items()
        }
    by_status: dict[int, list[ErrorCode]] = {}
    for code in operation.errors:
        by_status.setdefault(STATUS_OF[code], []).append(code)
    for status, codes in sorted(by_status.items()):
        names = ", ".join(f"`{code}`" for code in codes)
        headers = {**_HEADERS, "retry-after": _RETRY_AFTER} if status == 429 else _HEADERS
        answers[str(status)] = {
            "description": f"{_STATUS_MEANING[status]} {names}",
            "headers": headers,
            "content": {
                "application/json": {
                    "schema": _reference(ValidationBody if status == 422 else ErrorBody)
                }
            },
        }
    return answers


def _result(result: Any) -> dict[str, Any]:
    if isinstance(result, type) and issubclass(result, BaseModel):
        return _reference(result)
    if get_origin(result) is list:
        return {"type": "array", "items": _result(get_args(result)[0])}
    return {"type": "boolean" if result is bool else "object"}


def _link(target: str, taken: dict[str, str]) -> dict[str, Any]:
    """The operation ``target`` with inputs taken from an answer, by their JSON pointers there.

    Raises LookupError for an input the target does not have.
    """
    operation = BY_NAME[target]
    parameters = {*_names(operation.path_parameters), *_names(operation.query)}
    if unknown := taken.keys() - parameters - set(_names(operation.body)):
        raise LookupError(f"{target} has no input {sorted(unknown)} to link to")
    link: dict[str, Any] = {"operationId": target}
    for name, pointer in taken.items():
        place = "parameters" if name in parameters else "requestBody"
        link.setdefault(place, {})[name] = f"$response.body#{pointer}"
    return link


def _names(model: type[BaseModel] | None) -> list[str]:
    fields = {} if model is None else model.model_fields
    return [wire_names(key, field)[0] for key, field in fields.items()]
