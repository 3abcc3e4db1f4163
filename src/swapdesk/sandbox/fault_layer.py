"""The outermost layer of the sandbox's service: it breaks answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.answer_faults import (
    STREAM,
    WS_DROP,
    AnswerFaults,
    BrokenRequest,
    BrokenStream,
    WholeAnswer,
    target_at,
)
from swapdesk.sandbox.http_server import CUT
from swapdesk.service.router import PREFIX
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.operations import BODY_LIMIT

_READ = "get_order"
_ANSWER_LIMIT = 1 << 20


class FaultLayer:
    """Pure ASGI around the service. Without an active fault nothing is touched."""

    def __init__(self, app: ASGIApp, faults: AnswerFaults, clock: Clock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock
        self._streams: set[Callable[[], None]] = set()
        self._refused_until: datetime | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        elif scope["type"] == "http" and (self._faults.active or self._faults.lies):
            await self._request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def drop_streams(self) -> int:
        """Cut every open stream for which a fault is active. Returns how many were cut."""
        dropped = 0
        fault = self._faults.take_drop() if self._streams else None
        if fault is not None:
            self._refuse_streams(fault.seconds)
            for cut in list(self._streams):
                cut()
                dropped += 1
        return dropped

    def open_streams(self) -> None:
        """Refuse no stream any longer."""
        self._refused_until = None

    def refusing(self) -> list[dict[str, object]]:
        """The fault that keeps streams from beginning, with the seconds it still lasts."""
        left = self._refused_for()
        if left <= 0:
            return []
        return [{"fault": WS_DROP.name, "operation": STREAM, "seconds": round(left)}]

    def _refuse_streams(self, seconds: float) -> None:
        if seconds > 0:
            self._refused_until = self._clock.now() + timedelta(seconds=seconds)

    def _refused_for(self) -> float:
        """Seconds of sandbox time for which no stream begins."""
        if self._refused_until is None:
            return 0.0
        return (self._refused_until - self._clock.now()).total_seconds()

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = target_at(scope["method"], str(scope["path"]).removeprefix(PREFIX))
        if self._faults.wants_quotes and scope["method"] == "POST":
            quote_id, receive = await _peeked(receive)
            target = replace(target, quote_id=quote_id)
        fault = self._faults.take(target)
        if fault is not None:
            operation = str(target.operation)
            await fault.kind.apply(
                BrokenRequest(
                    fault, operation, self._faults, self._clock, self._app, scope, receive, send
                )
            )
        elif target.operation == _READ and target.service_id in self._faults.lies:
            await self._tell_again(target.service_id, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _tell_again(
        self, service_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """An order with what was said of it when it was created, as texts repeat it."""
        answer = WholeAnswer()
        await self._app(scope, receive, answer.take)
        if answer.status != 200:
            await answer.pass_on(send)
            return
        order: Any = decode_json(answer.body, max_bytes=_ANSWER_LIMIT)
        order["metadata"] = encode_json(self._faults.lies[service_id]).decode()
        await answer.pass_on(send, encode_json(order))

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        cut: Callable[[], None] = scope["state"][CUT]
        if self._refused_for() > 0:
            cut()
            return

        def drop(seconds: float) -> None:
            self._refuse_streams(seconds)
            cut()

        stream = BrokenStream(send, self._clock, drop)

        async def watched(message: Message) -> None:
            fault = None
            if message["type"] == "websocket.send":
                fault = self._faults.take_frame(message.get("text"))
            if fault is None:
                await stream.send(message)
            else:
                await fault.kind.apply(stream, fault, message)
            if message["type"] == "websocket.accept":
                self._streams.add(cut)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._streams.discard(cut)
            stream.forget()


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
