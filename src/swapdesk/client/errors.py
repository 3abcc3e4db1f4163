"""What can go wrong with a call, as one tree.

``ClientError`` is the root. Every error says whether the request may have left (``sent``), and
for a writing call whether its outcome is known (``definite``)::

    ClientError
      NotPaid             the wallet does not pay the call; nothing was carried out
      RequestRefused      no such operation, or an id that is no id; nothing was sent
      Unreachable         nothing was sent: no connection, no TLS, deadline before the request
      NoAnswer            a reading call left and no whole answer came; asking again is harmless
      AnswerRefused       a reading call was answered with what no client should read
      OutcomeUnknown      a writing call left and nobody knows whether it was carried out
      ApiError            the service refused, with a code or at least a status: 4xx but for these
        AccessError       401, 403
        PaymentRequired   402
        NotFound          404
        Conflict          409
        RateLimited       429, with ``retry_after``
        ServiceFailed     5xx of a reading call

The classes follow the code where it is known and the HTTP status otherwise (contract 3.1).
What each means for a writing call: a refusal (4xx) is definite, a failure of the service, a
lost or unreadable answer is not.
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
    """Root of the tree. ``definite`` is False only if a write may have happened."""

    sent: bool = False
    definite: bool = True
    payment: CallAuthorization | None = None
    """The payment that was signed for the call and left with it (contract 14)."""

    def __init__(self, message: str, *, sent: bool | None = None) -> None:
        super().__init__(message)
        if sent is not None:
            self.sent = sent


class RequestRefused(ClientError):
    """The request cannot be made: no such operation, an id that is no id, a wrong body size."""


class Unreachable(ClientError):
    """Nothing was sent: no connection, no TLS, or the deadline passed before the request."""


class NoAnswer(ClientError):
    """A reading call left and was not answered in full: deadline, reset, cut body."""

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
    """A redirect, a content encoding, too many bytes, no JSON, another shape, or an answer about
    another id. ``reason`` is one of ``ANSWER_REASONS``."""

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
    """The service refused. Branch on the class or on ``code``, never on the message. ``fields`` say
    where and why an input was refused (422), and may be empty. ``message`` is safe to show.
    ``retry_after`` is in seconds, from the header or the body."""

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
        """The same refusal with the time that is left."""
        return type(self)(
            self.status, self.code, self.message, self.request_id, self.fields, retry_after
        )


class AccessError(ApiError):
    """The credentials are missing, wrong, or not enough (401, 403)."""


class PaymentRequired(ApiError):
    """The service wants to be paid per request (402; contract 14.1). ``required`` is the header
    with the terms, as it came."""

    required: str | None = None


class NotPaid(ClientError):
    """A call that costs was not paid: the wallet refused, or nothing here can pay it. ``code`` and
    ``next`` come from the refusal. Nothing was signed."""

    def __init__(self, words: str, code: str, next_: str) -> None:
        super().__init__(words.rstrip("."))
        self.code = code
        self.next = next_


class NotFound(ApiError):
    """Unknown, foreign or older than 48 hours alike; or a token that is disabled (404)."""


class Conflict(ApiError):
    """The call does not fit the present state (409)."""


class RateLimited(ApiError):
    """429. ``retry_after`` is None when the service did not say."""


class ServiceFailed(ApiError):
    """The service failed (5xx). From a writing call it comes inside :class:`OutcomeUnknown`."""


class OutcomeUnknown(ClientError):
    """A writing call left, and no answer says whether it was carried out.

    Never send it again by yourself: look at the orders first. ``reason`` is what happened: a
    :class:`NoAnswer`, :class:`AnswerRefused` or :class:`ServiceFailed`.
    """

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
"""The code given here to an expired quote where a service has none."""

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
    """The error of a refusal: by code within 4xx, else by status.

    The status decides between refusal and failure, so that no code in a body turns a failure of the
    service into a definite answer.
    """
    kind: type[ApiError] = ServiceFailed
    if status < 500:
        # The public service calls the end of a floating quote an input that is wrong, and the
        # message alone tells it from a quote id that is none.
        problem = fields.get("quoteId")
        if (status, code) == (422, ErrorCode.VALIDATION_ERROR) and problem is not None:
            code = QUOTE_EXPIRED if _ENDED.search(problem.message) else code
        kind = _BY_CODE.get(code or "", _BY_STATUS.get(status, ApiError))
    return kind(status, code, message, request_id, fields, retry_after)
