"""``GET /ready``: the parts that a service stands on, each by name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from manual_time import rest
from rows import each_row
from service.http_calls import calling, running, small_service
from service.new_store import changed
from service.orders_fixtures import venues_at
from service.test_orders_api import created
from service.venue import PlainVenue
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.service.app import Onchain, Role, build_service, in_background
from swapdesk.service.dex.desk import EvmSightings
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.readiness import ABSENT_SECONDS, OVERDUE_SECONDS, PROBE_SECONDS
from swapdesk.service.store.database import micros
from swapdesk.service.store.store import Store
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader


class Node:
    """An EVM node that answers, is away, or takes questions and never answers."""

    def __init__(self) -> None:
        self.state = "up"
        self.asked = 0

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        if self.state == "away":
            raise httpx2.ConnectError("refused")
        if self.state == "mute":
            await asyncio.Event().wait()
        head = {"number": "0x10", "hash": "0x" + "0" * 64, "timestamp": "0x691f2000"}
        asked = json.loads(request.content)
        told = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": head})
        return httpx2.Response(200, content=_in_pieces(told.encode()))

    def sightings(self, clock: ManualClock) -> EvmSightings:
        place = ChainPlace("base", 1, "http://127.0.0.1:1/key-of-the-operator", "", 1)
        client = EvmClient(place.rpc, transport=httpx2.MockTransport(self.answer))
        return EvmSightings(OnchainReader(place, client, clock))


async def _in_pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def base() -> Node:
    return Node()


@pytest.fixture
def ethereum() -> Node:
    return Node()


@pytest.fixture
def onchain(base: Node, ethereum: Node, clock: ManualClock) -> Onchain:
    return Onchain(sightings={"base": base.sightings(clock), "ethereum": ethereum.sightings(clock)})


async def told(api: httpx2.AsyncClient) -> tuple[int, Any]:
    answer = await api.get("/ready")
    return answer.status_code, answer.json()


async def test_each_part_by_name(
    service: ServiceParts, base: Node, ethereum: Node, clock: ManualClock
) -> None:
    async with running(service) as api:
        everything = {"status": "ready", "database": "ok", "clock": "ok", "worker": "ok"}
        assert await told(api) == (200, {**everything, "nodes": {"base": "ok", "ethereum": "ok"}})
        base.state = "away"
        clock.advance(1)
        status, one_silent = await told(api)
        assert (status, one_silent["status"]) == (200, "degraded")
        assert one_silent["nodes"] == {"base": "silent", "ethereum": "ok"}
        ethereum.state = "away"
        clock.advance(1)
        status, both_silent = await told(api)
        assert (status, both_silent["status"]) == (503, "unready")
        assert both_silent["nodes"] == {"base": "silent", "ethereum": "silent"}
        # That the process lives is another question.
        assert (await api.get("/health")).status_code == 200


async def test_a_mute_node_is_waited_for_two_seconds(
    api: httpx2.AsyncClient, base: Node, ethereum: Node, clock: ManualClock
) -> None:
    base.state = ethereum.state = "mute"
    probes = [asyncio.create_task(told(api)) for _ in range(50)]
    await rest()
    clock.advance(PROBE_SECONDS / 2)
    later = asyncio.create_task(told(api))
    await asyncio.sleep(0)
    clock.advance(PROBE_SECONDS / 2)
    for status, said in await asyncio.gather(*probes, later):
        assert (status, said["nodes"]) == (503, {"base": "silent", "ethereum": "silent"})
    # However many ask, and without credentials: a node is asked once.
    assert (base.asked, ethereum.asked) == (1, 1)


async def test_nobody_works(
    service: ServiceParts, api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    await created(api)
    due = await service.store.orders.next_due()
    assert due is not None
    clock.advance((due - clock.now()).total_seconds() + OVERDUE_SECONDS)
    assert (await told(api))[0] == 200
    clock.advance(1)
    status, said = await told(api)
    assert (status, said["status"], said["worker"]) == (503, "unready", "late")
    # Another process carries it out.
    await service.worker.step(clock.now())
    clock.advance(1)
    assert (await told(api))[1]["worker"] == "ok"


async def test_an_own_worker_that_is_behind_works(
    service: ServiceParts, api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    await created(api)
    clock.advance(3600)
    assert (await told(api))[1]["worker"] == "late"
    async with running(service) as answering:
        await rest()
        clock.advance(1)
        assert (await told(answering))[1]["worker"] == "ok"


async def test_the_database_is_away(
    clock: ManualClock, store: Store, onchain: Onchain, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(small_service(clock, store, onchain=onchain)) as api:
        assert (await told(api))[0] == 200
        await store.close()
        for _ in range(3):
            clock.advance(1)
            status, said = await told(api)
            # An own worker that goes round does nothing, and an old look at the clock says nothing.
            assert (status, said["database"], said["nodes"]["base"]) == (503, "silent", "ok")
            assert (said["clock"], said["worker"]) == ("unknown", "unknown")
            await rest()
    for silent in ("the database", "partners: the store", "worker: the store"):
        assert caplog.text.count(f"{silent} does not answer") == 1, silent


@each_row(("method", "path", "status"), [("POST", "", 405), ("GET", "?a=1", 422)])
async def test_what_it_takes(api: httpx2.AsyncClient, method: str, path: str, status: int) -> None:
    assert (await api.request(method, f"/ready{path}")).status_code == status


async def test_no_worker_has_come(store: Store, venue_list: list[PlainVenue]) -> None:
    """One that answers is not ready before the first worker of another process is there, nor once
    none has been there for a minute; nothing has to be due for that."""
    clock = ManualClock(SystemClock().now())

    def process(tolerance: timedelta) -> ServiceParts:
        return small_service(clock, store, venues=venue_list, clock_tolerance=tolerance)

    answering, working = (process(timedelta(days=1)) for _ in range(2))
    api = calling(build_service(answering, Role.ANSWERS))
    status, said = await told(api)
    assert (status, said["status"], said["worker"]) == (503, "unready", "none")
    async with in_background(working, Role.WORKS):
        while (await told(api))[1]["worker"] != "ok":
            await rest()
            clock.advance(1)
    await changed(store, "UPDATE workers SET seen = :now", now=micros(clock.now()))
    clock.advance(ABSENT_SECONDS)
    assert (await told(api))[0] == 200, "it may be on its way up again"
    clock.advance(1)
    status, said = await told(api)
    assert (status, said["worker"]) == (503, "none")
