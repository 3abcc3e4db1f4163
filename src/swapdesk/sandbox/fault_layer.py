"""The outermost layer of the sandbox's service, which corrupts, delays or drops answers and stream
frames when a fault says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import About, ActiveFault, ActiveFaults
from swapdesk.sandbox.http_server import CUT, refuse
from swapdesk.service.multi.bundles import Intervention
from swapdesk.service.router import PREFIX
from swapdesk.wire.errors import STATUS_OF, ErrorCode
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS, STREAM_PATH

_LEAVING_SECONDS = 0.05
"""Seconds that written bytes get to leave the process before the connection is cut."""
_PAGE = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"


class BrokenRequest(Struct):
    """A request that a fault applies to, and the application that would answer it. ``seconds`` is
    the fault's duration."""

    seconds: float
    clock: Clock
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    async def carry_out(self, send: Send | None = None) -> None:
        """Lets the application answer the request. The answer goes to ``send`` if it is given,
        otherwise to the client."""
        await self.app(self.scope, self.receive, self.send if send is None else send)

    def cut(self) -> None:
        self.scope["state"][CUT]()


async def _lost(request: BrokenRequest) -> None:
    await request.carry_out(_nowhere)
    request.cut()
    # Until the server has seen that the connection is broken.
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _nowhere(message: Message) -> None:
    """Discards a message that was meant for the client."""


async def _delayed(request: BrokenRequest) -> None:
    await request.clock.sleep(request.seconds)
    await request.carry_out()


async def _garbage(request: BrokenRequest) -> None:
    await request.carry_out(_nowhere)
    headers = [(b"content-type", b"text/html"), (b"content-length", str(len(_PAGE)).encode())]
    await request.send({"type": "http.response.start", "status": 200, "headers": headers})
    await request.send({"type": "http.response.body", "body": _PAGE})


async def _truncated(request: BrokenRequest) -> None:

    async def half(message: Message) -> None:
        if message["type"] == "http.response.body":
            body = bytes(message.get("body", b""))
            message = {**message, "body": body[: len(body) // 2], "more_body": True}
        await request.send(message)

    await request.carry_out(half)
    await request.clock.sleep(_LEAVING_SECONDS)
    request.cut()


def _refused(code: ErrorCode, message: str) -> Callable[[BrokenRequest], Awaitable[None]]:
    async def answer(request: BrokenRequest) -> None:
        limited = code is ErrorCode.RATE_LIMIT_EXCEEDED
        more = {"retry-after": str(max(1, round(request.seconds)))} if limited else {}
        status = STATUS_OF[code]
        await refuse(request.scope, request.send, request.clock, status, message, code, more)

    return answer


BROKEN_ANSWERS: dict[str, Callable[[BrokenRequest], Awaitable[None]]] = {
    "lost_response": _lost,
    "delay": _delayed,
    "http_500": _refused(ErrorCode.INTERNAL_SERVER_ERROR, "Something went wrong."),
    "http_503": _refused(ErrorCode.SERVICE_UNAVAILABLE, "The service is not available."),
    "rate_limited": _refused(ErrorCode.RATE_LIMIT_EXCEEDED, "Too many requests."),
    "garbage": _garbage,
    "truncate": _truncated,
}
"""Functions that answer a request in place of the service, by the name of a fault."""


class BrokenStream:
    """Sends the frames of one stream. At most one frame is held back at a time; it is sent after
    the frame that follows it."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._kept: Message | None = None
        self._timer: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """Sends a frame, and then the frame that was held back, if there is one. If ``message``
        closes the stream, the frame held back is sent first."""
        if message["type"] == "websocket.close":
            await self._let_go()
        await self._send(message)
        await self._let_go()

    async def hold(self, message: Message, seconds: float) -> None:
        """Holds a frame back until the next frame was sent, but at most for ``seconds``. If another
        frame is held back already, that frame is sent at once."""
        await self._let_go()
        self._kept = message
        self._timer = asyncio.create_task(self._release(message, seconds))

    def forget(self) -> None:
        self._kept = None
        if self._timer is not None:
            self._timer.cancel()

    async def _let_go(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            await self._send(kept)

    async def _release(self, message: Message, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._kept is message:
            await self._let_go()


STREAM = "stream"
"""Name of the WebSocket among the operations that a fault can select."""
DROP, TWICE, LATER = "ws_drop", "ws_duplicate", "ws_reorder"
_UPDATE = '{"type":"order_update"'


class FaultLayer:
    """ASGI middleware around the service, which carries out the active faults. Requests to which no
    fault applies pass unchanged."""

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
        quotes = [fault.value for fault in self._faults.active if fault.selector == "quoteId"]
        if quotes and scope["method"] == "POST":
            body, receive = await _peeked(receive)
            about["quoteId"] = next(
                (quote_id for quote_id in quotes if f'"{quote_id}"'.encode() in body), None
            )
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
        """Returns the fault that applies to a frame of a stream, and counts it as used; None if
        there is none."""
        named = {fault.value for fault in self._faults.active if f'"{fault.value}"' in frame}
        about = {("operation", STREAM), *(("serviceId", order) for order in named)}
        updates = (TWICE, LATER) if frame.startswith(_UPDATE) else ()
        return self._faults.take((DROP, *updates), about)

    # A stream that is dropped is kept away

    def drop_streams(self) -> None:
        """If a fault is set that drops all streams, cuts every stream. New streams are then refused
        for the number of seconds that the fault states."""
        every: About = {("operation", STREAM)}
        fault = self._faults.take((DROP,), every) if self._streams else None
        if fault is not None:
            self._refuse_streams(fault.seconds)
            for cut in list(self._streams):
                cut()

    def open_streams(self) -> None:
        self._refused_until = None

    def refusing(self) -> list[dict[str, object]]:
        """Returns a list with the fault that refuses new streams and its remaining seconds. The
        list is empty if no fault refuses them."""
        left = self._refused_for()
        return [{"fault": DROP, "operation": STREAM, "seconds": round(left)}] if left > 0 else []

    def _refuse_streams(self, seconds: float) -> None:
        if seconds > 0:
            self._refused_until = self._clock.now() + timedelta(seconds=seconds)

    def _refused_for(self) -> float:
        if self._refused_until is None:
            return 0.0
        return (self._refused_until - self._clock.now()).total_seconds()


def request_at(method: str, path: str) -> dict[str, str | None]:
    """Returns the name of the operation that a request calls, under ``operation``, and the ids in
    the request's path by parameter name. The result is empty if there is no such operation.
    ``path`` begins after ``/v2``."""
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
    """Returns the name of the operation that ``text`` means. ``text`` is either an operation's name
    or ``METHOD /path``. Returns None if there is no such operation."""
    method, space, path = text.partition(" ")
    if not space:
        is_known = text == STREAM or any(operation.name == text for operation in OPERATIONS)
        return text if is_known else None
    if path == STREAM_PATH and method in ("GET", "WS"):
        return STREAM
    return request_at(method, path).get("operation")


async def _peeked(receive: Receive) -> tuple[bytes, Receive]:
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


_ENDS: dict[str, Intervention] = {
    "bundle_fail": "fail",
    "bundle_withdraw": "withdraw",
    "bundle_stuck": "hold",
}


def bundle_end(faults: ActiveFaults, multi_id: str) -> Intervention | None:
    """Returns how the bundle that pays a batch's deposits has to end, if a fault prescribes it;
    None if no fault applies. The fault is then counted as used."""
    fault = faults.take(_ENDS, {("multiId", multi_id)})
    return None if fault is None else _ENDS[fault.name]
