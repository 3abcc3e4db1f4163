"""What both sides tell each other, as JSON values and back.

Reading is strict: a field that is missing, of another type or not known refuses the whole,
because the agent decides by these objects what it signs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from swapdesk.wallet.payload import (
    OperationPayload,
    Payload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json

T = TypeVar("T")

_STRICT = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
_PAYLOADS: dict[str, type[Any]] = {
    "typed_data": TypedDataPayload,
    "transaction": TransactionPayload,
    "solana": SolanaPayload,
    "operation": OperationPayload,
}
MAX_DOCUMENT = 256 << 10
"""Largest typed-data document, in bytes of its JSON."""


class MessageError(ValueError):
    """Not what both sides agreed on. The words name fields, never values."""


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    adapter = _adapters.get(kind)
    if adapter is None:
        # A plain dataclass takes its configuration from what holds it: a tuple of one.
        holder: Any = tuple[kind]
        adapter = _adapters.setdefault(kind, TypeAdapter(holder, config=_STRICT))
    return adapter


def to_json(value: Any) -> Any:
    """A dataclass of this room as plain JSON values."""
    return _adapter(type(value)).dump_python((value,), mode="json")[0]


def from_json(kind: type[T], value: object) -> T:
    """The dataclass again. Raises MessageError."""
    try:
        text = json.dumps([value])
        checked: T = _adapter(kind).validate_json(text)[0]
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        places = ", ".join(".".join(map(str, one["loc"][1:])) or "all of it" for one in found[:3])
    except (TypeError, ValueError, RecursionError):
        places = "all of it"
    else:
        return checked
    raise MessageError(f"{kind.__name__} cannot be read: {places}")


def payload_to_json(payload: Payload) -> dict[str, Any]:
    """A payload with its kind. A typed-data document travels as the JSON text it is, so that a
    number stays a number with the digits it came with."""
    kind = next(name for name, one in _PAYLOADS.items() if isinstance(payload, one))
    if not isinstance(payload, TypedDataPayload):
        return {"kind": kind, "payload": to_json(payload)}
    document = encode_json(payload.document).decode()
    bare = to_json(replace(payload, document={}))
    return {"kind": kind, "payload": bare, "document": document}


def payload_from_json(value: object) -> Payload:
    """Raises MessageError."""
    if not isinstance(value, dict) or value.get("kind") not in _PAYLOADS:
        raise MessageError("a payload of no known kind")
    payload: Payload = from_json(_PAYLOADS[value["kind"]], value.get("payload"))
    if not isinstance(payload, TypedDataPayload):
        return payload
    text = value.get("document")
    if not isinstance(text, str):
        raise MessageError("typed data without its document")
    try:
        document = decode_json(text.encode(), max_bytes=MAX_DOCUMENT)
    except (CodecError, UnicodeEncodeError) as error:
        raise MessageError(f"the document is no acceptable JSON: {error}") from None
    if not isinstance(document, dict):
        raise MessageError("the document is no JSON object")
    return replace(payload, document=document)
