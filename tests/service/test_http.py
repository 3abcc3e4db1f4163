"""The rules every request and answer follows, whatever the operation."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rows import each_row
from service.http_calls import AUTHORIZED, BASE, JSON, code, declined, fields, raw_call, raw_get
from service.quote_calls import asked, refusal
from service.test_access import path_of
from service.world import BTC, ETH, EVM
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS

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


@each_row(("path", "status"), [("/v2/ws", 401), ("/v2/other", 404), ("/ws", 404)])
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


@each_row("method", ["GET", "POST", "HEAD"])
async def test_the_stream_without_a_handshake(api: httpx2.AsyncClient, method: str) -> None:
    answer = await api.request(method, "/ws")
    assert answer.headers["x-request-id"]
    if method == "GET":
        assert code(answer) == (400, "BAD_REQUEST")
    else:
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


# Route and method


UNKNOWN_PATHS = [
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
]
OUTSIDE = ["/", "/chains", "/v1/chains", "/v2x/chains", "/v2", "/v2%2Fchains", "/v2%2fws"]
"""Beside the prefix of every path."""


@pytest.mark.proves("code NOT_FOUND")
async def test_unknown_paths(api: httpx2.AsyncClient) -> None:
    answers = {path: code(await api.get(httpx2.URL(BASE + path))) for path in UNKNOWN_PATHS}
    assert answers == dict.fromkeys(UNKNOWN_PATHS, (404, "NOT_FOUND"))


async def test_nothing_outside_the_prefix(api: httpx2.AsyncClient) -> None:
    answers = {path: code(await api.get(f"http://service{path}")) for path in OUTSIDE}
    assert answers == dict.fromkeys(OUTSIDE, (404, "NOT_FOUND"))


METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"}


@pytest.mark.proves("code METHOD_NOT_ALLOWED")
async def test_other_methods_are_refused_with_allow(api: httpx2.AsyncClient) -> None:
    for operation in OPERATIONS:
        offered = sorted(each.method for each in OPERATIONS if each.path == operation.path)
        for method in METHODS - {*offered}:
            answer = await api.request(method, path_of(operation))
            assert answer.status_code == 405, (method, operation.path)
            assert method == "HEAD" or answer.json()["code"] == "METHOD_NOT_ALLOWED"
            assert answer.headers["allow"] == ", ".join(offered), (method, operation.path)


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


# What a body and a parameter may be, and how a wrong one is told


MULTI_ID = "a" * 22

POSTS = [
    operation.path.replace("{multiId}", MULTI_ID)
    for operation in OPERATIONS
    if operation.method == "POST" and not operation.signed
]

CREATES = [path for path in POSTS if path.startswith("/exchanges") and "multi" not in path]
"""One order each; what groups take has tests of its own."""

OTHER_KINDS: list[dict[str, str]] = [
    {},
    {"content-type": "text/plain"},
    {"content-type": "application/x-www-form-urlencoded"},
    {"content-type": "application/jsonp"},
    {"content-type": "application/json; charset=latin-1"},
    {"content-type": "application/json; x=1; charset=latin-1"},
    *(JSON | {"content-encoding": kind} for kind in ("gzip", "br", "identity, gzip", "x", "")),
]
"""Headers of bodies that the service does not read."""

NO_OBJECTS = [
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
]


@pytest.mark.proves("code UNSUPPORTED_MEDIA_TYPE")
@each_row("path", POSTS)
async def test_bodies_are_application_json_without_an_encoding(
    api: httpx2.AsyncClient, path: str
) -> None:
    answers = [await api.post(path, content=b"{}", headers=kind) for kind in OTHER_KINDS]
    read = [(kind, code(answer)) for kind, answer in zip(OTHER_KINDS, answers, strict=True)]
    assert read == [(kind, (415, "UNSUPPORTED_MEDIA_TYPE")) for kind in OTHER_KINDS]


@each_row(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        'application/json; charset="utf-8"; x=1',
        "application/json; x=1",
    ],
)
async def test_accepted_content_types(api: httpx2.AsyncClient, content_type: str) -> None:
    headers = {"content-type": content_type, "content-encoding": "Identity"}
    answer = await api.post("/exchanges", content=b"{}", headers=headers)
    assert answer.status_code == 422


@pytest.mark.proves("code BAD_REQUEST")
@each_row("path", POSTS)
async def test_bodies_that_are_no_json_object(api: httpx2.AsyncClient, path: str) -> None:
    for body in NO_OBJECTS:
        answer = await api.post(path, content=body, headers=JSON)
        assert code(answer) == (400, "BAD_REQUEST"), body
        assert answer.json().keys() == {"message", "code", "requestId"}


def body_of(size: int) -> bytes:
    frame = b'{"quoteId":"%b"}'
    return frame % (b"a" * (size - len(frame) + 2))


@pytest.mark.proves("code PAYLOAD_TOO_LARGE")
@each_row("announced", [True, False])
@each_row(("size", "status"), [(BODY_LIMIT, 422), (BODY_LIMIT + 1, 413)])
async def test_body_limit(api: httpx2.AsyncClient, announced: bool, size: int, status: int) -> None:
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

    headers = [AUTHORIZED, (b"content-type", b"application/json")]
    sent = await raw_call(service, endless, headers, path="/v2/exchanges")
    assert sent[0]["status"] == 413
    assert pulled <= BODY_LIMIT // 65536 + 1


@pytest.mark.proves("code VALIDATION_ERROR")
@each_row("path", CREATES)
async def test_bodies_are_closed_and_name_what_is_wrong(api: httpx2.AsyncClient, path: str) -> None:
    body = {"addressTo": 5, "destinationTag": "x" * 65, "quote_id": "a", "useXmr": True}
    wrong = fields(await api.post(path, json=body))
    assert wrong.keys() == {"quoteId", "addressTo", "destinationTag", "quote_id", "useXmr"}
    assert "value" not in wrong["quoteId"]
    assert wrong["destinationTag"]["value"] == "x" * 65
    assert wrong["useXmr"]["value"] is True
    assert all(problem["message"] for problem in wrong.values())


# Parameters


async def test_unknown_parameters_are_refused(api: httpx2.AsyncClient) -> None:
    problem = {"message": "is no parameter of this operation", "value": "2026-01-01"}
    for operation in OPERATIONS:
        if operation.name == "health" or operation.signed:
            continue
        answer = await api.request(
            operation.method, path_of(operation), params={"dateFrom": "2026-01-01"}
        )
        assert fields(answer)["dateFrom"] == problem, operation.name


@each_row("name", ["nonsense", "apiKey"])
async def test_health_takes_no_parameters(anyone: httpx2.AsyncClient, name: str) -> None:
    assert fields(await anyone.get("/health", params={name: "1"})).keys() == {name}


@each_row(
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
    api: httpx2.AsyncClient, query: str, name: str
) -> None:
    assert fields(await api.get(f"/tokens?{query}")).keys() == {name}


@each_row("query", ["term=%FF", "term=%C3%28", "term=\xff", "%FF=1", "term=%ED%A0%80"])
async def test_parameters_are_utf8(service: ServiceParts, query: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", query.encode("latin-1"))
    assert (status, body["code"]) == (422, "VALIDATION_ERROR")


async def test_path_parameters_are_validated(api: httpx2.AsyncClient) -> None:
    assert fields(await api.get("/tokens/xyz")) == {
        "id": {"message": "must match ^[a-fA-F0-9]{24}$", "value": "xyz"}
    }


@each_row("text", ["a.b", "a b", "...", "a%27%22", "%25", "~", "{serviceId}"])
async def test_what_is_no_id_of_ours_is_unknown(api: httpx2.AsyncClient, text: str) -> None:
    """These ids are bounded by their length alone (contract 1.16)."""
    body = {"json": {"signatures": ["0xab"]}}
    for call in (
        api.get(f"http://service/v2/orders/{text}"),
        api.get(f"http://service/v2/exchanges/multi/{text}"),
        api.post(f"http://service/v2/exchanges/multi/{text}/tx", **body),
    ):
        await declined(call, "NOT_FOUND")


@each_row("text", ["%00", "a%0ab", "%e2%80%ae", "%c3%a9", "%ff"])
async def test_what_is_no_line_of_ascii_is_no_id(api: httpx2.AsyncClient, text: str) -> None:
    await declined(api.get(f"http://service/v2/orders/{text}"), field="serviceId")


async def test_many_wrong_parameters_are_bounded(api: httpx2.AsyncClient) -> None:
    wrong = fields(await api.get("/tokens", params={f"p{n}": "1" for n in range(200)}))
    assert len(wrong) == 50


# What is refused is told as it was sent (contract 3.2)


@each_row(
    ("name", "sent"),
    [
        ("markup", "9.50"),
        ("amount", "0.0000010"),
        ("amount", "0.50000000010"),
        ("rotateFallback", "true"),
        ("swaps", "zz"),
        ("swaps", ["aa", "zz"]),
        ("inLegIncludedSwaps", ["aa", "zz", "bb"]),
        ("types", ["dex", "zz"]),
        ("rotationLookback", ["1", "2"]),
        ("dateFrom", ["1", "2"]),
        ("dateFrom", ""),
    ],
)
async def test_a_query_sends_texts_and_a_repeated_name_a_list(
    api: httpx2.AsyncClient, name: str, sent: Any
) -> None:
    body = (await api.get("/quotes", params={**asked(), name: sent})).json()
    assert body["fields"][name]["value"] == sent


async def test_what_the_market_refuses_repeats_what_was_sent(api: httpx2.AsyncClient) -> None:
    for name, sent in (("markup", "1.50"), ("fixed", "true"), ("amountType", "receive")):
        more = {"fixed": "true"} if name == "amountType" else {}
        body = await refusal(api, "/quotes", {**asked(types="dex"), **more, name: sent})
        assert body["fields"] == {
            name: {"message": "is not supported with types=dex", "value": sent}
        }


async def posted(api: httpx2.AsyncClient, path: str, body: str) -> dict[str, Any]:
    answer = await api.post(path, content=body, headers={"content-type": "application/json"})
    return json.loads(answer.content, parse_float=lambda text: f"number {text}")


@each_row(
    ("name", "sent", "told"),
    [
        ("markup", "9.50", "number 9.50"),
        ("markup", "12", 12),
        ("markup", '"1"', "1"),
        ("walletInfo", "true", True),
        ("destinationTag", "12", 12),
        ("addressTo", '["a", 1]', ["a", 1]),
        ("signatures", '{"a": 1}', {"a": 1}),
        ("inLegIncludedSwaps", '"aa"', "aa"),
    ],
)
async def test_a_body_sends_values_of_every_kind(
    api: httpx2.AsyncClient, name: str, sent: str, told: Any
) -> None:
    others = {"quoteId": "a" * 24, "addressTo": EVM}
    body = json.dumps({key: each for key, each in others.items() if key != name})
    refused = await posted(api, "/exchanges", f'{body[:-1]}, "{name}": {sent}}}')
    assert refused["fields"][name]["value"] == told


async def test_a_filter_of_a_group_is_named_by_its_path(api: httpx2.AsyncClient) -> None:
    row = {"from": BTC.id, "to": ETH.id, "amount": 0.5, "addressTo": EVM}
    sent = {"orders": [row], "filters": {"onlySwaps": ["aa", "zz"]}}
    answer = await posted(api, "/exchanges/multi", json.dumps(sent))
    assert answer["fields"]["filters.onlySwaps"]["value"] == ["aa", "zz"]


@each_row(
    ("sent", "told"),
    [
        ("w" * 256, "w" * 256),
        ("w" * 257, "w" * 256 + "…"),
        (["w" * 252], ["w" * 252]),
        (["w" * 120] * 3, ["w" * 120, "w" * 120, "…"]),
        (["w" * 253], ["…"]),
        ({"a": "w" * 248}, {"a": "w" * 248}),
        ({"a": "w" * 249}, '{"a":"' + "w" * 249 + '"…'),
    ],
)
async def test_the_begin_of_a_long_value(api: httpx2.AsyncClient, sent: Any, told: Any) -> None:
    body = json.dumps({"quoteId": sent, "addressTo": EVM})
    assert (await posted(api, "/exchanges", body))["fields"]["quoteId"]["value"] == told
