"""Reading an error body: whatever can be read of it, and the status for the rest.

Accepts the contract's body, older shapes with an integer code, and gateways that answer
with HTML or nothing (contract 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any

from swapdesk.client.errors import Answered, ApiError, Refusal, api_error
from swapdesk.wire.encoding.codec import CodecError, decode_json, validate
from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.text import Identity, safe_text
from swapdesk.wire.errors import FieldProblem

ERROR_LIMIT = 64 * 1024
BEGIN_CHARACTERS = 200
_MAX_FIELDS = 50
_LONGEST_WAIT = 10.0**9
"""Seconds. More cannot be added to a time."""


def refusal_of(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> ApiError:
    """The error of an answer of 400 and above. ``now`` is the service's time."""
    request_id = request_id_of(headers)
    wait = retry_after(headers.get("retry-after"), now)
    try:
        found = decode_json(body, side="client", max_bytes=ERROR_LIMIT)
    except CodecError:
        found = None
    if not isinstance(found, dict):
        return api_error(Refusal(status, None, "", request_id, {}, wait))
    if wait is None:
        wait = retry_after(str(found.get("retryAfter", "")), now)
    code = found.get("code")
    message = found.get("message")
    return api_error(
        Refusal(
            status=status,
            code=None if isinstance(code, WireNumber) else _identity(code, 64),
            message=safe_text(message, 1000) if isinstance(message, str) else "",
            request_id=request_id or _identity(found.get("requestId"), 128),
            fields=_fields(found.get("fields")),
            retry_after=wait,
        )
    )


def answered(status: int, headers: Mapping[str, str], body: bytes) -> Answered:
    """What to say of an answer that was refused."""
    text = body[: BEGIN_CHARACTERS * 4].decode("utf-8", "replace")
    return Answered(
        status=status,
        content_type=safe_text(headers.get("content-type", ""), 100),
        begin=safe_text(text, BEGIN_CHARACTERS),
        request_id=request_id_of(headers),
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The service's name for a request; None where it gave none, or none that can be shown."""
    return _identity(headers.get("x-request-id"), 128)


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds to wait, from delta seconds or an HTTP date; None when it says nothing usable."""
    if not text or len(text) > 64:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST_WAIT)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError):
        return None
    if at.tzinfo is None:
        return None
    return min(max(0.0, (at - now).total_seconds()), _LONGEST_WAIT)


def _identity(value: object, limit: int) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return validate(Annotated[str, Identity(limit)], value, side="client")  # type: ignore[arg-type]
    except CodecError:
        return None


def _fields(found: Any) -> dict[str, FieldProblem]:
    if not isinstance(found, dict):
        return {}
    fields: dict[str, FieldProblem] = {}
    for name, problem in list(found.items())[:_MAX_FIELDS]:
        try:
            fields[safe_text(name, 100)] = validate(FieldProblem, problem, side="client")
        except CodecError:
            continue
    return fields
