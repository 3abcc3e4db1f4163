"""What a failed call means for the money: nothing sent, nothing done, or nobody knows."""

from __future__ import annotations

import ssl

import httpx

from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    NoAnswer,
    OutcomeUnknown,
    ServiceFailed,
    Unreachable,
)
from swapdesk.wire.operation import Operation

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
# A 4xx that a writing call may also get after it was taken up.
_UNSURE_4XX = frozenset({408, 425, 499})


def as_outcome(operation: Operation, error: AnswerRefused | ApiError) -> ClientError:
    """The same error, or the unknown outcome when a write may have happened."""
    unsure = isinstance(error, AnswerRefused | ServiceFailed) or error.status in _UNSURE_4XX
    return OutcomeUnknown(operation.name, error) if operation.writes and unsure else error


def lost(operation: Operation, error: Exception, *, sent: bool) -> ClientError:
    """No whole answer: nothing was sent, or nobody answered a read, or a write is unknown."""
    # The texts of other libraries may quote the address with its query; the kind is enough.
    kind = type(error).__name__
    if isinstance(error, _NOT_SENT) or not sent:
        certificate = isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE" in str(error)
        why = "the certificate was not accepted" if certificate else "no connection"
        return Unreachable(f"{operation.name}: {why} ({kind})", sent=False)
    late = isinstance(error, TimeoutError)
    why = f"no answer within {operation.deadline:g} s" if late else f"the answer broke off ({kind})"
    unanswered = NoAnswer(f"{operation.name}: {why}")
    return OutcomeUnknown(operation.name, unanswered) if operation.writes else unanswered
