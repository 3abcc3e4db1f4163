"""The order stream against a real WebSocket server that drops, lies and falls silent."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import pairwise
from typing import Any, Self

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request as Handshake
from websockets.http11 import Response

import manual_time
from client.rude_server import Behaviour, Request, RudeServer, answer, reset, silence
from patience import PATIENCE
from swapdesk.client import stream_socket
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import (
    Backoff,
    OrderMissing,
    OrderSeen,
    OrderStream,
    Source,
    StateChanged,
    StreamEvent,
    StreamState,
    StreamTimes,
)
from swapdesk.client.stream_socket import OrderSocket, stream_url
from swapdesk.clock import ManualClock
from swapdesk.wire.orders import Order

CREDENTIALS = Credentials.of_key("planted-key-1234", "planted-secret-5678")


class Watcher:
    """Collects the events of a stream and moves its clock."""

    def __init__(self, stream: OrderStream, clock: ManualClock) -> None:
        self.stream = stream
        self.clock = clock
        self.events: list[StreamEvent] = []
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for event in self.stream:
            self.events.append(event)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def until(self, condition: Callable[[], bool], *, step: float = 0.0) -> float:
        """Wait for a condition; each look moves the clock by ``step``. Seconds moved."""
        moved = 0.0
        async with asyncio.timeout(PATIENCE):
            while not condition():
                if step:
                    self.clock.advance(step)
                    moved += step
                await asyncio.sleep(0)
                await manual_time.rest()
        return moved

    async def state(self, state: StreamState, *, step: float = 0.0) -> float:
        """Wait for a state that is also told, so that all events before it are collected."""
        return await self.until(
            lambda: self.stream.state == state and self.states()[-1:] == [state], step=step
        )

    def seen(self, source: Source | None = None) -> list[tuple[str, int | None]]:
        return [
            (e.order.service_id, e.order.status)
            for e in self.events
            if isinstance(e, OrderSeen) and (source is None or e.source == source)
        ]

    def states(self) -> list[StreamState]:
        return [e.state for e in self.events if isinstance(e, StateChanged)]


@asynccontextmanager
async def watching(
    desk: OrderDesk, credentials: Credentials = CREDENTIALS
) -> AsyncIterator[Watcher]:
    clock = ManualClock()
    async with PartnerApi(desk.http.url, credentials, clock=clock, rng=random.Random(5)) as api:
        stream = OrderStream(desk.stream_url, credentials, clock, api, random.Random(7))
        async with stream:
            watcher = Watcher(stream, clock)
            try:
                yield watcher
            finally:
                await watcher.close()


@pytest.fixture
async def desk() -> AsyncIterator[OrderDesk]:
    async with OrderDesk() as opened:
        yield opened


@pytest.fixture
async def watcher(desk: OrderDesk) -> AsyncIterator[Watcher]:
    """Of a stream that is live."""
    async with watching(desk) as opened:
        await opened.state("live")
        yield opened


async def test_it_subscribes_first_then_reads_then_tells_what_was_held_back(
    desk: OrderDesk,
) -> None:
    desk.put("a", 0)

    async def overtake(socket) -> None:
        await socket.send(
            json.dumps({"type": "order_update", "data": {"serviceId": "a", "status": 1}})
        )

    desk.on_subscribe = overtake
    async with watching(desk) as watcher:
        await watcher.until(lambda: "live" in watcher.states())
        assert desk.journal == ["handshake", "subscribe", "GET /v2/orders"]
        kinds = [
            e.source if isinstance(e, OrderSeen) else e.state
            for e in watcher.events
            if isinstance(e, OrderSeen | StateChanged)
        ]
        assert kinds == [
            "resuming",
            "snapshot",
            "stream",
            "live",
        ]
        await desk.update("a", 2)
        await watcher.until(lambda: ("a", 2) in watcher.seen("stream"))
    assert desk.handshakes[0]["Authorization"] == "planted-key-1234:planted-secret-5678"
    assert "Sec-WebSocket-Extensions" not in desk.handshakes[0]


async def test_a_page_that_cannot_be_read_does_not_end_the_reading(desk: OrderDesk) -> None:
    desk.page_size = 2
    for number in range(5):
        desk.put(f"o{number}", 0)
    for number in range(2):
        desk.orders[f"o{number}"]["inAmount"] = "much"
    async with watching(desk) as watcher:
        await watcher.state("live")
        assert [i for i, _ in watcher.seen("snapshot")] == ["o2", "o3", "o4"]
        assert desk.journal.count("GET /v2/orders") == 3


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 1013, 4400, 4429, 4999, None])
async def test_any_other_close_is_followed_by_a_new_connection(
    code: int | None, desk: OrderDesk, watcher: Watcher
) -> None:
    if code is None:
        # A frame of this size costs the connection, and nothing else.
        await desk.say('{"type": "' + "x" * (256 * 1024) + '"}')
    else:
        await desk.sockets[-1].close(code)
    await watcher.until(lambda: len(desk.sockets) == 2, step=0.05)
    await watcher.state("live")
    assert watcher.stream.refused is None


@pytest.mark.parametrize(("code", "most"), [(1012, 1.0), (1011, 30.0)])
async def test_after_a_restart_it_connects_again_at_once_however_often(
    code: int, most: float, desk: OrderDesk, watcher: Watcher
) -> None:
    moved = []
    for number in range(2, 7):
        await desk.sockets[-1].close(code)
        moved.append(await watcher.until(lambda n=number: len(desk.sockets) == n, step=0.05))
        await watcher.state("live")
    # The steps overshoot a little.
    assert max(moved) <= most + 0.5
    assert (max(moved) <= 1.5) is (code == 1012)


async def test_a_silent_peer_is_found_within_fifteen_seconds(
    desk: OrderDesk, watcher: Watcher
) -> None:
    # Alive: pongs come, nothing else, for longer than the limit of silence.
    await watcher.until(lambda: watcher.clock.monotonic() > 1_060, step=1.0)
    assert watcher.stream.state == "live"
    assert len(desk.sockets) == 1
    desk.sockets[-1].transport.pause_reading()
    moved = await watcher.until(lambda: len(desk.sockets) == 2, step=0.1)
    # 15 s for the missing pong and at most one of jitter, in steps that overshoot a little.
    assert 5.0 <= moved <= 20.0


async def test_what_was_silent_for_thirty_seconds_is_not_live(watcher: Watcher) -> None:
    watcher.clock.advance(30)
    assert watcher.stream.state == "live"
    watcher.clock.advance(1)
    assert watcher.stream.state == "resuming"
    assert watcher.stream.age() >= 31


AUTH_FAILED = json.dumps({"type": "error", "code": "AUTH_FAILED", "message": "x"})


@pytest.mark.parametrize("how", [401, 403, "closed", "told"])
async def test_refused_credentials_are_not_tried_again_and_orders_are_still_asked_for(
    how: int | str, desk: OrderDesk
) -> None:
    async def refuse(socket) -> None:
        await (socket.close(4401) if how == "closed" else socket.send(AUTH_FAILED))

    desk.put("a", 0)
    if isinstance(how, int):
        desk.refuse = [(how, {})]
    else:
        desk.on_subscribe = refuse
    async with watching(desk) as watcher:
        await watcher.until(lambda: watcher.stream.refused is not None)
        await watcher.state("polling", step=1.0)
        await watcher.until(lambda: len(watcher.seen("poll")) >= 3, step=1.0)
        assert desk.journal.count("handshake") == 1


async def test_a_partner_id_only_asks_and_only_for_what_is_watched(desk: OrderDesk) -> None:
    desk.put("a", 2)
    async with watching(desk, Credentials.read_only("p-1")) as watcher:
        watcher.stream.watch(["a"])
        await watcher.until(lambda: ("a", 2) in watcher.seen("poll"), step=1.0)
        assert set(desk.journal) == {"GET /v2/orders/a"}
        assert watcher.stream.refused is not None


@pytest.mark.parametrize("told", [["60"], ["5", "60.5"], ["600"]])
async def test_too_many_handshakes_wait_as_long_as_told(told: list[str], desk: OrderDesk) -> None:
    desk.refuse = [(429, [("Retry-After", wait) for wait in told])]
    async with watching(desk) as watcher:
        await watcher.until(lambda: desk.journal.count("handshake") == 1)
        moved = await watcher.until(lambda: desk.journal.count("handshake") == 2, step=0.5)
        assert moved >= float(told[-1])
        await watcher.state("live", step=0.5)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_list_that_wants_to_wait_is_read_by_no_loop_meanwhile(
    status: int, desk: OrderDesk
) -> None:
    desk.rest = answer(status, {}, {"Retry-After": "90"})
    async with watching(desk) as watcher:
        await watcher.until(lambda: desk.journal.count("GET /v2/orders") == 1)
        desk.rest = None
        moved = await watcher.until(lambda: desk.journal.count("GET /v2/orders") > 1, step=0.5)
        assert moved >= 90
        await watcher.state("live", step=0.5)


async def test_a_redirect_is_not_followed() -> None:
    async with OrderDesk() as desk, OrderDesk() as thief:
        desk.refuse = [(307, {"Location": thief.stream_url})]
        async with watching(desk) as watcher:
            await watcher.state("live", step=0.05)
        assert thief.handshakes == []
        assert len(desk.handshakes) == 2


def test_tries_come_slower_up_to_half_a_minute_until_a_connection_held() -> None:
    backoff = Backoff(StreamTimes(), random.Random(7))
    waits = [backoff.next(None) for _ in range(8)]
    assert waits[0] <= 1.0
    assert 15.0 <= waits[-1] <= max(waits) <= 30.0
    backoff.held(29.9)
    assert backoff.next(None) >= 15.0
    assert backoff.next(60.5) == 60.5
    backoff.held(30.0)
    assert backoff.next(None) <= 1.0


async def test_while_the_socket_is_down_it_asks_every_ten_seconds(desk: OrderDesk) -> None:
    desk.put("a", 0)
    desk.refuse, desk.refusing = [(503, {})], True
    async with watching(desk) as watcher:
        await watcher.state("polling")
        first = desk.journal.count("GET /v2/orders")
        start = watcher.clock.monotonic()
        await watcher.until(lambda: watcher.clock.monotonic() >= start + 60, step=0.5)
        asked = desk.journal.count("GET /v2/orders") - first
        assert 5 <= asked <= 7
        assert watcher.stream.state == "polling"


async def test_a_healthy_stream_is_checked_every_thirty_seconds(desk: OrderDesk) -> None:
    desk.put("a", 0)
    async with watching(desk) as watcher:
        await watcher.state("live")
        # An update that the stream never told.
        desk.put("a", 1)
        start = watcher.clock.monotonic()
        moved = await watcher.until(lambda: ("a", 1) in watcher.seen("poll"), step=0.5)
        assert 29 <= moved <= 34
        await watcher.until(lambda: watcher.clock.monotonic() >= start + 95, step=0.5)
        assert desk.journal.count("GET /v2/orders") == 4
        assert len(desk.sockets) == 1


async def test_offline_is_when_nobody_answers_and_it_recovers(desk: OrderDesk) -> None:
    desk.refuse, desk.refusing = [(503, {})], True
    desk.rest = answer(503, {})
    async with watching(desk) as watcher:
        await watcher.state("offline", step=0.1)
        desk.rest = None
        await watcher.state("polling", step=0.2)
        desk.refusing = False
        await watcher.state("live", step=0.2)
        order = ["offline", "polling", "live"]
        assert [s for s in watcher.states() if s != "resuming"] == order


@pytest.mark.parametrize(("rest", "seconds"), [(reset, 9.0), (silence, 31.0)])
async def test_a_service_that_is_gone_or_hangs_is_offline_within_half_a_minute(
    rest: Behaviour, seconds: float, desk: OrderDesk, watcher: Watcher
) -> None:
    desk.refuse, desk.refusing = [(503, {})], True
    desk.rest = rest
    desk.cut()
    stream = watcher.stream
    await watcher.until(lambda: stream.state == "offline", step=0.05)
    assert stream.age() < seconds


async def test_a_snapshot_that_fails_is_no_live_stream(desk: OrderDesk) -> None:
    desk.rest = answer(200, b"<html>")
    async with watching(desk) as watcher:
        await watcher.until(lambda: len(desk.sockets) >= 2, step=0.1)
        assert "live" not in watcher.states()
        desk.rest = None
        await watcher.state("live", step=0.1)


HOSTILE = [
    b"\x00\x01",
    b"\xff\xfe",
    "",
    "nonsense",
    "[]",
    "null",
    '{"type": "order_update", "type": "x"}',
    '{"type": 7}',
    '{"type": "order_update", "data": {"serviceId": "../../x"}}',
    '{"type": "order_update", "data": {"serviceId": "a", "inAmount": 1e999999}}',
    '{"type": "order_update", "data": {"serviceId": "a", "inAmount": NaN}}',
    '{"type": "order_update", "data": "text"}',
    '{"type": "\\u001b[2J"}',
    '{"type": "order_update", "data": ' + "[" * 5000 + "}",
    '{"type": "\\ud83d"}',
    '{"a": "' + "x" * 200_000 + '"}',
]
HARMLESS = [
    '{"type": "new_kind", "data": null, "more": 1}',
    '{"type": "order_update"}',
    '{"type": "error", "code": "RATE_LIMIT_EXCEEDED", "message": "slow"}',
    '{"type": "pong"}',
]


async def test_hostile_frames_do_no_harm_and_lead_to_asking(
    desk: OrderDesk, watcher: Watcher
) -> None:
    for message in (*HOSTILE, *HARMLESS):
        await desk.say(message)
    await desk.update("good", 1)
    await watcher.until(lambda: ("good", 1) in watcher.seen("stream"))
    assert watcher.seen("stream") == [("good", 1)]
    assert watcher.stream.unusable_frames == len(HOSTILE)
    assert len(desk.sockets) == 1
    moved = await watcher.until(lambda: ("good", 1) in watcher.seen("poll"), step=0.5)
    assert 9 <= moved <= 13


async def test_however_many_messages_wait_others_have_their_turn_between_them(
    monkeypatch: pytest.MonkeyPatch, desk: OrderDesk
) -> None:
    monkeypatch.setattr(stream_socket, "TURN_SECONDS", 0.0)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def all_at_once(socket) -> None:
        for number in range(40):
            await socket.send(
                json.dumps({"type": "order_update", "data": {"serviceId": "a", "status": number}})
            )

    desk.on_subscribe = all_at_once
    clock = ManualClock()
    socket = await OrderSocket.open(
        desk.stream_url, CREDENTIALS, clock, StreamTimes(), lambda: None
    )
    beside = asyncio.create_task(others())
    await socket.subscribe()
    seen: list[int] = []
    async for frame in socket.frames():
        if isinstance(frame, Order):
            seen.append(turns)
        if len(seen) == 40:
            break
    beside.cancel()
    await socket.close()
    assert all(later > earlier for earlier, later in pairwise(seen))


async def test_watched_orders_beyond_the_list_are_read_one_by_one(
    desk: OrderDesk, watcher: Watcher
) -> None:
    watcher.stream.watch(["gone", "gone"])
    await watcher.until(lambda: any(isinstance(e, OrderMissing) for e in watcher.events))
    missing = next(e for e in watcher.events if isinstance(e, OrderMissing))
    assert missing.service_id == "gone"
    watcher.stream.unwatch(["gone", "never"])
    asked = desk.journal.count("GET /v2/orders/gone")
    before = desk.journal.count("GET /v2/orders")
    await watcher.until(lambda: desk.journal.count("GET /v2/orders") > before, step=1.0)
    assert desk.journal.count("GET /v2/orders/gone") == asked


async def test_a_service_that_never_confirms_is_believed_after_five_seconds(
    desk: OrderDesk,
) -> None:
    desk.mute = True
    async with watching(desk) as watcher:
        moved = await watcher.state("live", step=0.25)
        assert 4.5 <= moved <= 7


async def test_no_final_state_is_missed_over_many_drops() -> None:
    rng = random.Random(11)
    async with OrderDesk() as desk, watching(desk) as watcher:
        truth: dict[str, int] = {}
        await watcher.state("live")
        for number in range(40):
            service_id = f"o{number % 8}"
            truth[service_id] = number
            if rng.random() < 0.5:
                await watcher.state("live", step=0.2)
                await desk.update(service_id, number)
            else:
                desk.cut()
                desk.put(service_id, number)
                await watcher.until(lambda: watcher.stream.state != "live", step=0.0)
        await watcher.state("live", step=0.2)
        # The last events may still be on their way to the reader.
        await watcher.until(lambda: dict(watcher.seen()) == truth, step=0.5)


async def test_closing_leaves_nothing_behind_also_in_the_moment_of_a_loss() -> None:
    for lost in (False, *[True] * 20):
        async with OrderDesk() as desk, asyncio.timeout(PATIENCE):
            before = asyncio.all_tasks()
            async with watching(desk) as watcher:
                await watcher.state("live")
                if lost:
                    desk.cut()
                    await asyncio.sleep(0)
            await desk.sockets[-1].wait_closed()
            left = {t for t in asyncio.all_tasks() - before if "swapdesk" in repr(t.get_coro())}
            assert left == set()


async def test_the_secret_is_in_no_log_and_no_repr(
    caplog: pytest.LogCaptureFixture, desk: OrderDesk
) -> None:
    caplog.set_level(logging.DEBUG)
    desk.refuse = [(401, {})]
    async with watching(desk) as watcher:
        await watcher.state("polling")
        shown = repr(vars(watcher.stream)) + repr(watcher.events)
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith("websockets")]
    assert "planted" not in shown + "\n".join(ours)


def test_the_address_of_the_stream_follows_the_api() -> None:
    assert stream_url("https://api.example.com") == "wss://api.example.com/v2/ws"
    assert stream_url("http://127.0.0.1:9/v2") == "ws://127.0.0.1:9/v2/ws"


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
