"""Pages of other sites: who may ask by ``partner-id``, and who never (contract 2.13 to 2.15)."""

from __future__ import annotations

import httpx2
import pytest
from msgspec.structs import replace

from service.http_calls import calling, small_service
from service.test_access import path_of
from service.world import AS_FIRST, BY_PARTNER_ID, FIRST, PARTNERS
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.operation import Access, Operation
from swapdesk.wire.operations import OPERATIONS

PAGE = "https://shop.example"
EXPOSED = {"x-request-id", "retry-after", "ratelimit-limit", "ratelimit-remaining"} | {
    "ratelimit-reset"
}
READ = [each for each in OPERATIONS if each.access is Access.READ]
OTHERS = [each for each in OPERATIONS if each.access is not Access.READ]
SHOWN = "access-control-allow-origin"


@pytest.fixture
def store(unwritten_store: SqliteStore) -> SqliteStore:
    return unwritten_store


def preflight(method: str, **more: str) -> dict[str, str]:
    return {"Origin": PAGE, "Access-Control-Request-Method": method, **more}


def names(answer: httpx2.Response, header: str) -> set[str]:
    return {each.strip().lower() for each in answer.headers[header].split(",")}


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:5173", "null"])
@pytest.mark.parametrize("operation", READ, ids=lambda operation: operation.name)
async def test_every_page_reads_what_takes_a_partner_id(
    anyone: httpx2.AsyncClient, operation: Operation, origin: str
) -> None:
    """Answers and refusals alike, for a page branches on their code."""
    for headers in (BY_PARTNER_ID, {}):
        answer = await anyone.get(path_of(operation), headers={**headers, "Origin": origin})
        assert answer.headers[SHOWN] in ("*", origin)
        assert names(answer, "access-control-expose-headers") >= EXPOSED
        assert (answer.status_code == 401) is (not headers)


async def test_without_an_origin_nothing_is_said_of_pages(anyone: httpx2.AsyncClient) -> None:
    answer = await anyone.get("/chains", headers=BY_PARTNER_ID)
    assert answer.status_code == 200
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("operation", READ, ids=lambda operation: operation.name)
async def test_a_preflight_needs_no_credentials_and_spends_no_limit(
    anyone: httpx2.AsyncClient, operation: Operation
) -> None:
    asked = preflight("GET", **{"Access-Control-Request-Headers": "partner-id"})
    for _ in range(70):
        answer = await anyone.options(path_of(operation), headers=asked)
        assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers[SHOWN] == "*"
    assert names(answer, "access-control-allow-methods") == {"get"}
    assert names(answer, "access-control-allow-headers") == {"partner-id", "content-type"}
    assert answer.headers["x-request-id"]
    assert "content-length" not in answer.headers
    assert "ratelimit-limit" not in answer.headers


@pytest.mark.parametrize("operation", OTHERS, ids=lambda operation: operation.name)
async def test_no_page_is_told_that_it_may_use_a_key(
    anyone: httpx2.AsyncClient, operation: Operation
) -> None:
    for method in ("GET", "POST"):
        answer = await anyone.options(path_of(operation), headers=preflight(method))
        assert (answer.status_code, SHOWN in answer.headers) == (405, False)
    answer = await anyone.request(
        operation.method, path_of(operation), headers={**BY_PARTNER_ID, "Origin": PAGE}
    )
    assert SHOWN not in answer.headers


async def test_a_preflight_of_what_is_not_there(anyone: httpx2.AsyncClient) -> None:
    assert (await anyone.options("/nothing", headers=preflight("GET"))).status_code == 404
    assert (await anyone.options("/chains", headers=preflight("POST"))).status_code == 405
    plain = await anyone.options("/chains", headers={"Origin": PAGE})
    assert (plain.status_code, plain.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("origin", [PAGE, "null", "https://service.shop.example", "http://[::1"])
@pytest.mark.parametrize("path", ["/chains", "/orders", "/health", "/nothing"])
async def test_a_key_is_not_taken_from_a_page_of_another_site(
    api: httpx2.AsyncClient, origin: str, path: str
) -> None:
    for more in ({}, BY_PARTNER_ID):
        answer = await api.get(path, headers={"Origin": origin, **more})
        assert (answer.status_code, answer.json()["code"]) == (403, "ACCESS_DENIED")
        assert SHOWN not in answer.headers


@pytest.mark.parametrize(
    "origin", ["http://service", "https://SERVICE:8443", "http://127.0.0.1:5173", "http://[::1]"]
)
async def test_a_key_is_taken_from_a_page_of_this_site(
    api: httpx2.AsyncClient, origin: str
) -> None:
    assert (await api.get("/orders", headers={"Origin": origin})).status_code == 200


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (PAGE, True),
        ("HTTPS://Shop.example", True),
        ("http://shop.example", False),
        ("https://shop.example:8443", False),
        ("https://other.example", False),
        ("null", False),
        (None, True),
    ],
)
async def test_a_partner_may_list_the_pages_that_use_its_id(
    store: SqliteStore, clock: ManualClock, origin: str | None, allowed: bool
) -> None:
    partners = [replace(FIRST, allowed_origins=(PAGE,)), *PARTNERS[1:]]
    parts = small_service(clock, store, partners)
    page = {} if origin is None else {"Origin": origin}
    async with calling(build_service(parts)) as api:
        answer = await api.get("/chains", headers={**BY_PARTNER_ID, **page})
        other = await api.get("/chains", headers={"partner-id": "partner-second", **page})
        by_key = await api.get("/chains", headers=AS_FIRST)
    assert (answer.status_code, other.status_code, by_key.status_code) == (
        200 if allowed else 403,
        200,
        200,
    )
    if not allowed:
        assert answer.json()["code"] == "ACCESS_DENIED"
    if origin is not None:
        assert answer.headers.get(SHOWN) == (origin if allowed else None)
        assert ("vary" in answer.headers) is allowed, "the next page gets another answer"
