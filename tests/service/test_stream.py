"""WS /ws over a real socket: handshake, subscriptions, updates, rules (contract 11.1 to 11.9)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

import databases
import manual_time
from patience import PATIENCE, eventually
from rows import each_row
from service.loopback import listening, server_of, serving
from service.new_store import announced
from service.orders_fixtures import venues_at
from service.test_orders_api import created
from service.venue import PlainVenue
from service.world import AS_FIRST, AS_READER, AS_SECOND, AS_SUSPENDED, BY_PARTNER_ID
from swapdesk.clock import ManualClock
from swapdesk.service import events as rules
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.events import MAX_WATCHED
from swapdesk.wire.orders import LegStatus


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
async def base(service: ServiceParts) -> AsyncIterator[str]:
    async with serving(service) as address:
        yield address


class Listener:
    """One client of the stream."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.socket.recv())

    async def ask(self, **frame: Any) -> dict[str, Any]:
        await self.socket.send(json.dumps(frame))
        return await self.next()

    async def closed(self) -> int:
        """The code the server closed with, whatever came before it."""
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(websockets.ConnectionClosedError):
                async for _ in self.socket:
                    continue
            await self.socket.wait_closed()
        return self.socket.close_code

    async def silent(self) -> bool:
        """Nothing waits but the answer to a ping sent now."""
        return (await self.ask(type="ping"))["type"] == "pong"


def stream(base: str, headers: dict[str, str] = AS_FIRST, query: str = "") -> connect:
    return connect(
        base.replace("http", "ws", 1) + "/ws" + query,
        additional_headers=headers,
        compression=None,
        proxy=None,
    )


async def welcomed(socket: ClientConnection) -> Listener:
    listener = Listener(socket)
    assert await listener.next() == {"type": "welcome", "partnerId": "partner-first"}
    return listener


@contextlib.asynccontextmanager
async def heard(base: str, headers: dict[str, str] = AS_FIRST) -> AsyncIterator[Listener]:
    """A stream of the first partner that has said welcome."""
    async with stream(base, headers) as socket:
        yield await welcomed(socket)


async def moved(
    service: ServiceParts, clock: ManualClock, venue: PlainVenue, order_id: str, status: LegStatus
) -> None:
    """The venue reports, and the order follows: by this step, or by the worker that runs beside."""
    venue.move(f"{order_id}:in", status)
    clock.advance(5)
    await service.worker.step(clock.now())  # type: ignore[attr-defined]
    async with asyncio.timeout(PATIENCE):
        while True:
            row = await service.store.orders.get("partner-first", order_id)
            if row is not None and row.in_status == status:
                return
            await asyncio.sleep(0.005)


async def told(service: ServiceParts) -> None:
    """Until the hub has passed on all that was committed: nothing older comes after it."""
    rows = await announced(service.store)
    last = rows[-1].sequence if rows else 0
    await eventually(lambda: (service.hub.delivered or 0) >= last)  # type: ignore[attr-defined]


@each_row(
    ("headers", "query", "status", "code"),
    [
        ({}, "", 401, "INVALID_API_CREDENTIALS"),
        ({"Authorization": "no-colon"}, "", 400, "BAD_REQUEST"),
        ({"Authorization": "Bearer abc:def"}, "", 400, "BAD_REQUEST"),
        ({"Authorization": ":secret"}, "", 400, "BAD_REQUEST"),
        ({"Authorization": "key:"}, "", 400, "BAD_REQUEST"),
        (BY_PARTNER_ID, "", 401, "PARTNER_ID_NOT_SUPPORTED"),
        ({"partner-id": "nobody"}, "", 401, "INVALID_API_CREDENTIALS"),
        (AS_FIRST, "since=1", 422, "VALIDATION_ERROR"),
        (AS_FIRST, "apiKey=first-key&since=", 422, "VALIDATION_ERROR"),
        ({}, "apiKey=first-key", 401, "INVALID_API_CREDENTIALS"),
        (BY_PARTNER_ID, "apiKey=first-key", 401, "INVALID_API_CREDENTIALS"),
        ({}, "since=1", 401, "INVALID_API_CREDENTIALS"),
        ({**AS_FIRST, "Origin": "https://shop.example"}, "", 403, "ACCESS_DENIED"),
        ({"Origin": "https://shop.example"}, "", 403, "ACCESS_DENIED"),
    ],
)
async def test_refusals_before_the_upgrade(
    base: str,
    headers: dict[str, str],
    query: str,
    status: int,
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with stream(base, headers, f"?{query}"):
            pass
    answer = refused.value.response
    body = json.loads(answer.body)
    assert (answer.status_code, body["code"]) == (status, code)
    fields = body.pop("fields", {})
    assert fields.keys() == ({"since"} if status == 422 else set())
    assert body.keys() == {"message", "code", "requestId"}
    assert answer.headers["x-request-id"] == body["requestId"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers.get_all("date") == ["Fri, 20 Nov 2026 14:02:11 GMT"]
    assert "handshake" not in caplog.text, "a stranger's mistake is no error of the service"


@each_row(
    "headers",
    [
        {"Authorization": "first-key:wrong"},
        {"Authorization": "nobody:first-secret"},
        AS_SUSPENDED,
    ],
)
async def test_wrong_credentials_are_told_after_the_upgrade(
    base: str, headers: dict[str, str]
) -> None:
    async with stream(base, headers) as socket:
        listener = Listener(socket)
        frame = await listener.next()
        assert (frame["type"], frame["code"]) == ("error", "AUTH_FAILED")
        assert await listener.closed() == 4401


async def test_welcome_ping_handshake_and_shutdown(base: str, service: ServiceParts) -> None:
    # An API key in the query counts for nothing beside credentials.
    async with stream(base, AS_READER, "?apiKey=first-key") as socket_:
        listener = await welcomed(socket_)
        assert len(listener.socket.response.headers["x-request-id"]) == 36
        assert await listener.ask(type="ping") == {"type": "pong"}
        assert service.hub.connections == 1  # type: ignore[attr-defined]
        service.hub.close()  # type: ignore[attr-defined]
        assert await listener.closed() == 1012
    # A stream that comes while the process ends is sent on as well.
    async with stream(base, AS_READER) as late:
        assert await (await welcomed(late)).closed() == 1012
    await eventually(lambda: service.hub.connections == 0)  # type: ignore[attr-defined]


async def test_an_update_is_the_object_of_order_details(
    base: str,
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    venue_list: list[PlainVenue],
) -> None:
    order_id = (await created(api))["serviceId"]
    await told(service)
    async with heard(base) as listener:
        assert await listener.ask(type="subscribe", serviceIds=[order_id]) == {
            "type": "subscribed",
            "serviceIds": [order_id],
        }
        for status in (LegStatus.CONFIRMING, LegStatus.EXCHANGING, LegStatus.FINISHED):
            await moved(service, clock, venue_list[0], order_id, status)
            async with asyncio.timeout(PATIENCE):
                raw = await listener.socket.recv()
            details = await api.get(f"/orders/{order_id}")
            assert raw == '{"type":"order_update","data":' + details.text + "}"
        assert await listener.silent()


async def test_all_mode_sees_own_orders_only(
    base: str,
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    venue_list: list[PlainVenue],
) -> None:
    async with heard(base) as mine, stream(base, AS_SECOND) as second:
        theirs = Listener(second)
        await theirs.next()
        assert await mine.ask(type="subscribe") == {"type": "subscribed", "all": True}
        await theirs.ask(type="subscribe")
        order_id = (await created(api))["serviceId"]
        update = await mine.next()
        assert (update["type"], update["data"]["serviceId"]) == ("order_update", order_id)
        await moved(service, clock, venue_list[0], order_id, LegStatus.CONFIRMING)
        assert (await mine.next())["data"]["displayStatus"] == "DEPOSIT_DETECTED"
        assert await theirs.silent()
        refused = await theirs.ask(type="subscribe", serviceIds=[order_id])
        assert refused["code"] == "ORDER_NOT_FOUND"
        await theirs.next()
        unknown = await theirs.ask(type="subscribe", serviceIds=["z" * 22])
        assert {**unknown, "serviceIds": []} == {**refused, "serviceIds": []}


async def test_subscriptions_add_up_and_reset(
    base: str,
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    venue_list: list[PlainVenue],
) -> None:
    one, two = [(await created(api))["serviceId"] for _ in range(2)]
    await told(service)
    async with heard(base) as listener:
        await listener.ask(type="subscribe", serviceIds=[one])
        both = await listener.ask(type="subscribe", serviceIds=[two, one])
        assert both["serviceIds"] == [one, two]
        assert await listener.ask(type="unsubscribe", serviceIds=[one]) == {"type": "unsubscribed"}
        await moved(service, clock, venue_list[0], one, LegStatus.CONFIRMING)
        await told(service)
        assert await listener.silent()
        await moved(service, clock, venue_list[0], two, LegStatus.CONFIRMING)
        assert (await listener.next())["data"]["serviceId"] == two
        await listener.ask(type="subscribe")
        await listener.ask(type="unsubscribe", serviceIds=[one])
        await moved(service, clock, venue_list[0], two, LegStatus.EXCHANGING)
        await told(service)
        assert await listener.silent(), "an unsubscribe with ids ends all mode with nothing left"
        assert (await listener.ask(type="subscribe", houdiniIds=[one]))["serviceIds"] == [one]
        await listener.ask(type="unsubscribe")
        await moved(service, clock, venue_list[0], one, LegStatus.EXCHANGING)
        await told(service)
        assert await listener.silent()


@each_row(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ('{"type":"ping","type":"ping"}', "INVALID_JSON"),
        ("[]", "INVALID_MESSAGE"),
        ("{}", "INVALID_MESSAGE"),
        ('{"type":1}', "INVALID_MESSAGE"),
        ('{"type":"ping","extra":1}', "INVALID_MESSAGE"),
        ('{"type":"subscribe","serviceIds":"x"}', "INVALID_MESSAGE"),
        ('{"type":"subscribe","serviceIds":["../x"]}', "INVALID_MESSAGE"),
        ('{"type":"subscribe","serviceIds":null}', "INVALID_MESSAGE"),
        ('{"type":"unsubscribe","houdiniIds":null}', "INVALID_MESSAGE"),
        ('{"type":"dance"}', "UNKNOWN_TYPE"),
        ('{"type":"dance","with":"me"}', "UNKNOWN_TYPE"),
        (b"\x00\x01", "INVALID_MESSAGE"),
        ('{"type":"ping"}' + " " * 65536, "INVALID_MESSAGE"),
    ],
)
async def test_frames_that_are_no_message(base: str, text: str | bytes, code: str) -> None:
    async with heard(base) as listener:
        await listener.socket.send(text)
        frame = await listener.next()
        assert (frame["type"], frame["code"]) == ("error", code)
        sentence = r"(A message|The message|The types|serviceIds) (is|has|are|cannot) .+\."
        assert re.fullmatch(sentence, frame["message"])
        assert await listener.ask(type="ping") == {"type": "pong"}, "and the connection goes on"


async def test_a_thousand_orders_and_no_more(
    base: str, api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    order_id = (await created(api))["serviceId"]
    await told(service)
    async with heard(base) as listener:
        many = [f"order{n}" for n in range(MAX_WATCHED)]
        assert (await listener.ask(type="subscribe", serviceIds=many))["code"] == "ORDER_NOT_FOUND"
        assert await listener.next() == {"type": "subscribed", "serviceIds": []}
        too_many = await listener.ask(type="subscribe", serviceIds=[*many, order_id])
        assert too_many["code"] == "INVALID_MESSAGE", "1,001 in one message"
        await listener.ask(type="subscribe", serviceIds=[order_id])
        assert (await listener.ask(type="subscribe", serviceIds=many))["code"] == (
            "SUBSCRIPTION_LIMIT"
        )


async def test_nonsense_in_a_row_ends_the_connection(base: str) -> None:
    async with heard(base) as listener:
        for _ in range(rules.ABUSE_FRAMES - 1):
            await listener.ask(type="dance")
        assert await listener.ask(type="ping") == {"type": "pong"}
        for _ in range(rules.ABUSE_FRAMES):
            await listener.socket.send("nonsense")
        assert await listener.closed() == 4400


async def test_a_flood_is_refused_and_then_ended(base: str, clock: ManualClock) -> None:
    async with heard(base) as listener:
        for _ in range(rules.FLOOD_FRAMES):
            assert (await listener.ask(type="ping"))["type"] == "pong"
        assert (await listener.ask(type="ping"))["code"] == "RATE_LIMIT_EXCEEDED"
        clock.advance(rules.FLOOD_SECONDS)
        assert (await listener.ask(type="ping"))["type"] == "pong"
        for _ in range(2 * rules.FLOOD_FRAMES + 1):
            await listener.socket.send('{"type":"ping"}')
        assert await listener.closed() == 4429


@pytest.mark.parametrize("engine", databases.NAMES, indirect=True)
async def test_every_listener_of_a_busy_partner_ends_with_the_truth(
    base: str,
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    venue_list: list[PlainVenue],
) -> None:
    """Updates may be coalesced; the last state of every order always arrives, never going back."""
    ids = [(await created(api))["serviceId"] for _ in range(30)]
    ranks = ["WAITING_FOR_DEPOSIT", "DEPOSIT_DETECTED", "EXCHANGE_IN_PROGRESS"]
    ranks += ["SENDING_TO_RECEIVER", "SWAP_COMPLETED"]
    async with heard(base) as one, heard(base) as other:
        listeners = (one, other)
        for listener in listeners:
            await listener.ask(type="subscribe")
        for status in (
            LegStatus.CONFIRMING,
            LegStatus.EXCHANGING,
            LegStatus.SENDING,
            LegStatus.FINISHED,
        ):
            for order_id in ids:
                venue_list[0].move(f"{order_id}:in", status)
            clock.advance(5)
            await service.worker.step(clock.now())  # type: ignore[attr-defined]
            await manual_time.rest()  # the worker beside it may have been first
        for listener in listeners:
            last: dict[str, int] = dict.fromkeys(ids, 0)
            while set(last.values()) != {4}:
                data = (await listener.next())["data"]
                rank = ranks.index(data["displayStatus"])
                assert rank >= last[data["serviceId"]]
                last[data["serviceId"]] = rank


class Trickle:
    """A socket that takes so many frames."""

    def __init__(self, takes: int) -> None:
        self.takes = asyncio.Semaphore(takes)
        self.told = asyncio.Event()
        self.closes: list[int] = []
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def says(self, kind: str) -> None:
        self._inbox.put_nowait({"type": "websocket.receive", "text": f'{{"type":"{kind}"}}'})

    async def receive(self) -> dict[str, Any]:
        return await self._inbox.get()

    async def send_text(self, frame: str) -> None:
        self.told.set()
        await self.takes.acquire()

    async def close(self, code: int, reason: str) -> None:
        self.closes.append(code)


@pytest.mark.parametrize(
    ("limit", "value", "ends"),
    [
        ("SLOW_READER_FRAMES", 8, True),
        ("SLOW_READER_BYTES", 100, True),
        ("SLOW_READER_FRAMES", 256, False),
    ],
)
async def test_a_reader_that_takes_a_little_again_and_again_is_behind_all_the_same(
    service: ServiceParts,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    ends: bool,
) -> None:
    """No frame waits for long; what waits is never less than may."""
    monkeypatch.setattr(rules, limit, value)
    trickle = Trickle(takes=0)
    connection = rules.StreamConnection(trickle, service.hub, clock, "partner-first")  # type: ignore[arg-type]
    connection.welcome()
    served = asyncio.create_task(connection.run())
    await trickle.told.wait()
    for _ in range(12):
        trickle.says("ping")
    for _ in range(34):
        clock.advance(1)
        trickle.takes.release()
        trickle.says("ping")
        await manual_time.rest()
    assert trickle.closes == ([1013] if ends else [])
    if ends:
        await served
        assert not connection._replies
    served.cancel()
    await asyncio.gather(served, return_exceptions=True)


async def test_a_reader_to_whom_nothing_of_what_waited_had_to_be_told_is_not_behind(
    service: ServiceParts, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it has the newest of each order."""
    monkeypatch.setattr(rules, "SLOW_READER_FRAMES", 8)
    trickle = Trickle(takes=100)
    connection = rules.StreamConnection(trickle, service.hub, clock, "partner-first")  # type: ignore[arg-type]
    served = asyncio.create_task(connection.run())
    trickle.says("subscribe")
    await trickle.told.wait()
    for number in range(20):
        connection.offer(f"nobody-has-{number}")
    assert connection._behind_since is not None
    await eventually(lambda: not connection._pending)
    await manual_time.pass_seconds(clock, 32)
    assert not trickle.closes
    served.cancel()
    await asyncio.gather(served, return_exceptions=True)


async def test_a_client_that_stops_reading_is_cut_and_nothing_of_it_is_kept(
    service: ServiceParts, clock: ManualClock
) -> None:
    """A real one, over a socket whose two ends keep little."""
    server = server_of(service)
    with listening() as bound, socket.socket() as plain:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        serving = asyncio.create_task(server.serve([bound]))
        await eventually(lambda: server.started)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        plain.connect(bound.getsockname())
        plain.setblocking(False)
        url = f"ws://127.0.0.1:{bound.getsockname()[1]}/v2/ws"
        opened = connect(
            url, sock=plain, additional_headers=AS_FIRST, compression=None, max_queue=1, proxy=None
        )
        socket_ = await opened
        listener = await welcomed(socket_)
        # Each is answered with the list of what is no order, and none of that is read.
        unknown = [f"{number:022}".replace("0", "z") for number in range(1000)]
        for _ in range(20):
            await listener.socket.send(json.dumps({"type": "subscribe", "serviceIds": unknown}))
        (connection,) = server.server_state.connections
        await eventually(lambda: not connection.writable.is_set())  # type: ignore[union-attr]
        assert service.hub.connections == 1  # type: ignore[attr-defined]
        await manual_time.pass_seconds(clock, 28)
        while service.hub.connections:
            await manual_time.pass_seconds(clock, 1)
        assert server.server_state.connections == {connection}, "its last word may still leave"
        await manual_time.pass_seconds(clock, 6)
        await eventually(lambda: not server.server_state.connections)
        await eventually(lambda: not server.server_state.tasks)
        socket_.transport.abort()
        server.should_exit = True
        await serving
