"""The errors of a call to the service, as one tree of classes.

``ClientError`` is the root. Every error states whether the request may have been sent (``sent``),
and for a writing call whether its outcome is known (``definite``)::

    ClientError
      NotPaid             the wallet does not pay for the call; nothing was carried out
      RequestRefused      no such operation, or an invalid id or body; nothing was sent
      Unreachable         nothing was sent: no connection or TLS, or the deadline had passed
      NoAnswer            a reading call was sent and not answered in full; repeating is harmless
      AnswerRefused       a reading call got an unusable answer
      OutcomeUnknown      a writing call was sent, and nobody knows whether it was carried out
      ApiError            the service refused with 4xx, except for the statuses below
        AccessError       401, 403
        PaymentRequired   402
        NotFound          404
        Conflict          409
        RateLimited       429, with ``retry_after``
        ServiceFailed     5xx of a reading call

A known code decides the class of an ApiError, otherwise the HTTP status does (contract 3.1). For
a writing call, a refusal (4xx) is definite; a failure of the service, a missing or an unreadable
answer is not definite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from swapdesk.wire.errors import ErrorCode, FieldProblem

if TYPE_CHECKING:
    from swapdesk.client.payments import CallAuthorization


class ClientError(Exception):
    """Root of the errors of this module. ``definite`` is False only if a writing call may have been
    carried out."""

    sent: bool = False
    definite: bool = True
    payment: CallAuthorization | None = None
    """The payment signed for the call and sent with it (contract 14), if any."""

    def __init__(self, message: str, *, sent: bool | None = None) -> None:
        super().__init__(message)
        if sent is not None:
            self.sent = sent


class RequestRefused(ClientError):
    """Raised before anything is sent: an unknown operation, a value that is no id, or a wrong
    body."""


class Unreachable(ClientError):
    """Raised if nothing was sent, because there was no connection, TLS failed, or the deadline had
    passed."""


class NoAnswer(ClientError):
    """Raised if a reading call was sent but not answered in full."""

    sent = True


ANSWER_REASONS = (
    "redirect",
    "content_encoding",
    "too_large",
    "not_json",
    "wrong_shape",
    "other_id",
)


class AnswerRefused(ClientError):
    """Raised for an unusable answer, such as a redirect, invalid JSON, or data about another
    object. ``reason`` is one of ``ANSWER_REASONS``."""

    sent = True

    def __init__(
        self, message: str, reason: str, status: int, request_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status
        self.request_id = request_id


_NONE: Mapping[str, FieldProblem] = MappingProxyType({})


class ApiError(ClientError):
    """Raised if the service refused the call. Decide by class or ``code``, never by the message,
    which is safe to show. ``fields`` names refused inputs; ``retry_after`` is in seconds."""

    sent = True

    def __init__(
        self,
        status: int,
        code: str | None = None,
        message: str = "",
        request_id: str | None = None,
        fields: Mapping[str, FieldProblem] = _NONE,
        retry_after: float | None = None,
    ) -> None:
        name = code or f"HTTP {status}"
        super().__init__(f"{name}: {message}" if message else name)
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id
        self.fields = fields
        self.retry_after = retry_after

    def again(self, retry_after: float) -> ApiError:
        """Returns a copy of this error with another ``retry_after``, for use after a part of the
        wait is over."""
        return type(self)(
            self.status, self.code, self.message, self.request_id, self.fields, retry_after
        )


class AccessError(ApiError):
    """Raised if the credentials are missing, wrong, or not sufficient (401, 403)."""


class PaymentRequired(ApiError):
    """Raised if the service wants to be paid for the call (contract 14.1). ``required`` is the
    header with the terms."""

    required: str | None = None


class NotPaid(ClientError):
    """Raised if a call that costs money was not paid, because the wallet refused or the desk cannot
    pay. Nothing was signed."""

    def __init__(self, words: str, code: str, next_: str) -> None:
        super().__init__(words.rstrip("."))
        self.code = code
        self.next = next_


class NotFound(ApiError):
    """Raised for 404: the token is disabled, or the object is unknown, another partner's, or older
    than 48 hours."""


class Conflict(ApiError):
    """Raised if the call does not fit the present state (409)."""


class RateLimited(ApiError):
    """Raised for 429. ``retry_after`` is None if the service did not say how long to wait."""


class ServiceFailed(ApiError):
    """Raised if the service failed (5xx). For a writing call it is the ``reason`` of an
    :class:`OutcomeUnknown`."""


class OutcomeUnknown(ClientError):
    """Raised if it is unknown whether a writing call was carried out. Never send the call again
    automatically: look at the orders first. ``reason`` is the underlying error."""

    sent = True
    definite = False

    def __init__(self, operation: str, reason: NoAnswer | AnswerRefused | ApiError) -> None:
        super().__init__(f"{operation}: outcome unknown ({reason})")
        self.operation = operation
        self.reason = reason

    @property
    def status(self) -> int | None:
        return None if isinstance(self.reason, NoAnswer) else self.reason.status

    @property
    def code(self) -> str | None:
        return self.reason.code if isinstance(self.reason, ApiError) else None

    @property
    def request_id(self) -> str | None:
        return None if isinstance(self.reason, NoAnswer) else self.reason.request_id


QUOTE_EXPIRED = "QUOTE_EXPIRED"
"""The code of an expired quote's error if the service's answer has none."""

_BY_CODE: Mapping[str, type[ApiError]] = {
    ErrorCode.INVALID_API_CREDENTIALS: AccessError,
    ErrorCode.PARTNER_ID_NOT_SUPPORTED: AccessError,
    ErrorCode.ACCESS_DENIED: AccessError,
    ErrorCode.NOT_FOUND: NotFound,
    ErrorCode.TOKEN_NOT_FOUND: NotFound,
    ErrorCode.TOKEN_DISABLED: NotFound,
    ErrorCode.VALIDATION_ERROR: ApiError,
    ErrorCode.AMOUNT_TOO_LOW: ApiError,
    ErrorCode.QUOTE_OVER_LIMIT: ApiError,
    ErrorCode.INVALID_SWAP: ApiError,
    ErrorCode.RATE_LIMIT_EXCEEDED: RateLimited,
}
_ENDED = re.compile(r"expir|max(imum)? age|too old", re.IGNORECASE)
_BY_STATUS: Mapping[int, type[ApiError]] = {
    401: AccessError,
    402: PaymentRequired,
    403: AccessError,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def api_error(
    status: int,
    code: str | None = None,
    message: str = "",
    request_id: str | None = None,
    fields: Mapping[str, FieldProblem] = _NONE,
    retry_after: float | None = None,
) -> ApiError:
    """Returns the error for an answer's status and code. A 5xx is always ServiceFailed, so that no
    code makes it look like a definite refusal."""
    kind: type[ApiError] = ServiceFailed
    if status < 500:
        # The public service calls the end of a floating quote an input that is wrong, and the
        # message alone tells it from a quote id that is none.
        problem = fields.get("quoteId")
        if (status, code) == (422, ErrorCode.VALIDATION_ERROR) and problem is not None:
            code = QUOTE_EXPIRED if _ENDED.search(problem.message) else code
        kind = _BY_CODE.get(code or "", _BY_STATUS.get(status, ApiError))
    return kind(status, code, message, request_id, fields, retry_after)
