"""``python -m benchmarks.feed PORT ORDERS RATE SECONDS``: a service whose orders move fast.

HTTP is answered by the real service over a store; the stream repeats full orders, ``RATE`` a
second, once a line arrives on stdin, and ends with one last state of every order. Prints
``ready``, ``subscribed`` at every subscription, and ``fed N`` at the end.
"""

from __future__ import annotations

import asyncio
import random
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from benchmarks.service_world import build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, started
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatusCode

STEPS = (
    (OrderStatusCode.EXCHANGING, DisplayStatus.EXCHANGE_IN_PROGRESS, LegStatus.EXCHANGING),
    (OrderStatusCode.EXCHANGING, DisplayStatus.SENDING_TO_INTERMEDIARY, LegStatus.SENDING),
    (OrderStatusCode.ANONYMIZING, DisplayStatus.REACHED_INTERMEDIARY, LegStatus.FINISHED),
)
LAST = (OrderStatusCode.ANONYMIZING, DisplayStatus.SENDING_TO_RECEIVER, LegStatus.FINISHED)
_TICK = 0.01


class Feed:
    """The updates of all orders, and the sockets that follow them."""

    def __init__(self, orders: list[Order], rate: int, seconds: float) -> None:
        self._orders = orders
        self._rate = rate
        self._seconds = seconds
        self._rng = random.Random(rate)
        self.go = asyncio.Event()

    async def stream(self, peer: WebSocket) -> None:
        await peer.accept()
        await peer.send_text('{"type":"welcome","partnerId":"benchmark"}')
        feeding: asyncio.Task[None] | None = None
        try:
            while True:
                text = await peer.receive_text()
                if '"ping"' in text:
                    await peer.send_text('{"type":"pong"}')
                elif '"subscribe"' in text:
                    await peer.send_text('{"type":"subscribed","all":true}')
                    print("subscribed", flush=True)
                    feeding = feeding or asyncio.create_task(self._feed(peer))
        except WebSocketDisconnect:
            if feeding is not None:
                feeding.cancel()

    async def _feed(self, peer: WebSocket) -> None:
        await self.go.wait()
        begin = time.monotonic()
        sent = 0
        while (passed := time.monotonic() - begin) < self._seconds:
            while sent < passed * self._rate:
                place = sent % len(self._orders)
                step = STEPS[min(len(STEPS) - 1, int(passed / self._seconds * len(STEPS)))]
                await peer.send_text(self._frame(place, sent, step))
                sent += 1
            await asyncio.sleep(_TICK)
        for place in range(len(self._orders)):
            await peer.send_text(self._frame(place, sent, LAST))
            sent += 1
        print(f"fed {sent}", flush=True)

    def _frame(
        self, place: int, number: int, step: tuple[OrderStatusCode, DisplayStatus, LegStatus]
    ) -> str:
        """A full order, some 4 kB, with a new amount and time."""
        order = self._orders[place]
        status, shown, leg = step
        moved = order.model_copy(
            update={
                "modified": (order.modified or order.created or SystemClock().now())
                + timedelta(milliseconds=number + 1),
                "status": int(status),
                "status_label": status.name,
                "display_status": shown.value,
                "in_status": int(leg),
                "out_amount": Decimal(self._rng.randrange(1, 10**9)).scaleb(-6),
            }
        )
        return '{"type":"order_update","data":' + encode_json(moved).decode() + "}"


def _app(service: ASGIApp, feed: Feed) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await feed.stream(WebSocket(scope, receive, send))
        else:
            await service(scope, receive, send)

    return app


async def _lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode()


async def _serve(port: int, count: int, rate: int, seconds: float) -> None:
    clock = SystemClock()
    chains = build_chains()
    tokens = [
        token for token in build_tokens(chains, clock.now()) if token.enabled and token.has_cex
    ]
    with tempfile.TemporaryDirectory() as scratch:
        store, rows = await stored_orders(Path(scratch), tokens, count, clock.now())
        parts = build(clock, store, chains, tokens)
        feed = Feed([parts.orders.presentation.order(row) for row in rows], rate, seconds)
        server = build_server(_app(build_service(parts), feed), SystemClock(), lifespan=True)
        listener = socket.create_server(("127.0.0.1", port))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await started(server, asyncio.Event())
        print("ready", flush=True)
        async for _ in _lines():
            feed.go.set()
        server.should_exit = True
        await serving
        await store.close()


def main() -> None:
    port, count, rate, seconds = sys.argv[1:]
    uvloop.run(_serve(int(port), int(count), int(rate), float(seconds)))


if __name__ == "__main__":
    main()
