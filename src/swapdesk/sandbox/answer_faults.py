"""Faults of the service's answers and of its stream, and which request one belongs to.

A fault selects one operation, one order, one quote or one group and is spent after ``times``
requests or frames. ``fault_layer`` is where they happen; ``tampering`` has those of a dishonest
service.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from email.utils import format_datetime
from typing import Any, ClassVar, cast

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFault, ActiveFaults, FaultKind
from swapdesk.sandbox.http_server import CUT
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode
from swapdesk.wire.operations import OPERATIONS, STREAM_PATH

STREAM = "stream"
"""Name of the WebSocket among the operations a fault can select."""
_UPDATE = '{"type":"order_update"'
_SHOWN = ("operation", "service_id", "quote_id", "multi_id")
_LEAVING_SECONDS = 0.05
"""What was written leaves the process before the connection is cut."""
_PAGE = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"


# Which request a fault belongs to


class UnknownOperation(ValueError):
    """No operation of that name or path."""


class FaultTarget(Struct, frozen=True):
    """What a request is about, as far as faults can select it."""

    operation: str | None
    service_id: str | None = None
    quote_id: str | None = None
    multi_id: str | None = None


def target_at(method: str, path: str) -> FaultTarget:
    """The operation at a path below ``/v2`` and the order or group that the path names."""
    asked = path.split("/")
    for operation in OPERATIONS:
        parts = operation.path.split("/")
        if operation.method != method or len(parts) != len(asked):
            continue
        if all(
            part == given or part.startswith("{") for part, given in zip(parts, asked, strict=True)
        ):
            found = dict(zip(parts, asked, strict=True))
            # A fixed path wins over a template: the table lists fixed paths first.
            return FaultTarget(
                operation.name, found.get("{serviceId}"), multi_id=found.get("{multiId}")
            )
    return FaultTarget(None)


def operation_name(text: str) -> str:
    """The name behind a name or ``METHOD /path``. Raises UnknownOperation."""
    method, space, path = text.partition(" ")
    if not space:
        if text == STREAM or any(operation.name == text for operation in OPERATIONS):
            return text
        raise UnknownOperation(f"there is no operation {text!r}")
    if path == STREAM_PATH and method in ("GET", "WS"):
        return STREAM
    name = target_at(method, path).operation
    if name is None:
        raise UnknownOperation(f"there is no operation at {text!r}")
    return name


# Kinds of faults


@dataclass(frozen=True, eq=False)
class AnswerFault(FaultKind):
    """``apply`` answers the request in place of the service."""

    SHOWN: ClassVar[tuple[str, ...]] = _SHOWN

    apply: Callable[[BrokenRequest], Awaitable[None]]
    _: KW_ONLY
    selectors: tuple[str, ...] = _SHOWN
    operations: frozenset[str] | None = None
    """The only ones that it happens to; None for all but the stream."""

    def happens_to(self, operation: str | None) -> bool:
        if self.operations is None:
            return operation != STREAM
        return operation in self.operations


@dataclass(frozen=True, eq=False)
class StreamFault(FaultKind):
    """``apply`` is given a frame in place of the client."""

    SHOWN: ClassVar[tuple[str, ...]] = _SHOWN

    apply: Callable[[BrokenStream, ActiveFault[StreamFault], Message], Awaitable[None]]
    _: KW_ONLY
    selectors: tuple[str, ...] = ("operation", "service_id")
    unselected: bool = True
    breaks: bool = False
    """Whether it meets every frame, and streams at once; else updates alone."""

    def happens_to(self, operation: str | None) -> bool:
        return operation == STREAM


class AnswerFaults(ActiveFaults[AnswerFault | StreamFault]):
    """The active faults of one service process."""

    def __init__(self) -> None:
        super().__init__()
        self.lies: dict[str, Any] = {}
        """What was said to be sent for an order, by its id: a service that lied stays with it."""

    @property
    def wants_quotes(self) -> bool:
        """Whether a body has to be read to find the fault of a request."""
        return any(fault.quote_id is not None for fault in self._active)

    def clear(self) -> None:
        super().clear()
        self.lies.clear()

    def take(self, target: FaultTarget) -> ActiveFault[AnswerFault] | None:
        """Spend the oldest fault of an answer that selects this request."""
        for fault in self._active:
            kind = fault.kind
            if (
                isinstance(kind, AnswerFault)
                and _selects(fault, target)
                and kind.happens_to(target.operation)
            ):
                self.spend(fault)
                return cast("ActiveFault[AnswerFault]", fault)
        return None

    def give_back(self, fault: ActiveFault[AnswerFault]) -> None:
        """The answer had nothing for this fault: it waits for the next one."""
        fault.times = (fault.times or 0) + 1
        if fault not in self._active:
            self._active.insert(0, fault)

    def take_drop(self) -> ActiveFault[StreamFault] | None:
        """Spend the oldest fault that breaks streams as soon as it is set."""
        for fault in self._active:
            kind = fault.kind
            if isinstance(kind, StreamFault) and kind.breaks and fault.service_id is None:
                self.spend(fault)
                return cast("ActiveFault[StreamFault]", fault)
        return None

    def take_frame(self, text: str | None) -> ActiveFault[StreamFault] | None:
        """Spend the oldest fault of the stream that this frame meets.

        A drop without an order meets every frame; what selects an order meets the frames that
        name it, and only updates are doubled or held back.
        """
        told = text or ""
        for fault in self._active:
            kind = fault.kind
            if not isinstance(kind, StreamFault):
                continue
            if fault.service_id is not None and f'"{fault.service_id}"' not in told:
                continue
            if kind.breaks or told.startswith(_UPDATE):
                self.spend(fault)
                return cast("ActiveFault[StreamFault]", fault)
        return None


def _selects(fault: ActiveFault[FaultKind], target: FaultTarget) -> bool:
    chosen = (
        (fault.operation, target.operation),
        (fault.service_id, target.service_id),
        (fault.quote_id, target.quote_id),
        (fault.multi_id, target.multi_id),
    )
    return all(wanted is None or wanted == given for wanted, given in chosen)


# What a fault has in its hands


class BrokenRequest(Struct):
    """A request that meets a fault, and the service that it was for."""

    fault: ActiveFault[AnswerFault]
    operation: str
    faults: AnswerFaults
    clock: Clock
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    async def carry_out(self, send: Send | None = None) -> None:
        """Have the service answer, to the client or to somebody else."""
        await self.app(self.scope, self.receive, self.send if send is None else send)

    async def whole_answer(self) -> WholeAnswer:
        answer = WholeAnswer()
        await self.carry_out(answer.take)
        return answer

    def cut(self) -> None:
        """Break the connection."""
        self.scope["state"][CUT]()


class WholeAnswer:
    """An answer that is held back until it is known whole."""

    def __init__(self) -> None:
        self._start: Message = {}
        self.body = b""

    @property
    def status(self) -> int:
        return int(self._start["status"])

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        else:
            self.body += bytes(message.get("body", b""))

    async def pass_on(self, send: Send, body: bytes | None = None) -> None:
        """Send it on, with another body and as a success when there is one."""
        if body is not None:
            headers = [
                header for header in self._start["headers"] if header[0] != b"content-length"
            ]
            headers.append((b"content-length", str(len(body)).encode()))
            self._start = {**self._start, "headers": headers, "status": 200}
            self.body = body
        await send(self._start)
        await send({"type": "http.response.body", "body": self.body})


class BrokenStream:
    """The frames of one stream. At most one is kept back, and follows the next one."""

    def __init__(self, send: Send, clock: Clock, drop: Callable[[float], None]) -> None:
        self._send = send
        self._clock = clock
        self.drop = drop
        """Break the connection, and let no stream begin for so many seconds."""
        self._kept: Message | None = None
        self._timer: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def send(self, message: Message) -> None:
        """This frame, and after it the one that was kept; nothing follows a close."""
        async with self._one_at_a_time:
            kept, self._kept = self._kept, None
            frames = [message] if kept is None else [message, kept]
            if message["type"] == "websocket.close":
                frames.reverse()
            for frame in frames:
                await self._send(frame)

    async def hold(self, message: Message, seconds: float) -> None:
        """Keep a frame back for so long at most; one kept before goes out."""
        async with self._one_at_a_time:
            kept, self._kept = self._kept, message
            if kept is not None:
                await self._send(kept)
        self._forget_timer()
        self._timer = asyncio.create_task(self._release(seconds))

    def forget(self) -> None:
        """The connection has ended."""
        self._kept = None
        self._forget_timer()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _release(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        async with self._one_at_a_time:
            kept, self._kept = self._kept, None
            if kept is not None:
                await self._send(kept)


# What happens to an answer


async def _lost(request: BrokenRequest) -> None:
    await request.carry_out(_nowhere)
    request.cut()
    # Until the server has seen that the connection is broken.
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _nowhere(message: Message) -> None:
    """An answer that never leaves."""


async def _delayed(request: BrokenRequest) -> None:
    await request.clock.sleep(request.fault.seconds)
    await request.carry_out()


async def _garbage(request: BrokenRequest) -> None:
    """What a gateway answers that has lost its way."""
    await request.carry_out(_nowhere)
    headers = [(b"content-type", b"text/html"), (b"content-length", str(len(_PAGE)).encode())]
    await request.send({"type": "http.response.start", "status": 200, "headers": headers})
    await request.send({"type": "http.response.body", "body": _PAGE})


async def _truncated(request: BrokenRequest) -> None:
    """The head of the answer and the first half of its body."""

    async def half(message: Message) -> None:
        if message["type"] == "http.response.body":
            body = bytes(message.get("body", b""))
            message = {**message, "body": body[: len(body) // 2], "more_body": True}
        await request.send(message)

    await request.carry_out(half)
    await request.clock.sleep(_LEAVING_SECONDS)
    request.cut()


def _refused(code: ErrorCode, message: str) -> Callable[[BrokenRequest], Awaitable[None]]:
    async def refuse(request: BrokenRequest) -> None:
        request_id = str(uuid.uuid4())
        body = encode_json(ErrorBody(message=message, code=code, request_id=request_id))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"date", format_datetime(request.clock.now(), usegmt=True).encode()),
            (b"x-request-id", request_id.encode()),
        ]
        if code is ErrorCode.RATE_LIMIT_EXCEEDED:
            seconds = max(1, round(request.fault.seconds))
            headers.append((b"retry-after", str(seconds).encode()))
        start = {"type": "http.response.start", "status": STATUS_OF[code], "headers": headers}
        await request.send(start)
        await request.send({"type": "http.response.body", "body": body})

    return refuse


# What happens to a frame


async def _dropped(stream: BrokenStream, fault: ActiveFault[StreamFault], message: Message) -> None:
    stream.drop(fault.seconds)


async def _twice(stream: BrokenStream, fault: ActiveFault[StreamFault], message: Message) -> None:
    await stream.send(message)
    await stream.send(message)


async def _held_back(
    stream: BrokenStream, fault: ActiveFault[StreamFault], message: Message
) -> None:
    await stream.hold(message, fault.seconds)


_TIMED = frozenset({"times", "seconds"})

WS_DROP = StreamFault(
    "ws_drop",
    "The stream breaks without a close frame, and for ``seconds`` no new one begins.",
    _dropped,
    takes=_TIMED,
    seconds=0.0,
    breaks=True,
)

ANSWER_FAULTS: dict[str, AnswerFault | StreamFault] = {
    kind.name: kind
    for kind in (
        AnswerFault(
            "lost_response",
            "The request is carried out to the end; the connection breaks instead of an answer.",
            _lost,
        ),
        AnswerFault(
            "delay", "The request is carried out ``seconds`` later.", _delayed, takes=_TIMED
        ),
        AnswerFault(
            "http_500",
            "The request is answered 500 and not carried out.",
            _refused(ErrorCode.INTERNAL_SERVER_ERROR, "Something went wrong."),
        ),
        AnswerFault(
            "http_503",
            "The request is answered 503 and not carried out.",
            _refused(ErrorCode.SERVICE_UNAVAILABLE, "The service is not available."),
        ),
        AnswerFault(
            "rate_limited",
            "The request is answered 429 with ``retry-after``, and not carried out.",
            _refused(ErrorCode.RATE_LIMIT_EXCEEDED, "Too many requests."),
            takes=_TIMED,
        ),
        AnswerFault(
            "garbage",
            "The request is carried out; a page for people comes instead of the answer.",
            _garbage,
        ),
        AnswerFault(
            "truncate",
            "The request is carried out; the connection breaks in the middle of the answer.",
            _truncated,
        ),
        WS_DROP,
        StreamFault("ws_duplicate", "An update comes twice.", _twice),
        StreamFault(
            "ws_reorder",
            "An update comes after the next frame, or after ``seconds``.",
            _held_back,
            takes=_TIMED,
        ),
    )
}
