"""What both sides tell each other, as JSON values and back.

Reading is strict: a field that is missing, of another type or not known refuses the whole,
because the agent decides by these objects what it signs.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json

S = TypeVar("S", bound=Struct)

_PLACE = re.compile(r"(?:field|at) `(?:\$\.)?([^`]+)`")
"""The fields that an error names; beside them it says values of the other side."""
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


def to_json(value: Struct) -> Any:
    """A struct of this room as plain JSON values."""
    return msgspec.to_builtins(value)


def from_json(kind: type[S], value: object) -> S:
    """The struct again. Raises MessageError."""
    try:
        return msgspec.json.decode(json.dumps(value), type=kind)
    except msgspec.ValidationError as error:
        places = " in ".join(_PLACE.findall(str(error))) or "all of it"
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        places = "all of it"
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
