"""The rules every request and answer follows, whatever the operation."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.http_calls import code, raw_call
from service.test_access import path_of
from service.world import BTC, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.router import PREFIX
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS

# Headers of every answer


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/chains", 200),
        ("GET", "/nothing", 404),
        ("DELETE", "/chains", 405),
        ("GET", "/tokens?page=0", 422),
        ("POST", "/exchanges", 415),
    ],
)
async def test_every_answer_has_request_id_and_date(
    api: httpx2.AsyncClient, clock: ManualClock, method: str, path: str, status: int
) -> None:
    answer = await api.request(method, path, headers={"x-request-id": "mine"})
    assert answer.status_code == status
    assert uuid.UUID(answer.headers["x-request-id"]).version == 4
    assert answer.headers["date"] == "Fri, 20 Nov 2026 14:02:11 GMT"
    if status >= 400:
        assert answer.json()["requestId"] == answer.headers["x-request-id"]
    clock.advance(60)
    later = await api.get("/health")
    assert later.headers["date"] == "Fri, 20 Nov 2026 14:03:11 GMT"
    assert later.headers["x-request-id"] != answer.headers["x-request-id"]


@pytest.mark.parametrize(("path", "status"), [("/v2/ws", 401), ("/v2/other", 404), ("/ws", 404)])
async def test_refused_handshake_has_request_id_and_date(
    service: ServiceParts, path: str, status: int
) -> None:
    waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    connected = iter([{"type": "websocket.connect"}])

    async def receive() -> Any:
        return next(connected, None) or await waiting

    scope = {"type": "websocket", "path": path, "subprotocols": [], "app": None}
    extensions: dict[str, Any] = {"websocket.http.response": {}}
    start, body = (await raw_call(service, receive, [], **scope, extensions=extensions))[:2]
    headers = dict(start["headers"])
    assert start["status"] == status
    assert json.loads(body["body"])["requestId"].encode() == headers[b"x-request-id"]
    assert headers[b"date"] == b"Fri, 20 Nov 2026 14:02:11 GMT"


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
async def test_the_stream_without_a_handshake(api: httpx2.AsyncClient, method: str) -> None:
    answer = await api.request(method, "/ws")
    assert answer.headers["x-request-id"]
    if method == "GET":
        assert code(answer) == (400, "BAD_REQUEST")
    else:
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


# Route and method


@pytest.mark.proves("code NOT_FOUND")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/nothing",
        "/chains/",
        "/tokens/",
        f"/tokens/{BTC.id}/",
        "//chains",
        "/Chains",
        "/orders/",
        "/orders/a/b",
        "/quotes/private-send/",
        "/ws/",
        "/tokens/a%2Fb",
        "/nothing%0A",
        "/%0A/%0D",
        "/chains%0A",
        "/exchanges/multi/abc",
    ],
)
async def test_unknown_paths(api: httpx2.AsyncClient, path: str) -> None:
    answer = await api.get(httpx2.URL(f"http://service/v2{path}"))
    assert code(answer) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    "path", ["/", "/chains", "/v1/chains", "/v2x/chains", "/v2", "/v2%2Fchains", "/v2%2fws"]
)
async def test_nothing_outside_the_prefix(api: httpx2.AsyncClient, path: str) -> None:
    assert code(await api.get(f"http://service{path}")) == (404, "NOT_FOUND")


@pytest.mark.proves("code METHOD_NOT_ALLOWED")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_other_methods_are_refused_with_allow(
    api: httpx2.AsyncClient, operation: Operation
) -> None:
    offered = sorted(each.method for each in OPERATIONS if each.path == operation.path)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"):
        if method in offered:
            continue
        answer = await api.request(method, path_of(operation))
        assert answer.status_code == 405
        if method != "HEAD":
            assert answer.json()["code"] == "METHOD_NOT_ALLOWED"
        assert answer.headers["allow"] == ", ".join(offered)


# Log


async def test_one_structured_line_per_request(
    api: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="swapdesk.service.requests")
    answers = [
        await api.get(f"/tokens/{BTC.id}"),
        await api.get("/tokens", params={"term": "confidential", "page": "confidential"}),
        await api.get("/nothing/confidential"),
        await api.get("/chains", headers={"Authorization": "first-key:confidential"}),
        await api.get("/health"),
    ]
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == len(answers)
    for line, answer in zip(lines, answers, strict=True):
        entry = json.loads(line)
        assert entry.keys() == {"method", "route", "status", "ms", "requestId", "partner"}
        assert entry["method"] == "GET"
        assert entry["status"] == answer.status_code
        assert entry["requestId"] == answer.headers["x-request-id"]
    entries = [json.loads(line) for line in lines]
    assert [entry["route"] for entry in entries] == [
        "/tokens/{id}",
        "/tokens",
        "-",
        "/chains",
        "/health",
    ]
    first = FIRST.partner_id
    assert [entry["partner"] for entry in entries] == [first, first, None, None, None]
    for secret in ("confidential", "first-secret", "first-key", BTC.id):
        assert not any(secret in line for line in lines)


# The background


class Faltering:
    """A part that breaks at its first run and works at its second."""

    def __init__(self) -> None:
        self.runs = 0
        self.broken = asyncio.Event()
        self.working = asyncio.Event()

    async def run(self) -> None:
        self.runs += 1
        if self.runs == 1:
            self.broken.set()
            raise ZeroDivisionError("a defect")
        self.working.set()
        await asyncio.get_running_loop().create_future()


async def test_a_background_part_that_breaks_is_started_again(
    service: ServiceParts, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    worker: Any = Faltering()
    app = build_service(replace(service, worker=worker))
    async with app.router.lifespan_context(app):
        await worker.broken.wait()
        assert not worker.working.is_set()
        while not worker.working.is_set():
            clock.advance(0.5)
            await asyncio.sleep(0)
    assert worker.runs == 2
    assert "worker broke" in caplog.text


async def test_order_of_matching(api: httpx2.AsyncClient) -> None:
    """A literal path is not taken for a parameter, and the id may be in either case."""
    assert (await api.get(f"/tokens/{ETH.id.upper()}")).json()["symbol"] == "ETH"
    assert (await api.get("/quotes/private-send")).json()["fields"].keys() == {"amount", "from"}
    assert PREFIX == "/v2"
