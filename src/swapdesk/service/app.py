"""The service as an ASGI application: every request the same way through the table.

Route, method, access, rate limit, parameters, handler: in this order. Every answer carries
``Date`` from the clock and ``x-request-id``, also 404, 405, 413 and a refused WebSocket handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from email.utils import format_datetime
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from swapdesk.clock import Clock
from swapdesk.service.access import AccessRefused, Caller, Directory
from swapdesk.service.catalog import Catalog
from swapdesk.service.errors import ServiceError
from swapdesk.service.events.hub import Hub
from swapdesk.service.handlers import Call, Encoded, Handlers
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.pair_limits import PairLimitsDesk
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import RateLimiter, refusal
from swapdesk.service.request_counts import RequestCounter
from swapdesk.service.request_line import Seen
from swapdesk.service.requests import NOT_A_CREDENTIAL, NoParameters, body, parameters, query_pairs
from swapdesk.service.router import Found, Router
from swapdesk.service.store.protocol import Store, StoreUnavailable
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operations import OPERATIONS, STREAM_PATH, Access, RateClass

PREFIX = "/v2"
_RESTART_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Running(Protocol):
    """Something that works in the background until it is cancelled."""

    async def run(self) -> None: ...


@dataclass(frozen=True)
class ServiceParts:
    """The rooms of one service, wired together; ``stream`` answers ``WS /ws``."""

    clock: Clock
    rng: random.Random
    directory: Directory
    catalog: Catalog
    venues: Venues
    store: Store
    engine: QuoteEngine
    pair_limits: PairLimitsDesk
    requests: RequestCounter
    rates: RateLimiter
    orders: OrderDesk
    hub: Hub
    worker: Worker
    stream: Callable[[WebSocket], Awaitable[None]]
    version: str


class _Everything(BaseRoute):
    """Hands every path over, also one with a line break, which no pattern of a Mount matches."""

    def __init__(self, surface: _Surface) -> None:
        self._surface = surface

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return Match.FULL, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._surface(scope, receive, send)


class _Surface:
    """Everything between the server and a handler."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._router = Router(OPERATIONS, PREFIX)
        self._handlers = Handlers(parts).table()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = Seen(str(uuid.UUID(int=self._parts.rng.getrandbits(128), version=4)))
        scope.setdefault("state", {})["request_id"] = seen.request_id
        begin = self._parts.clock.monotonic()

        async def stamped(message: Message) -> None:
            if message["type"] in (
                "http.response.start",
                "websocket.http.response.start",
                "websocket.accept",
            ):
                named = {
                    "x-request-id": seen.request_id,
                    "date": format_datetime(self._parts.clock.now(), usegmt=True),
                    **(seen.admission.headers if seen.admission is not None else {}),
                }
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.encode(), value.encode()) for name, value in named.items()),
                ]
                seen.status = message.get("status", 101)
            await send(message)

        try:
            if scope["type"] == "websocket":
                await self._stream(scope, receive, stamped, seen)
            else:
                answer = await self._answer(Request(scope, receive), seen)
                await answer(scope, receive, stamped)
        finally:
            seen.log(scope.get("method", "WS"), self._parts.clock.monotonic() - begin)

    async def _stream(self, scope: Scope, receive: Receive, send: Send, seen: Seen) -> None:
        websocket = WebSocket(scope, receive, send)
        if _path(scope) != PREFIX + STREAM_PATH:
            error = ServiceError(ErrorCode.NOT_FOUND, "There is nothing at this path.")
            await websocket.send_denial_response(_refusal(error, seen.request_id))
            return
        seen.route = STREAM_PATH
        await self._parts.stream(websocket)

    async def _answer(self, request: Request, seen: Seen) -> Response:
        try:
            result = await self._handled(request, seen)
            data = result.data if isinstance(result, Encoded) else encode_json(result)
            return Response(data, media_type="application/json")
        except ServiceError as error:
            return _refusal(error, seen.request_id)
        except StoreUnavailable:
            logger.warning("store unavailable, request %s", seen.request_id)
            code = ErrorCode.SERVICE_UNAVAILABLE
            refused = ServiceError(code, "The service cannot answer at present. Try again.")
            return _refusal(refused, seen.request_id)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception:
            # The boundary of a request: whatever went wrong is logged whole and told to nobody.
            logger.exception("request %s failed", seen.request_id)
            code = ErrorCode.INTERNAL_SERVER_ERROR
            refused = ServiceError(code, "Something went wrong. Quote the request id to support.")
            return _refusal(refused, seen.request_id)

    async def _handled(self, request: Request, seen: Seen) -> object:
        path = _path(request.scope)
        if path == PREFIX + STREAM_PATH:
            seen.route = STREAM_PATH
            raise _no_handshake(request.method)
        found = self._router.find(request.method, path)
        operation = found.operation
        seen.route = operation.path
        headers = _joined(request)
        caller = self._caller(found, headers)
        if caller is not None:
            seen.partner = caller.partner.partner_id
            self._parts.requests.count(caller.partner)
            await self._admit(caller, operation.rate_class, seen)
        pairs = query_pairs(request.scope["query_string"])
        if operation.access is not Access.OPEN:
            pairs = _without_api_key(pairs, headers)
        path_model = operation.path_parameters or NoParameters
        call = Call(
            caller=caller,
            path=parameters(path_model, found.parameters),
            query=parameters(operation.query or NoParameters, pairs),
            body=await body(operation.body, request) if operation.body else None,
        )
        return await self._handlers[operation.name](call)

    async def _admit(self, caller: Caller, rate_class: RateClass, seen: Seen) -> None:
        seen.admission = await self._parts.rates.admit(caller, rate_class)
        if seen.admission is not None and seen.admission.retry_after is not None:
            raise refusal(rate_class, seen.admission)

    def _caller(self, found: Found, headers: dict[str, str]) -> Caller | None:
        operation = found.operation
        if operation.access is Access.OPEN:
            return None
        try:
            return self._parts.directory.authenticate(
                headers, operation.access, writes=operation.writes
            )
        except AccessRefused as refused:
            raise ServiceError(refused.code, refused.message) from None


def _path(scope: Scope) -> str:
    """The decoded path; empty where a slash came encoded, which separates no segments."""
    if b"%2f" in scope.get("raw_path", b"").lower():
        return ""
    path: str = scope["path"]
    return path


def _joined(request: Request) -> dict[str, str]:
    """Headers by lower-case name; a repeated one is joined, so that two credentials are none."""
    joined: dict[str, str] = {}
    for name, value in request.headers.items():
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _without_api_key(
    pairs: list[tuple[str, str]], headers: dict[str, str]
) -> list[tuple[str, str]]:
    """The pairs without ``apiKey``, which never authenticates a request."""
    kept = [(name, value) for name, value in pairs if name != NOT_A_CREDENTIAL]
    if len(kept) < len(pairs) and "authorization" not in headers:
        raise ServiceError(
            ErrorCode.INVALID_API_CREDENTIALS,
            "An apiKey parameter is not a credential; send the Authorization header.",
        )
    return kept


def _no_handshake(method: str) -> ServiceError:
    """What a request to the stream is told that is no complete WebSocket handshake."""
    if method != "GET":
        return ServiceError(
            ErrorCode.METHOD_NOT_ALLOWED, "This path answers GET.", headers={"allow": "GET"}
        )
    return ServiceError(ErrorCode.BAD_REQUEST, "This path takes a WebSocket handshake, version 13.")


def _refusal(error: ServiceError, request_id: str) -> Response:
    return Response(
        encode_json(error.body(request_id)),
        status_code=error.status,
        headers=error.headers,
        media_type="application/json",
    )


async def _kept_running(part: Running, name: str, clock: Clock) -> None:
    """Run a background part; one that breaks is logged and started again."""
    while True:
        try:
            await part.run()
            return
        except Exception:
            logger.exception("%s broke and is started again", name)
            await clock.sleep(_RESTART_SECONDS)


def build_service(parts: ServiceParts) -> Starlette:
    """The application; its lifespan runs worker, hub and counters, and ends with a last flush."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        background: dict[str, Running] = {
            "worker": parts.worker,
            "hub": parts.hub,
            "request counts": parts.requests,
            "rate windows": parts.rates,
        }
        await parts.rates.restore()
        tasks = [
            asyncio.create_task(_kept_running(part, name, parts.clock), name=name)
            for name, part in background.items()
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await parts.requests.flush()
            await parts.rates.flush()

    app = Starlette(routes=[_Everything(_Surface(parts))], lifespan=lifespan)
    app.state.parts = parts
    return app
