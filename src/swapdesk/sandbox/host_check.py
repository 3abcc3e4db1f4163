"""The door of the sandbox's service: requests that other sites send here end at it.

A page of another site, whose name was made to point to this machine (DNS rebinding), gets
nothing, with credentials or without.
"""

from __future__ import annotations

import uuid
from email.utils import format_datetime

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.loopback import misled
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorBody, ErrorCode


class HostCheck:
    """Pure ASGI around the service; ``hosts`` are served besides the loopback names."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], clock: Clock) -> None:
        self._app = app
        self._hosts = hosts
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if scope["type"] != "lifespan":
            refused = misled(Headers(scope=scope), self._hosts)
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await self._refuse(scope, send, *refused)

    async def _refuse(self, scope: Scope, send: Send, status: int, reason: str) -> None:
        kind = "websocket.http" if scope["type"] == "websocket" else "http"
        request_id = str(uuid.uuid4())
        code = ErrorCode.ACCESS_DENIED if status == 403 else ErrorCode.BAD_REQUEST
        body = encode_json(ErrorBody(message=reason, code=code, request_id=request_id))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"date", format_datetime(self._clock.now(), usegmt=True).encode()),
            (b"x-request-id", request_id.encode()),
        ]
        await send({"type": f"{kind}.response.start", "status": status, "headers": headers})
        await send({"type": f"{kind}.response.body", "body": body})
