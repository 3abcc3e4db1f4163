"""The rules every request and answer follows, whatever the operation."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from service.world import AS_FIRST, BTC, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.app import PREFIX, ServiceParts, build_service
from swapdesk.service.store.protocol import StoreUnavailable
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS, Operation

JSON = {"content-type": "application/json"}
POSTS = [operation.path for operation in OPERATIONS if operation.method == "POST"]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def fields(answer: httpx.Response) -> dict[str, Any]:
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert answer.json().keys() == {"message", "code", "requestId", "fields"}
    found: dict[str, Any] = answer.json()["fields"]
    return found


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
    api: httpx.AsyncClient, clock: ManualClock, method: str, path: str, status: int
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


async def handshake(service: ServiceParts, path: str, headers: list[tuple[bytes, bytes]]) -> Any:
    """The answer of the application to one WebSocket handshake."""
    sent: list[Any] = []
    scope = {
        "type": "websocket",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
        "app": None,
    }
    waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    connected = iter([{"type": "websocket.connect"}])

    async def receive() -> Any:
        return next(connected, None) or await waiting

    async def send(message: Any) -> None:
        sent.append(message)

    await build_service(service)(scope, receive, send)
    return sent


@pytest.mark.parametrize(("path", "status"), [("/v2/ws", 401), ("/v2/other", 404), ("/ws", 404)])
async def test_refused_handshake_has_request_id_and_date(
    service: ServiceParts, path: str, status: int
) -> None:
    start, body = (await handshake(service, path, []))[:2]
    headers = dict(start["headers"])
    assert start["status"] == status
    assert json.loads(body["body"])["requestId"].encode() == headers[b"x-request-id"]
    assert headers[b"date"] == b"Fri, 20 Nov 2026 14:02:11 GMT"


# Route and method


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
        "/ws",
        "/tokens/a%2Fb",
        "/nothing%0A",
        "/%0A/%0D",
        "/chains%0A",
        "/exchanges/multi/abc",
    ],
)
async def test_unknown_paths(api: httpx.AsyncClient, path: str) -> None:
    answer = await api.get(httpx.URL(f"http://service/v2{path}"))
    assert code(answer) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["/", "/chains", "/v1/chains", "/v2x/chains", "/v2"])
async def test_nothing_outside_the_prefix(api: httpx.AsyncClient, path: str) -> None:
    assert code(await api.get(f"http://service{path}")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_other_methods_are_refused_with_allow(
    api: httpx.AsyncClient, operation: Operation
) -> None:
    path = operation.path.replace("{id}", BTC.id).replace("{serviceId}", "abc")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"):
        if method == operation.method:
            continue
        answer = await api.request(method, path)
        assert answer.status_code == 405
        if method != "HEAD":
            assert answer.json()["code"] == "METHOD_NOT_ALLOWED"
        assert answer.headers["allow"] == operation.method


# Bodies


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json; charset=latin-1",
    ],
)
async def test_bodies_are_application_json(
    api: httpx.AsyncClient, path: str, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = await api.post(path, content=b"{}", headers=headers)
    assert code(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    ],
)
async def test_accepted_content_types(api: httpx.AsyncClient, content_type: str) -> None:
    answer = await api.post("/exchanges", content=b"{}", headers={"content-type": content_type})
    assert answer.status_code == 422


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"12",
        b"true",
        b"{} {}",
        b'{"quoteId":"a","quoteId":"b"}',
        b'{"quoteId":' + b"[" * 40 + b"]" * 40 + b"}",
        b'{"quoteId":NaN}',
        b'{"quoteId":1e999999}',
        b'{"quoteId":"\xff"}',
        b"\xef\xbb\xbf{}",
        b"{'quoteId':'a'}",
    ],
)
async def test_bodies_that_are_no_json_object(
    api: httpx.AsyncClient, path: str, body: bytes
) -> None:
    answer = await api.post(path, content=body, headers=JSON)
    assert code(answer) == (400, "BAD_REQUEST")
    assert answer.json().keys() == {"message", "code", "requestId"}


def body_of(size: int) -> bytes:
    frame = b'{"quoteId":"%b"}'
    return frame % (b"a" * (size - len(frame) + 2))


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "status"), [(BODY_LIMIT, 422), (BODY_LIMIT + 1, 413)])
async def test_body_limit(api: httpx.AsyncClient, announced: bool, size: int, status: int) -> None:
    body = body_of(size)

    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 4096):
            yield body[begin : begin + 4096]

    content = body if announced else pieces()
    answer = await api.post("/exchanges", content=content, headers=JSON)
    assert answer.status_code == status
    if status == 413:
        assert answer.json()["code"] == "PAYLOAD_TOO_LARGE"


async def test_an_endless_body_is_not_read_to_its_end(service: ServiceParts) -> None:
    pulled = 0

    async def endless() -> Any:
        nonlocal pulled
        pulled += 1
        return {"type": "http.request", "body": b" " * 65536, "more_body": True}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v2/exchanges",
        "raw_path": b"/v2/exchanges",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"authorization", AS_FIRST["Authorization"].encode()),
            (b"content-type", b"application/json"),
        ],
    }
    await build_service(service)(scope, endless, send)
    assert sent[0]["status"] == 413
    assert pulled <= BODY_LIMIT // 65536 + 1


@pytest.mark.parametrize("path", POSTS)
async def test_bodies_are_closed_and_name_what_is_wrong(api: httpx.AsyncClient, path: str) -> None:
    body = {"addressTo": 5, "destinationTag": "x" * 65, "quote_id": "a", "useXmr": True}
    wrong = fields(await api.post(path, json=body))
    assert wrong.keys() == {"quoteId", "addressTo", "destinationTag", "quote_id", "useXmr"}
    assert "value" not in wrong["quoteId"]
    assert wrong["destinationTag"]["value"] == "x" * 65
    assert wrong["useXmr"]["value"] is True
    assert all(problem["message"] for problem in wrong.values())


@pytest.mark.parametrize(
    ("name", "fits", "exceeds"),
    [
        ("quoteId", "q" * 128, "q" * 129),
        ("addressTo", "a" * 200, "a" * 201),
        ("addressTo", "a", ""),
        ("destinationTag", "t" * 64, "t" * 65),
        ("refundAddress", "r" * 200, "r" * 201),
        ("refundExtraId", "r" * 64, "r" * 65),
        ("intermediateRefundAddress", "r" * 200, "r" * 201),
        ("walletInfo", "w" * 256, "w" * 257),
    ],
)
@pytest.mark.parametrize("path", POSTS)
async def test_body_bounds(
    api: httpx.AsyncClient, path: str, name: str, fits: str, exceeds: str
) -> None:
    body = {"quoteId": "unknown", "addressTo": "somewhere"}
    inside = await api.post(path, json={**body, name: fits})
    assert code(inside) == (422, "INVALID_SWAP")
    assert fields(await api.post(path, json={**body, name: exceeds})).keys() == {name}


async def test_long_values_are_not_repeated_whole(api: httpx.AsyncClient) -> None:
    wrong = fields(await api.post("/exchanges", json={"quoteId": "q" * 10_000}))
    assert len(wrong["quoteId"]["value"]) == 257


# Parameters


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if operation.name != "health"],
    ids=lambda operation: operation.name,
)
async def test_unknown_parameters_are_refused(api: httpx.AsyncClient, operation: Operation) -> None:
    path = operation.path.replace("{id}", BTC.id).replace("{serviceId}", "abc")
    answer = await api.request(operation.method, path, params={"dateFrom": "2026-01-01"})
    wrong = fields(answer)
    assert wrong["dateFrom"] == {
        "message": "is no parameter of this operation",
        "value": "2026-01-01",
    }


@pytest.mark.parametrize("name", ["nonsense", "apiKey"])
async def test_health_takes_no_parameters(anyone: httpx.AsyncClient, name: str) -> None:
    assert fields(await anyone.get("/health", params={name: "1"})).keys() == {name}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("page=1&page=1", "page"),
        ("term=a&term=b", "term"),
        ("page=", "page"),
        ("term=", "term"),
        ("page", "page"),
        ("hasCex=", "hasCex"),
        ("Page=1", "Page"),
        ("has_cex=true", "has_cex"),
    ],
)
async def test_repeated_empty_and_misspelled_parameters(
    api: httpx.AsyncClient, query: str, name: str
) -> None:
    assert fields(await api.get(f"/tokens?{query}")).keys() == {name}


@pytest.mark.parametrize(
    "value", ["+1", "01", "1.0", "1e1", " 1", "1 ", "１", "0x1", "1_0", "true", "-0x1", "9" * 400]
)
async def test_integers_are_strict(api: httpx.AsyncClient, value: str) -> None:
    assert fields(await api.get("/tokens", params={"page": value})).keys() == {"page"}


@pytest.mark.parametrize("value", ["True", "TRUE", "yes", "1", "0", "on", "t", "null"])
async def test_booleans_are_strict(api: httpx.AsyncClient, value: str) -> None:
    assert fields(await api.get("/tokens", params={"hasCex": value})).keys() == {"hasCex"}


@pytest.mark.parametrize(
    ("path", "name", "inside", "outside"),
    [
        ("/tokens", "page", ("1", "10000"), ("0", "10001", "-1")),
        ("/tokens", "pageSize", ("1", "1000"), ("0", "1001")),
        ("/tokens", "term", ("a", "a" * 100, "é" * 100), ("a" * 101,)),
        ("/tokens", "address", ("a" * 200,), ("a" * 201,)),
        ("/tokens", "symbol", ("a" * 20,), ("a" * 21,)),
        ("/chains", "page", ("1", "10000"), ("0", "10001")),
        ("/chains", "pageSize", ("1", "100"), ("0", "101")),
        ("/chains", "name", ("a" * 50,), ("a" * 51,)),
        ("/chains", "kind", ("a" * 16,), ("a" * 17,)),
        ("/chains", "chainId", ("1", "9007199254740991"), ("0", "-1", "9007199254740992")),
        ("/orders", "page", ("1", "10000"), ("0", "10001")),
        ("/orders", "pageSize", ("1", "100"), ("0", "101")),
        ("/orders", "status", ("-2", "8"), ("-3", "9", "FINISHED")),
        ("/orders", "multiId", ("a" * 64,), ("a" * 65,)),
        ("/orders", "sortBy", ("created", "updated", "amount"), ("rank", "Created")),
        ("/orders", "sortOrder", ("asc", "desc"), ("ASC", "up")),
        ("/orders", "anonymous", ("true", "false"), ("1", "yes")),
        ("/orders", "inTokenId", ("a" * 24, "A" * 24), ("a" * 23, "a" * 25, "g" * 24)),
        ("/orders", "outTokenId", ("a" * 24,), ("a" * 23, "x")),
        (
            "/orders",
            "from",
            ("2026-11-20", "2026-11-20T14:00:00Z", "2026-11-20T14:00:00.5"),
            ("1700000000", "yesterday", "2026-13-01", "20.11.2026", "2026-11-20T25:00:00Z"),
        ),
    ],
)
async def test_both_sides_of_every_bound(
    api: httpx.AsyncClient, path: str, name: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    for value in inside:
        assert (await api.get(path, params={name: value})).status_code == 200, value
    for value in outside:
        wrong = fields(await api.get(path, params={name: value}))
        assert wrong.keys() == {name}
        assert wrong[name]["value"] == value


async def test_kind_takes_ten_values(api: httpx.AsyncClient) -> None:
    assert (await api.get("/chains", params={"kind": ["evm"] * 10})).status_code == 200
    assert fields(await api.get("/chains", params={"kind": ["evm"] * 11})).keys() == {"kind"}


@pytest.mark.parametrize(
    "query", ["term=%FF", "term=%C3%28", "term=\xff", "%FF=1", "term=%ED%A0%80"]
)
async def test_parameters_are_utf8(service: ServiceParts, query: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", query.encode("latin-1"))
    assert (status, body["code"]) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", ["a%00b", "a%0Ab", "%1B[31m", "a%E2%80%AEb", "%20a", "a%20"])
async def test_parameters_without_control_characters(service: ServiceParts, value: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", f"term={value}".encode())
    assert (status, list(body["fields"])) == (422, ["term"])


async def raw_get(service: ServiceParts, path: str, query: bytes) -> tuple[int, Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [(b"authorization", AS_FIRST["Authorization"].encode())],
    }
    await build_service(service)(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_path_parameters_are_validated(api: httpx.AsyncClient) -> None:
    assert fields(await api.get("/tokens/xyz")) == {
        "id": {"message": "must match ^[a-fA-F0-9]{24}$", "value": "xyz"}
    }
    assert fields(await api.get("/orders/" + "a" * 65)).keys() == {"serviceId"}
    assert (await api.get("/orders/" + "a" * 64)).status_code == 404


async def test_many_wrong_parameters_are_bounded(api: httpx.AsyncClient) -> None:
    wrong = fields(await api.get("/tokens", params={f"p{n}": "1" for n in range(200)}))
    assert len(wrong) == 50


# What goes wrong inside


class DefectiveStore(SqliteStore):
    """A store with a defect in one method."""

    async def requests_in_month(self, partner_id: str, month: str) -> int:
        raise ZeroDivisionError("the secret of the store")


class AbsentStore(SqliteStore):
    """A store that does not answer."""

    async def requests_in_month(self, partner_id: str, month: str) -> int:
        raise StoreUnavailable


@pytest.fixture
def store_class() -> type[SqliteStore]:
    return SqliteStore


@pytest.fixture
async def store(tmp_path: Any, store_class: type[SqliteStore]) -> AsyncIterator[SqliteStore]:
    opened = store_class.open(tmp_path / "service.db")
    yield opened
    await opened.close()


@pytest.mark.parametrize("store_class", [DefectiveStore])
async def test_a_defect_is_answered_without_details(
    api: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await api.get("/rateLimits")
    assert code(answer) == (500, "INTERNAL_SERVER_ERROR")
    assert answer.json().keys() == {"message", "code", "requestId"}
    assert "secret" not in answer.text
    assert "ZeroDivision" not in answer.text
    logged = [record for record in caplog.records if record.exc_info]
    assert len(logged) == 1
    assert answer.json()["requestId"] in logged[0].getMessage()


@pytest.mark.parametrize("store_class", [AbsentStore])
async def test_a_store_that_does_not_answer(api: httpx.AsyncClient) -> None:
    assert code(await api.get("/rateLimits")) == (503, "SERVICE_UNAVAILABLE")


# Log


async def test_one_structured_line_per_request(
    api: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
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
    app = build_service(dataclasses.replace(service, worker=worker))
    async with app.router.lifespan_context(app):
        await worker.broken.wait()
        assert not worker.working.is_set()
        while not worker.working.is_set():
            clock.advance(0.5)
            await asyncio.sleep(0)
    assert worker.runs == 2
    assert "worker broke" in caplog.text


async def test_order_of_matching(api: httpx.AsyncClient) -> None:
    """A literal path is not taken for a parameter, and the id may be in either case."""
    assert (await api.get(f"/tokens/{ETH.id.upper()}")).json()["symbol"] == "ETH"
    assert (await api.get("/quotes/private-send")).json()["fields"].keys() == {"amount", "from"}
    assert PREFIX == "/v2"
