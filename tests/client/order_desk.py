"""A small service for the tests of the stream: a list of orders over HTTP and a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request as Handshake
from websockets.http11 import Response

from client.rude_server import Behaviour, Request, RudeServer, answer

Conversation = Callable[[ServerConnection], Awaitable[None]]


class OrderDesk:
    """``orders`` is the truth; ``journal`` tells in which order things were asked."""

    def __init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {}
        self.journal: list[str] = []
        self.sockets: list[ServerConnection] = []
        self.handshakes: list[Headers] = []
        self.refuse: list[tuple[int, dict[str, str] | list[tuple[str, str]]]] = []
        """Answers to the next handshakes; the last one repeats while ``refusing``."""
        self.refusing = False
        self.rest: Behaviour | None = None
        """Stands in for the list and the order while it is set."""
        self.on_subscribe: Conversation | None = None
        self.mute = False
        self.page_size = 100
        self.http = RudeServer(self._rest)
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        self._server = await serve(
            self._socket, "127.0.0.1", 0, process_request=self._shake, ping_interval=None
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        for socket in self.sockets:
            socket.transport.abort()
        self._server.close()
        await self._server.wait_closed()
        await self.http.__aexit__()

    @property
    def stream_url(self) -> str:
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}/v2/ws"

    def put(self, service_id: str, status: int) -> dict[str, Any]:
        order = {"serviceId": service_id, "status": status}
        self.orders[service_id] = order
        return order

    async def say(self, message: Any) -> None:
        data = message if isinstance(message, (str, bytes)) else json.dumps(message)
        await self.sockets[-1].send(data)

    async def update(self, service_id: str, status: int) -> None:
        await self.say({"type": "order_update", "data": self.put(service_id, status)})

    def cut(self) -> None:
        self.sockets[-1].transport.abort()

    async def _rest(self, request: Request, writer: asyncio.StreamWriter) -> None:
        path, _, query = request.target.partition("?")
        self.journal.append(f"GET {path}")
        if self.rest is not None:
            await self.rest(request, writer)
            return
        if path == "/v2/orders":
            page = int(dict(p.split("=") for p in query.split("&")).get("page", "1"))
            rows = list(self.orders.values())
            part = rows[(page - 1) * self.page_size : page * self.page_size]
            pages = -(-len(rows) // self.page_size)
            body = {"orders": part, "total": len(rows), "totalPages": pages}
            await answer(200, body)(request, writer)
        else:
            order = self.orders.get(path.rsplit("/", 1)[1])
            missing = {"code": "NOT_FOUND", "message": "x"}
            behave = answer(200, order) if order is not None else answer(404, missing)
            await behave(request, writer)

    def _shake(self, _: ServerConnection, request: Handshake) -> Response | None:
        self.journal.append("handshake")
        self.handshakes.append(request.headers)
        if not self.refuse:
            return None
        status, headers = self.refuse[0]
        if not self.refusing:
            self.refuse.pop(0)
        return Response(status, HTTPStatus(status).phrase, Headers(headers), b"")

    async def _socket(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        await socket.send(json.dumps({"type": "welcome", "partnerId": "p"}))
        async for message in socket:
            frame = json.loads(message)
            self.journal.append(frame["type"])
            if frame["type"] == "subscribe" and not self.mute:
                await socket.send(json.dumps({"type": "subscribed", "all": True}))
                if self.on_subscribe is not None:
                    await self.on_subscribe(socket)
