"""Generates the OpenAPI 3.0.3 document of this service from the operations table. pydantic's JSON
Schema 2020-12 is converted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.json_schema import WireJsonSchema
from swapdesk.wire.encoding.numbers import INTEGER_LIMIT, MAGNITUDE_LIMIT
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode, ValidationBody
from swapdesk.wire.model import WireModel
from swapdesk.wire.operation import Access, Operation
from swapdesk.wire.operations import BY_NAME, OPERATIONS, STREAM_PATH, operations_in
from swapdesk.wire.price_tiers import PriceTier

REF = "#/components/schemas/{model}"
LINE = "line"
"""The ``format`` of a string field that holds free text: one printable line without a blank at
either end."""

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
    named = sorted(set(models), key=lambda model: model.__name__)
    _, top = models_json_schema(
        [(model, "validation") for model in named],
        by_alias=True,
        ref_template=REF,
        schema_generator=WireJsonSchema,
    )
    by_name = _known(named)
    return {
        name: _completed(converted(schema), by_name.get(name))
        for name, schema in sorted(top["$defs"].items())
    }


def _known(models: Iterable[type[BaseModel]]) -> dict[str, type[BaseModel]]:
    by_name: dict[str, type[BaseModel]] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop()
        if model.__name__ in by_name:
            continue
        by_name[model.__name__] = model
        for field in model.model_fields.values():
            waiting.extend(_inside(field.annotation))
    return by_name


def _inside(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _inside(part)]


def _completed(schema: dict[str, Any], model: type[BaseModel] | None) -> dict[str, Any]:
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
    if model.REQUIRED is not None:
        return _written_name(key, field) in model.REQUIRED
    default = field.get_default(call_default_factory=True, validated_data={})
    return field.is_required() or default is not None or _written_name(key, field) in model.NULLABLE


def _written_name(key: str, field: FieldInfo) -> str:
    return field.serialization_alias or wire_names(key, field)[0]


_NULL = {"type": "object", "nullable": True, "enum": [None]}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema with null allowed, in the form that OpenAPI 3.0 requires."""
    if "$ref" in schema:
        # Beside a reference ``nullable`` says nothing: null is an alternative of its own.
        return {"anyOf": [schema, _NULL], "nullable": True}
    return {**schema, "nullable": True}


def not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema with null no longer allowed."""
    kept = {key: value for key, value in schema.items() if key != "nullable"}
    return kept["anyOf"][0] if kept.get("anyOf", [])[1:] == [_NULL] else kept


def converted(schema: Any) -> Any:
    """Converts a schema of JSON Schema 2020-12 to OpenAPI 3.0. Raises ValueError for a keyword that
    has no counterpart."""
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
    first = " ".join(docstring.split("\n\n")[0].split())
    return re.sub("``([A-Za-z_.]+)``", lambda name: f"`{to_camel(name[1])}`", first)


def _alternatives(choices: list[dict[str, Any]]) -> dict[str, Any]:
    left = [converted(choice) for choice in choices if choice != {"type": "null"}]
    alternative = left[0] if len(left) == 1 else {"anyOf": left}
    return nullable(alternative) if len(left) < len(choices) else alternative


_DESCRIPTION = f"""\
Quote, create and track swap orders. Amounts are decimal numbers in the token's own units.

**Access.** `Authorization: <ApiKey>:<ApiSecret>`, sent raw, for everything; `partner-id` alone
for reading reference data, quotes and an order by its id. An `apiKey` query parameter is not a
credential: it is ignored when `Authorization` is sent, and answered 401 without it.

**Payment.** A service that takes payments answers a call without credentials 402. It is sent
again with `payment-signature`, base64 of an x402 payment (version 2, scheme `exact`, EIP-3009)
over what `payment-required` asked for.

**Strictness.** Unknown or repeated parameters, empty values and unknown body fields are
answered 422 with `fields`. Numbers in a query have ASCII digits and at most one point, no sign
and no exponent. Text of format `{LINE}` is one line without control characters and without a
blank at either end. Branch on `code`, never on `message`; the set of codes is open. Paths have
no trailing slash. HEAD and OPTIONS are answered 405 with `Allow`.

**Pages.** What takes `partner-id` answers pages of every origin, and `OPTIONS` with
`access-control-request-method: GET` by 204; a partner may list the origins that it allows. An
API key is not taken from a page of another origin (403).

**Below the operations.** What is no HTTP request (400), has more than 16 KiB of header fields
(431), comes too slowly (408) or too often at once (503) gets the error body and an
`x-request-id` as well.

**Order updates.** A WebSocket at `{STREAM_PATH}` (API key only) sends `welcome`, and after
`{{"type":"subscribe"}}` (all orders) or `{{"type":"subscribe","serviceIds":[...]}}` an
`order_update` with the order in `data` for every change. `unsubscribe` and `ping` exist too.
Nothing is replayed after a reconnect: read `GET /orders` again. The handshake takes no
parameters (422).
"""

_STATUS_MEANING = {
    400: "The request is malformed.",
    401: "The credentials are missing, unknown, or not enough for this operation.",
    403: "The account or the key may not do this.",
    404: "Nothing is known under this path or id, or the token is disabled.",
    409: "What is asked for is held by something else.",
    413: "The body is too large.",
    415: "The body is not application/json, or it is encoded.",
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
_WINDOW = {
    "ratelimit-limit": {
        "description": "Calls that the window which binds takes; on calls that are counted.",
        "schema": {"type": "string"},
    },
    "ratelimit-remaining": {
        "description": "Calls that are left in it.",
        "schema": {"type": "string"},
    },
    "ratelimit-reset": {
        "description": "Seconds until it ends.",
        "schema": {"type": "string"},
    },
}
_PAID = {
    "payment-response": {
        "description": "To a call that was paid for: base64 of JSON with `success`, "
        "`transaction`, `network` and `payer`.",
        "schema": {"type": "string"},
    }
}
_PAGE = {
    "access-control-allow-origin": {
        "description": "To a request with `Origin`: the pages that may read the answer.",
        "schema": {"type": "string"},
    },
    "access-control-expose-headers": {
        "description": "To a request with `Origin`: the headers that a page may read.",
        "schema": {"type": "string"},
    },
}

# Answers that belong to a path, a port or a way of paying, and not to one operation.
_OTHERS = {
    402: "PaymentRequired",
    405: "MethodNotAllowed",
    421: "MisdirectedRequest",
}


def _other_answers() -> dict[str, Any]:
    error = {"application/json": {"schema": _reference(ErrorBody)}}
    return {
        "PaymentRequired": {
            "description": "A request without credentials has to be paid for. Only callers that "
            "pay per request ever get it; a service that takes no payments answers 401.",
            "headers": {
                **_HEADERS,
                "payment-required": {
                    "description": "What to pay: base64 of JSON, whose `accepts` entries have "
                    "`network`, `asset`, `amount`, `payTo`, `maxTimeoutSeconds` and `scheme`.",
                    "schema": {"type": "string"},
                },
                **_PAID,
            },
            "content": {
                "application/json": {"schema": {"type": "object", "maxProperties": 0}},
                "text/html": {"schema": {"type": "string"}},
            },
        },
        "MethodNotAllowed": {
            "description": "The path does not answer this method. `METHOD_NOT_ALLOWED`",
            "headers": {
                **_HEADERS,
                "allow": {
                    "description": "The methods that it answers.",
                    "required": True,
                    "schema": {"type": "string"},
                },
            },
            "content": error,
        },
        "MisdirectedRequest": {
            "description": "`Host` names somebody who is not served here. `BAD_REQUEST`",
            "headers": _HEADERS,
            "content": error,
        },
    }


def document(version: str, dialect: Dialect = Dialect.CONTRACT, server: str = "") -> dict[str, Any]:
    """Returns the whole OpenAPI document. ``version`` is the version of the service; ``server`` is
    the address of the service without ``/v2``."""
    paths: dict[str, Any] = {}
    for operation in operations_in(dialect):
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Partner Swap API",
            "version": version,
            "description": _DESCRIPTION,
        },
        "servers": [{"url": f"{server}/v2"}],
        "paths": paths,
        "components": {
            "schemas": schemas(_models()),
            "responses": _other_answers(),
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
def encoded_document(version: str, dialect: Dialect = Dialect.CONTRACT, server: str = "") -> bytes:
    """Returns the OpenAPI document as JSON, from a cache if possible."""
    return encode_json(document(version, dialect, server))


def _models() -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = [ErrorBody, ValidationBody]
    for operation in OPERATIONS:
        result = operation.result
        for part in (result, *get_args(result), operation.body):
            if isinstance(part, type) and issubclass(part, BaseModel):
                models.append(part)
    return models


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": _SECURITY[operation.access],
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


_SECURITY: dict[Access, list[dict[str, list[str]]]] = {
    Access.OPEN: [],
    Access.KEY: [{"apiKey": []}],
    Access.READ: [{"apiKey": []}, {"partnerId": []}],
}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _parameters(model: type[BaseModel] | None, place: str) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = model.model_json_schema(
        by_alias=True, mode="validation", schema_generator=WireJsonSchema
    )
    inner = schema.get("$defs", {})
    parameters = []
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
        parameters.append(entry)
    return parameters


def _bound(value: dict[str, Any]) -> None:
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
            "headers": {**_headers(operation), **_paid(operation)},
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
        headers = _headers(operation)
        if status in (429, 503):
            headers["retry-after"] = _RETRY_AFTER
        answers[str(status)] = {
            "description": f"{_STATUS_MEANING[status]} {names}",
            "headers": headers,
            "content": {
                "application/json": {
                    "schema": _reference(ValidationBody if status == 422 else ErrorBody)
                }
            },
        }
    for status, name in _OTHERS.items():
        if status != 402 or operation.access is not Access.OPEN:
            answers[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(answers.items()))


def _headers(operation: Operation) -> dict[str, Any]:
    counted = {} if operation.access is Access.OPEN else _WINDOW
    page = _PAGE if operation.access is Access.READ else {}
    return {**_HEADERS, **counted, **page}


def _paid(operation: Operation) -> dict[str, Any]:
    return {} if operation.price_tier is PriceTier.FREE else _PAID


def _result(result: Any) -> dict[str, Any]:
    if isinstance(result, type) and issubclass(result, BaseModel):
        return _reference(result)
    if get_origin(result) is list:
        return {"type": "array", "items": _result(get_args(result)[0])}
    return {"type": "boolean" if result is bool else "object"}


def _link(target: str, taken: dict[str, str]) -> dict[str, Any]:
    """Returns an OpenAPI link to the operation ``target``. ``taken`` maps names of the operation's
    inputs to JSON pointers into the linking answer. Raises LookupError if the operation lacks an
    input."""
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
