"""A bounded log of every request and its answer, kept in memory only; secrets are masked before an
entry is stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

MASK = "«redacted»"
_PAYMENT = "payment-signature"
_SECRET_HEADERS = frozenset(
    {"authorization", "partner-id", "cookie", "set-cookie", "x-api-key", _PAYMENT}
)


class Exchange(Struct, frozen=True):
    """One logged attempt at a call. Long bodies are shortened."""

    number: int
    at: datetime
    operation: str
    method: str
    target: str
    attempt: int
    request_headers: tuple[tuple[str, str], ...]
    request_body: bytes
    status: int | None
    request_id: str | None
    answer_headers: tuple[tuple[str, str], ...]
    answer_body: bytes
    answer_size: int
    ms: float
    """From sending the request to the last byte of the answer."""
    outcome: str
    """The class name of the error, ``Cancelled``, or empty for success."""


UNRECORDED = frozenset({"health"})
"""Operations that are not logged. ``health`` would push all others out of the log."""


class ExchangeLog:
    """The newest attempts at calls: at most ``entries`` attempts, and at most ``total_bytes`` of
    their bodies."""

    def __init__(
        self, *, entries: int = 500, body_bytes: int = 64 * 1024, total_bytes: int = 4 << 20
    ) -> None:
        self._ring: deque[Exchange] = deque()
        self._entries = entries
        self._body_bytes = body_bytes
        self._total_bytes = total_bytes
        self._held = 0
        self.count = 0
        """Number of attempts that were recorded, including those that the log has since dropped."""
        self._secrets: set[str] = set()

    def hide(self, *secrets: str) -> None:
        """Adds secret texts, which are masked in all attempts that are recorded from now on."""
        self._secrets.update(text for text in secrets if len(text) >= 4)

    def record(
        self,
        *,
        at: datetime,
        operation: str,
        method: str,
        target: str,
        attempt: int,
        request_headers: Mapping[str, str],
        request_body: bytes,
        status: int | None,
        request_id: str | None,
        answer_headers: Mapping[str, str],
        answer_body: bytes,
        ms: float,
        outcome: str,
        paid: str = "",
    ) -> None:
        """Adds one attempt to the log. ``paid`` describes the payment and is logged instead of its
        signature; empty if nothing was paid."""
        if operation in UNRECORDED:
            return
        self.count += 1
        entry = Exchange(
            number=self.count,
            at=at,
            operation=operation,
            method=method,
            target=self._text(target),
            attempt=attempt,
            request_headers=self._headers(request_headers, paid),
            request_body=self._body(request_body),
            status=status,
            request_id=request_id,
            answer_headers=self._headers(answer_headers),
            answer_body=self._body(answer_body),
            answer_size=len(answer_body),
            ms=ms,
            outcome=outcome,
        )
        self._ring.append(entry)
        self._held += _size(entry)
        while self._ring and (len(self._ring) > self._entries or self._held > self._total_bytes):
            self._held -= _size(self._ring.popleft())

    def __iter__(self) -> Iterator[Exchange]:
        return iter(tuple(self._ring))

    def __len__(self) -> int:
        return len(self._ring)

    def _text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def _headers(self, headers: Mapping[str, str], paid: str = "") -> tuple[tuple[str, str], ...]:
        shown = []
        for name, value in headers.items():
            masked = name.lower() in _SECRET_HEADERS
            text = MASK if masked else self._text(value)
            if paid and name.lower() == _PAYMENT:
                text = f"{MASK} {paid}"
            shown.append((name, text))
        return tuple(shown)

    def _body(self, body: bytes) -> bytes:
        # Masked before it is cut, so that no half of a secret stands at the edge.
        for secret in self._secrets:
            body = body.replace(secret.encode(), MASK.encode())
        return body[: self._body_bytes]


def _size(entry: Exchange) -> int:
    return len(entry.request_body) + len(entry.answer_body) + 1024
