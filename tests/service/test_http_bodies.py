"""What a request body may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from service.http_calls import AUTHORIZED, JSON, code, fields, raw_call
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS

MULTI_ID = "a" * 22
POSTS = [
    operation.path.replace("{multiId}", MULTI_ID)
    for operation in OPERATIONS
    if operation.method == "POST" and not operation.signed
]
CREATES = [path for path in POSTS if path.startswith("/exchanges") and "multi" not in path]
"""One order each; what groups take has tests of its own."""


OTHER_KINDS = [
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "application/json; charset=latin-1",
    "application/json; x=1; charset=latin-1",
]
ENCODINGS = ["gzip", "br", "identity, gzip", "x", ""]
"""Of a body; the service reads none of them."""
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


@pytest.fixture
def store(unwritten_store: SqliteStore) -> SqliteStore:
    return unwritten_store


@pytest.mark.proves("code UNSUPPORTED_MEDIA_TYPE")
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content_type",
    OTHER_KINDS,
)
async def test_bodies_are_application_json(
    api: httpx2.AsyncClient, path: str, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = await api.post(path, content=b"{}", headers=headers)
    assert code(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_bodies_are_not_encoded(api: httpx2.AsyncClient, path: str, encoding: str) -> None:
    answer = await api.post(path, content=b"{}", headers=JSON | {"content-encoding": encoding})
    assert code(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_identity_is_no_encoding(api: httpx2.AsyncClient) -> None:
    headers = JSON | {"content-encoding": "Identity"}
    assert (await api.post("/exchanges", content=b"{}", headers=headers)).status_code == 422


@pytest.mark.parametrize(
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
    answer = await api.post("/exchanges", content=b"{}", headers={"content-type": content_type})
    assert answer.status_code == 422


@pytest.mark.proves("code BAD_REQUEST")
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "body",
    NO_OBJECTS,
)
async def test_bodies_that_are_no_json_object(
    api: httpx2.AsyncClient, path: str, body: bytes
) -> None:
    answer = await api.post(path, content=body, headers=JSON)
    assert code(answer) == (400, "BAD_REQUEST")
    assert answer.json().keys() == {"message", "code", "requestId"}


def body_of(size: int) -> bytes:
    frame = b'{"quoteId":"%b"}'
    return frame % (b"a" * (size - len(frame) + 2))


@pytest.mark.proves("code PAYLOAD_TOO_LARGE")
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "status"), [(BODY_LIMIT, 422), (BODY_LIMIT + 1, 413)])
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
@pytest.mark.parametrize("path", CREATES)
async def test_bodies_are_closed_and_name_what_is_wrong(api: httpx2.AsyncClient, path: str) -> None:
    body = {"addressTo": 5, "destinationTag": "x" * 65, "quote_id": "a", "useXmr": True}
    wrong = fields(await api.post(path, json=body))
    assert wrong.keys() == {"quoteId", "addressTo", "destinationTag", "quote_id", "useXmr"}
    assert "value" not in wrong["quoteId"]
    assert wrong["destinationTag"]["value"] == "x" * 65
    assert wrong["useXmr"]["value"] is True
    assert all(problem["message"] for problem in wrong.values())
