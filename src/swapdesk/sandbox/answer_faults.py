"""What becomes of an answer of the service, and of a frame of its stream, that meets a fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.http_server import CUT, refuse
from swapdesk.wire.errors import STATUS_OF, ErrorCode

_LEAVING_SECONDS = 0.05
"""What was written leaves the process before the connection is cut."""
_PAGE = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"


class BrokenRequest(Struct):
    """A request that meets a fault of so many seconds, and the service that it was for."""

    seconds: float
    clock: Clock
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    async def carry_out(self, send: Send | None = None) -> None:
        """Have the service answer, to the client or to somebody else."""
        await self.app(self.scope, self.receive, self.send if send is None else send)

    def cut(self) -> None:
        """Break the connection."""
        self.scope["state"][CUT]()


async def _lost(request: BrokenRequest) -> None:
    await request.carry_out(_nowhere)
    request.cut()
    # Until the server has seen that the connection is broken.
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _nowhere(message: Message) -> None:
    """An answer that never leaves."""


async def _delayed(request: BrokenRequest) -> None:
    await request.clock.sleep(request.seconds)
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
"""What answers the request in place of the service, by the name of the fault."""


class BrokenStream:
    """The frames of one stream. At most one is kept back, and follows the next one."""

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._kept: Message | None = None
        self._timer: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        """This frame, and after it the one that was kept; nothing follows a close."""
        if message["type"] == "websocket.close":
            await self._let_go()
        await self._send(message)
        await self._let_go()

    async def hold(self, message: Message, seconds: float) -> None:
        """Keep a frame back for so long at most; one kept before goes out."""
        await self._let_go()
        self._kept = message
        self._timer = asyncio.create_task(self._release(message, seconds))

    def forget(self) -> None:
        """The connection has ended."""
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
