"""Strict parsing of parameters and bodies; a 422 answer names what is wrong (contract 1.5 to 1.14
and 3.4)."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel
from starlette.requests import Request

from swapdesk.service.errors import ServiceError
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode_json, encode_json, validate
from swapdesk.wire.encoding.dialect import VENDOR_NAMES
from swapdesk.wire.encoding.query import QueryError, parse_query
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.model import RequestModel
from swapdesk.wire.operations import BODY_LIMIT

M = TypeVar("M", bound=BaseModel)

NOT_A_CREDENTIAL = "apiKey"
"""Name of a query parameter that is never accepted as a credential; no operation has it (contract
2.4)."""

_API_KEY = NOT_A_CREDENTIAL.encode()

_NAME_SHOWN = 64
_VALUE_SHOWN = 256
_MORE = "…"
_FIELDS_SHOWN = 50


class NoParameters(RequestModel):
    """The parameters of an operation that has none."""


def names_api_key(query_string: bytes) -> bool:
    """Returns whether a query string, even a malformed one, has a parameter named ``apiKey``."""
    names = (part.partition(b"=")[0] for part in query_string.split(b"&"))
    return any(unquote_to_bytes(name.replace(b"+", b" ")) == _API_KEY for name in names)


def query_pairs(query_string: bytes) -> list[tuple[str, str]]:
    """Decodes names and values of a query string. Raises a 422 error for bytes that are not
    UTF-8."""
    pairs = []
    for part in query_string.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            pairs.append((_decoded(name), _decoded(value)))
    return pairs


def _decoded(text: bytes) -> str:
    try:
        return unquote_to_bytes(text.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        name = safe_text(text.decode("latin-1"), _NAME_SHOWN)
        raise _unreadable({name: FieldProblem(message="must be percent-encoded UTF-8")}) from None


def as_sent(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    sent: dict[str, list[str]] = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in sent.items()}


def parameters(model: type[M], pairs: list[tuple[str, str]]) -> M:
    """Validates query or path parameters as ``model``. Raises a 422 error that names every wrong
    parameter."""
    try:
        return parse_query(model, pairs)
    except QueryError as error:
        wrong, sent = error.fields, as_sent(pairs)
    raise _unreadable(
        {
            safe_text(name, _NAME_SHOWN): FieldProblem(
                message=problem, value=_shown(sent.get(name))
            )
            for name, problem in list(wrong.items())[:_FIELDS_SHOWN]
        }
    )


async def raw_body(request: Request) -> bytes:
    """Returns a request's body. Raises a 415 error for anything but plain JSON in UTF-8, a 413
    error above BODY_LIMIT."""
    content_type = request.headers.get("content-type", "")
    kind, *rest = (part.strip().lower() for part in content_type.split(";"))
    named = (part.partition("=") for part in rest)
    charsets = {value.strip('"') for name, _, value in named if name == "charset"}
    if kind != "application/json" or not charsets <= {"utf-8"}:
        raise ServiceError(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE, "The body must be application/json in UTF-8."
        )
    codings = request.headers.getlist("content-encoding")
    if any(coding.strip().lower() != "identity" for coding in codings):
        raise ServiceError(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE, "The body must be sent without a content-encoding."
        )
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > BODY_LIMIT:
        raise _too_large()
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > BODY_LIMIT:
            raise _too_large()
    return bytes(chunks)


def json_object(data: bytes) -> dict[str, Any]:
    try:
        value = decode_json(data, max_bytes=BODY_LIMIT)
    except CodecError as error:
        message = f"The body is no acceptable JSON: {error}."
        raise ServiceError(ErrorCode.BAD_REQUEST, message) from None
    if not isinstance(value, dict):
        raise ServiceError(ErrorCode.BAD_REQUEST, "The body must be a JSON object.")
    return value


def body(model: type[M], sent: dict[str, Any]) -> M:
    """Validates a body as ``model``. Raises a 422 error that names every wrong field."""
    try:
        return validate(model, sent, side="service")
    except ShapeError as error:
        wrong = error.fields
    raise _unreadable(
        {
            path: FieldProblem(message=message, value=_sent(sent, path))
            for path, message in wrong[:_FIELDS_SHOWN]
        }
    )


def with_values(error: ServiceError, sent: dict[str, Any]) -> ServiceError:
    """Returns the error, after adding to each of its fields the value that was sent (contract
    3.2)."""
    for fields in (error.fields or {}, error.vendors[1] if error.vendors is not None else {}):
        for path, problem in fields.items():
            fields[path] = problem.model_copy(update={"value": _sent(sent, path)})
    return error


def _too_large() -> ServiceError:
    return ServiceError(
        ErrorCode.PAYLOAD_TOO_LARGE,
        f"The body is larger than {BODY_LIMIT} bytes.",
        headers={"connection": "close"},
    )


def _unreadable(fields: dict[str, FieldProblem]) -> ServiceError:
    return ServiceError(ErrorCode.VALIDATION_ERROR, "Validation Failed", fields=fields)


def _sent(value: object, path: str) -> object:
    for step in path.split("."):
        if isinstance(value, dict):
            names = (name for name in (step, *VENDOR_NAMES.get(step, ())) if name in value)
            value = value.get(next(names, step))
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return _shown(value)


def _shown(value: object) -> object:
    if isinstance(value, list):
        return _first_elements(value)
    if isinstance(value, dict):
        text = encode_json(value).decode()
        return value if len(text) <= _VALUE_SHOWN else _begin(text)
    if isinstance(value, str):
        return value if len(value) <= _VALUE_SHOWN else _begin(value)
    return value if isinstance(value, bool) else None


def _begin(text: str) -> str:
    return text[:_VALUE_SHOWN] + _MORE


def _first_elements(values: list[object]) -> list[object]:
    length = len("[]")
    for place, value in enumerate(values):
        length += len(encode_json(value).decode()) + (len(",") if place else 0)
        if length > _VALUE_SHOWN:
            return [*values[:place], _MORE]
    return values
