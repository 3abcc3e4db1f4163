"""The outermost layer of the sandbox's service: it breaks answers as it is told."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from email.utils import format_datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFault, AnswerFault, Faults, Target, operation_at
from swapdesk.sandbox.http_server import CUT
from swapdesk.service.app import PREFIX
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode
from swapdesk.wire.operations import BODY_LIMIT


class FaultLayer:
    """Pure ASGI around the service. Without an active fault nothing is touched."""

    def __init__(self, app: ASGIApp, faults: Faults, clock: Clock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock
        self._streams: set[Callable[[], None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        elif scope["type"] == "http" and self._faults.active:
            await self._request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def drop_streams(self) -> int:
        """Cut every open stream for which a fault is active. Returns how many were cut."""
        dropped = 0
        if self._streams and self._faults.take_stream() is not None:
            for cut in list(self._streams):
                cut()
                dropped += 1
        return dropped

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"]).removeprefix(PREFIX)
        operation, service_id = operation_at(scope["method"], path)
        quote_id = None
        if self._faults.wants_quotes and scope["method"] == "POST":
            quote_id, receive = await _peeked(receive)
        fault = self._faults.take(Target(operation, service_id, quote_id))
        if fault is None:
            await self._app(scope, receive, send)
        elif fault.fault is AnswerFault.DELAY:
            await self._clock.sleep(fault.seconds)
            await self._app(scope, receive, send)
        elif fault.fault is AnswerFault.LOST_RESPONSE:
            await self._app(scope, receive, _nowhere)
            scope["state"][CUT]()
            await _gone(receive)
        else:
            await self._refuse(fault, send)

    async def _refuse(self, fault: ActiveFault, send: Send) -> None:
        limited = fault.fault is AnswerFault.RATE_LIMITED
        code = ErrorCode.RATE_LIMIT_EXCEEDED if limited else ErrorCode.INTERNAL_SERVER_ERROR
        request_id = str(uuid.uuid4())
        message = "Too many requests." if limited else "Something went wrong."
        body = encode_json(ErrorBody(message=message, code=code, request_id=request_id))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"date", format_datetime(self._clock.now(), usegmt=True).encode()),
            (b"x-request-id", request_id.encode()),
        ]
        if limited:
            headers.append((b"retry-after", str(max(1, round(fault.seconds))).encode()))
        await send({"type": "http.response.start", "status": STATUS_OF[code], "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        cut: Callable[[], None] = scope["state"][CUT]

        async def watched(message: Message) -> None:
            sends = message["type"] == "websocket.send"
            if sends and self._faults.take_stream(message.get("text")) is not None:
                cut()
                return
            await send(message)
            if message["type"] == "websocket.accept":
                self._streams.add(cut)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._streams.discard(cut)


async def _nowhere(message: Message) -> None:
    """An answer that never leaves."""


async def _gone(receive: Receive) -> None:
    """Wait until the server has seen that the connection is broken."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def _peeked(receive: Receive) -> tuple[str | None, Receive]:
    """The ``quoteId`` of a body and a receive that delivers the same body again."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY_LIMIT:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
    body = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return _quote_id(body), again


def _quote_id(body: bytes) -> str | None:
    try:
        document: Any = decode_json(body, max_bytes=BODY_LIMIT)
    except CodecError:
        return None
    found = document.get("quoteId") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
