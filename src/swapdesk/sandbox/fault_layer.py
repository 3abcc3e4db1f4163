"""The outermost layer of the sandbox's service: it breaks answers and streams as it is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.answer_faults import BROKEN_ANSWERS, BrokenRequest, BrokenStream
from swapdesk.sandbox.faults import About, ActiveFault, ActiveFaults
from swapdesk.sandbox.http_server import CUT
from swapdesk.service.router import PREFIX
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS, STREAM_PATH

STREAM = "stream"
"""Name of the WebSocket among the operations a fault can select."""
DROP, TWICE, LATER = "ws_drop", "ws_duplicate", "ws_reorder"
_UPDATE = '{"type":"order_update"'


class FaultLayer:
    """Pure ASGI around the service. Without an active fault nothing is touched."""

    def __init__(self, app: ASGIApp, faults: ActiveFaults, clock: Clock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock
        self._streams: set[Callable[[], None]] = set()
        self._refused_until: datetime | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        elif scope["type"] == "http" and self._faults.active:
            await self._request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        about = request_at(scope["method"], str(scope["path"]).removeprefix(PREFIX))
        quotes = [one.value for one in self._faults.active if one.selector == "quoteId"]
        if quotes and scope["method"] == "POST":
            body, receive = await _peeked(receive)
            about["quoteId"] = next((one for one in quotes if f'"{one}"'.encode() in body), None)
        fault = self._faults.take(BROKEN_ANSWERS, about.items())
        if fault is None:
            await self._app(scope, receive, send)
            return
        request = BrokenRequest(fault.seconds, self._clock, self._app, scope, receive, send)
        await BROKEN_ANSWERS[fault.name](request)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        cut: Callable[[], None] = scope["state"][CUT]
        if self._refused_for() > 0:
            cut()
            return
        stream = BrokenStream(send, self._clock)

        async def watched(message: Message) -> None:
            fault = None
            if message["type"] == "websocket.send":
                fault = self._met_by(message.get("text") or "")
            if fault is None:
                await stream.send(message)
            elif fault.name == DROP:
                self._refuse_streams(fault.seconds)
                cut()
            elif fault.name == TWICE:
                await stream.send(message)
                await stream.send(message)
            else:
                await stream.hold(message, fault.seconds)
            if message["type"] == "websocket.accept":
                self._streams.add(cut)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._streams.discard(cut)
            stream.forget()

    def _met_by(self, frame: str) -> ActiveFault | None:
        """A drop without an order meets every frame; what selects an order meets the frames that
        name it, and only updates are doubled or held back."""
        named = {fault.value for fault in self._faults.active if f'"{fault.value}"' in frame}
        about = {("operation", STREAM), *(("serviceId", order) for order in named)}
        updates = (TWICE, LATER) if frame.startswith(_UPDATE) else ()
        return self._faults.take((DROP, *updates), about)

    # A stream that is dropped is kept away

    def drop_streams(self) -> int:
        """Cut every open stream where a fault drops all of them. Returns how many were cut."""
        every: About = {("operation", STREAM)}
        fault = self._faults.take((DROP,), every) if self._streams else None
        if fault is None:
            return 0
        self._refuse_streams(fault.seconds)
        dropped = list(self._streams)
        for cut in dropped:
            cut()
        return len(dropped)

    def open_streams(self) -> None:
        """Refuse no stream any longer."""
        self._refused_until = None

    def refusing(self) -> list[dict[str, object]]:
        """The fault that keeps streams from beginning, with the seconds it still lasts."""
        left = self._refused_for()
        return [{"fault": DROP, "operation": STREAM, "seconds": round(left)}] if left > 0 else []

    def _refuse_streams(self, seconds: float) -> None:
        if seconds > 0:
            self._refused_until = self._clock.now() + timedelta(seconds=seconds)

    def _refused_for(self) -> float:
        """Seconds of sandbox time for which no stream begins."""
        if self._refused_until is None:
            return 0.0
        return (self._refused_until - self._clock.now()).total_seconds()


def request_at(method: str, path: str) -> dict[str, str | None]:
    """The operation at a path below ``/v2``, with the order or group that the path names; nothing
    where there is none."""
    asked = path.split("/")
    for operation in OPERATIONS:
        parts = operation.path.split("/")
        if operation.method != method or len(parts) != len(asked):
            continue
        pairs = dict(zip(parts, asked, strict=True))
        # A fixed path wins over a template: the table lists fixed paths first.
        if all(part == given or part.startswith("{") for part, given in pairs.items()):
            named = {part[1:-1]: given for part, given in pairs.items() if part.startswith("{")}
            return {**named, "operation": operation.name}
    return {}


def operation_named(text: str) -> str | None:
    """The operation behind a name or ``METHOD /path``; None where there is none."""
    method, space, path = text.partition(" ")
    if not space:
        known = text == STREAM or any(operation.name == text for operation in OPERATIONS)
        return text if known else None
    if path == STREAM_PATH and method in ("GET", "WS"):
        return STREAM
    return request_at(method, path).get("operation")


async def _peeked(receive: Receive) -> tuple[bytes, Receive]:
    """A body, and a receive that delivers the same body again."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY_LIMIT:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return b"".join(message.get("body", b"") for message in messages), again
