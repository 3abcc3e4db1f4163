"""The handshake of ``WS /ws`` (contract 11.1, 11.2).

Refused before the upgrade: no credentials (401), malformed ones (400), ``partner-id`` alone
(401). Wrong credentials are told after it: ``error`` AUTH_FAILED, then close 4401.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.websockets import WebSocket

from swapdesk.clock import Clock
from swapdesk.service.access import AccessRefused, Directory
from swapdesk.service.errors import ServiceError
from swapdesk.service.events.connection import StreamConnection
from swapdesk.service.events.hub import Hub
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.events import CloseCode, StreamError
from swapdesk.wire.operation import Access


def stream_endpoint(
    hub: Hub, directory: Directory, clock: Clock
) -> Callable[[WebSocket], Awaitable[None]]:
    """What answers ``WS /ws``: authenticates a connection and serves it until it ends."""

    async def serve(websocket: WebSocket) -> None:
        await _serve(websocket, hub, directory, clock)

    return serve


async def _serve(websocket: WebSocket, hub: Hub, directory: Directory, clock: Clock) -> None:
    headers: dict[str, str] = {}
    for name, value in websocket.headers.items():
        # Two credentials are none: joined, they have no valid form.
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    try:
        _require_form(headers)
        caller = directory.authenticate(headers, Access.KEY)
    except ServiceError as refusal:
        await _deny(websocket, refusal)
        return
    except AccessRefused as refusal:
        if "authorization" not in headers:
            denial = ServiceError(refusal.code, refusal.message)
            await _deny(websocket, denial)
            return
        await websocket.accept()
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
    await websocket.accept()
    connection = StreamConnection(websocket, hub, clock, caller.partner.partner_id)
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


async def _deny(websocket: WebSocket, refusal: ServiceError) -> None:
    """The plain HTTP error answer instead of the upgrade, with the id the surface gave it."""
    await websocket.send_denial_response(
        Response(
            encode_json(refusal.body(websocket.state.request_id)),
            status_code=refusal.status,
            headers=refusal.headers,
            media_type="application/json",
        )
    )
