"""The desk's calls to the service in words: one row for each, its details, and the same call as a
command. Deposit addresses are never part of this, because only the deposit card says whether they
may be paid."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from swapdesk.client.exchange_log import MASK, Exchange
from swapdesk.flows.notation import counted
from swapdesk.flows.orders.raw_json import raw_lines
from swapdesk.wire.encoding.codec import CodecError, decode_json
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.operations import OPERATIONS

TEXT_LIMIT = 2_000
CODE_LIMIT = 40
MOST_LINES = 1_000
"""Maximum number of lines of one body that are shown."""

_TEMPLATES = {operation.name: operation.path for operation in OPERATIONS}


class LoggedCall(Struct, frozen=True, rename="camel"):
    """One row of the request log, safe to show. ``code`` is the service's error code or what went
    wrong."""

    at: datetime
    method: str
    path: str
    status: str
    code: str
    ms: str
    request_id: str
    failed: bool

    @property
    def told(self) -> str:
        """The error code and the request id, as ``NOT_FOUND, request 7f00aa11``. An unknown part is
        left out."""
        return ", ".join(
            filter(None, (self.code, self.request_id and f"request {self.request_id}"))
        )

    def matches(self, words: str) -> bool:
        """Returns True if the row contains every one of ``words``. The word ``failed`` stands for
        any call that went wrong."""
        text = " ".join((self.method, self.path, self.status, self.code, self.request_id)).lower()
        return all(
            self.failed if word == "failed" else word in text for word in words.lower().split()
        )


def concerns(exchange: Exchange, names: Collection[str]) -> bool:
    """Returns True if a request has one of ``names`` (ids) as its own id, in its path or in its
    body."""
    template = _TEMPLATES.get(exchange.operation, "").split("/")
    segments = zip(_target(exchange)[0].split("/")[::-1], template[::-1], strict=False)
    if exchange.request_id in names or any(
        part.startswith("{") and unquote(text) in names for text, part in segments
    ):
        return True
    return any(f'"{name}"'.encode() in exchange.request_body for name in names)


def logged_call(exchange: Exchange) -> LoggedCall:
    """Returns the log's row for one attempt at a call."""
    path, query = _target(exchange)
    again = f"  attempt {exchange.attempt}" if exchange.attempt > 1 else ""
    return LoggedCall(
        at=exchange.at,
        method=exchange.method,
        path=safe_text(f"{path}{'?' + unquote(query) if query else ''}{again}", TEXT_LIMIT),
        status=str(exchange.status) if exchange.status is not None else "—",
        code=_code(exchange),
        ms=f"{exchange.ms:.0f}",
        request_id=safe_text(exchange.request_id or "", 128),
        failed=bool(exchange.outcome),
    )


def clock_time(at: datetime) -> str:
    """Returns the time of day as ``14:02:11``, in UTC."""
    return at.astimezone(UTC).strftime("%H:%M:%S")


def call_lines(exchange: Exchange) -> list[str]:
    """Returns a request and its answer as lines, with headers and bodies. Secrets and deposit
    addresses are left out."""
    call = logged_call(exchange)
    lines = [f"{call.method} {call.path}"]
    status = f"{call.status}{' ' + call.code if call.code else ''} in {call.ms} ms"
    at = exchange.at.astimezone(UTC).isoformat(timespec="milliseconds")
    lines.append(f"{status}, at {at}, request id {call.request_id or 'none'}")
    lines += ["", "Request", *_headers(exchange.request_headers)]
    lines += _body(exchange.request_body, len(exchange.request_body))
    lines += ["", "Answer", *_headers(exchange.answer_headers)]
    return lines + _body(exchange.answer_body, exchange.answer_size)


def as_command(exchange: Exchange, profile: str | None = None) -> str | None:
    """Returns the ``swapdesk api ...`` command that makes the same call; None if part of the
    request is masked or missing. The command never has ``--yes``, so that pasting it creates
    nothing."""
    path, query = _target(exchange)
    pairs = parse_qsl(query, keep_blank_values=True)
    if MASK in exchange.target or MASK.encode() in exchange.request_body:
        return None
    words = ["swapdesk", *(["--profile", profile] if profile else [])]
    words += ["api", exchange.method, unquote(path)]
    for name, value in pairs:
        words += ["-q", f"{name}={value}"]
    if exchange.request_body:
        try:
            decode_json(exchange.request_body)
            words += ["-d", exchange.request_body.decode()]
        except (CodecError, UnicodeDecodeError):
            # The log keeps the beginning of a long body only.
            return None
    return " ".join(map(shlex.quote, words))


def _target(exchange: Exchange) -> tuple[str, str]:
    path, _, query = exchange.target.partition("?")
    template = _TEMPLATES.get(exchange.operation, "")
    depth = template.count("/")
    segments = path.split("/")
    return ("/" + "/".join(segments[-depth:]) if depth else path), query


def _code(exchange: Exchange) -> str:
    if exchange.status is None or exchange.status < 400:
        return exchange.outcome
    try:
        body = decode_json(exchange.answer_body, side="client")
    except CodecError:
        return exchange.outcome
    code = body.get("code") if isinstance(body, dict) else None
    return safe_text(code, CODE_LIMIT) if isinstance(code, str) and code else exchange.outcome


def _headers(headers: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, value in headers:
        yield f"  {safe_text(name, 100)}: {safe_text(value, TEXT_LIMIT)}"


def _body(body: bytes, size: int) -> list[str]:
    if not size:
        return []
    lines = raw_lines(body, hidden="")
    cut = [f"… {counted(len(lines) - MOST_LINES, 'more line')}"] if len(lines) > MOST_LINES else []
    kept = [f"… {len(body)} of {size} bytes are kept"] if len(body) < size else []
    return ["", *lines[:MOST_LINES], *cut, *kept]
