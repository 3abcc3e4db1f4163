"""Error bodies and the open set of codes (contract 3.1 to 3.5)."""

from enum import StrEnum
from typing import Annotated, Any

from swapdesk.wire.encoding.text import Display, Identity
from swapdesk.wire.model import WireModel


class ErrorCode(StrEnum):
    """The error codes of the service. More may be added: for an unknown code, decide by the HTTP
    status."""

    BAD_REQUEST = "BAD_REQUEST"
    INVALID_API_CREDENTIALS = "INVALID_API_CREDENTIALS"
    PARTNER_ID_NOT_SUPPORTED = "PARTNER_ID_NOT_SUPPORTED"
    ACCESS_DENIED = "ACCESS_DENIED"
    FIXED_RATE_NOT_ALLOWED = "FIXED_RATE_NOT_ALLOWED"
    NOT_FOUND = "NOT_FOUND"
    TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND"
    TOKEN_DISABLED = "TOKEN_DISABLED"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    ALREADY_SUBMITTED = "ALREADY_SUBMITTED"
    STATIC_DEPOSIT_IN_USE = "STATIC_DEPOSIT_IN_USE"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    AMOUNT_TOO_LOW = "AMOUNT_TOO_LOW"
    QUOTE_OVER_LIMIT = "QUOTE_OVER_LIMIT"
    INVALID_SWAP = "INVALID_SWAP"
    FIXED_RATE_QUOTE_EXPIRED = "FIXED_RATE_QUOTE_EXPIRED"
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"
    PROVIDER_EXCHANGE_FAILED = "PROVIDER_EXCHANGE_FAILED"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"


STATUS_OF: dict[ErrorCode, int] = {
    ErrorCode.BAD_REQUEST: 400,
    ErrorCode.INVALID_API_CREDENTIALS: 401,
    ErrorCode.PARTNER_ID_NOT_SUPPORTED: 401,
    ErrorCode.ACCESS_DENIED: 403,
    ErrorCode.FIXED_RATE_NOT_ALLOWED: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.TOKEN_NOT_FOUND: 404,
    ErrorCode.TOKEN_DISABLED: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.ALREADY_SUBMITTED: 409,
    ErrorCode.STATIC_DEPOSIT_IN_USE: 409,
    ErrorCode.PAYLOAD_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: 415,
    ErrorCode.VALIDATION_ERROR: 422,
    ErrorCode.AMOUNT_TOO_LOW: 422,
    ErrorCode.QUOTE_OVER_LIMIT: 422,
    ErrorCode.INVALID_SWAP: 422,
    ErrorCode.FIXED_RATE_QUOTE_EXPIRED: 422,
    ErrorCode.RATE_LIMIT_EXCEEDED: 429,
    ErrorCode.INTERNAL_SERVER_ERROR: 500,
    ErrorCode.PROVIDER_EXCHANGE_FAILED: 502,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
}


class FieldProblem(WireModel):
    """Why one input was refused. ``value`` is what the caller sent, or None."""

    message: Annotated[str, Display(500)]
    value: Any | None = None


class ErrorBody(WireModel):
    """The body of an error. Decide by ``code``, never by ``message``. ``request_id`` identifies the
    request to the service's support."""

    message: Annotated[str, Display(1000)]
    code: Annotated[str, Identity(64)]
    request_id: Annotated[str, Identity(128)] | None = None


class ValidationBody(ErrorBody):
    """The body of a 422 error. ``fields`` may be empty; its keys are inputs, or dotted paths of
    nested inputs."""

    fields: dict[str, FieldProblem]
