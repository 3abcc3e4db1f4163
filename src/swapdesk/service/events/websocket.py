"""The handshake of ``WS /ws`` (wire decisions 2.15, 8).

Refused before the upgrade: no credentials (401), malformed ones (400), ``partner-id`` alone
(401). Wrong credentials are told after it: ``error`` AUTH_FAILED, then close 4401.
"""

from __future__ import annotations

import uuid
from email.utils import format_datetime

from starlette.responses import Response
from starlette.websockets import WebSocket

from swapdesk.clock import Clock
from swapdesk.service.access import AccessRefused, Directory
from swapdesk.service.errors import ServiceError
from swapdesk.service.events.connection import Connection
from swapdesk.service.events.hub import Hub
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.events import CloseCode, StreamError
from swapdesk.wire.operations import Access


async def stream_endpoint(websocket: WebSocket) -> None:
    """Serve one connection. The application's ``state.parts`` holds hub, directory and clock."""
    parts = websocket.app.state.parts
    await serve(websocket, parts.hub, parts.directory, parts.clock)


async def serve(websocket: WebSocket, hub: Hub, directory: Directory, clock: Clock) -> None:
    """Authenticate, then run the connection until it ends."""
    request_id = getattr(websocket.state, "request_id", None) or str(uuid.uuid4())
    headers = dict(websocket.headers)
    try:
        _require_form(headers)
        caller = directory.authenticate(headers, Access.KEY)
    except ServiceError as refusal:
        await _deny(websocket, refusal, request_id, clock)
        return
    except AccessRefused as refusal:
        if "authorization" not in headers:
            denial = ServiceError(refusal.code, refusal.message)
            await _deny(websocket, denial, request_id, clock)
            return
        await websocket.accept(headers=[(b"x-request-id", request_id.encode())])
        await websocket.send_text(
            encode_json(
                {
                    "type": "error",
                    "code": StreamError.AUTH_FAILED.value,
                    "message": refusal.message,
                }
            ).decode()
        )
        await websocket.close(int(CloseCode.AUTH_FAILED), CloseCode.AUTH_FAILED.name)
        return
    await websocket.accept(headers=[(b"x-request-id", request_id.encode())])
    connection = Connection(websocket, hub, clock, caller.partner.partner_id)
    connection.welcome()
    await connection.run()


def _require_form(headers: dict[str, str]) -> None:
    """``Authorization`` is ``<key>:<secret>``, both printable ASCII and neither empty."""
    authorization = headers.get("authorization")
    if authorization is None:
        return
    key, colon, secret = authorization.partition(":")
    plain = authorization.isascii() and authorization.isprintable() and " " not in authorization
    if not (colon and key and secret and plain):
        raise ServiceError(
            ErrorCode.BAD_REQUEST, "Authorization must be <ApiKey>:<ApiSecret>, sent as it is."
        )


async def _deny(websocket: WebSocket, refusal: ServiceError, request_id: str, clock: Clock) -> None:
    """The plain HTTP error answer instead of the upgrade."""
    await websocket.send_denial_response(
        Response(
            encode_json(refusal.body(request_id)),
            status_code=refusal.status,
            headers={
                **refusal.headers,
                "content-type": "application/json",
                "x-request-id": request_id,
                "date": format_datetime(clock.now(), usegmt=True),
            },
        )
    )
