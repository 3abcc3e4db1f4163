"""Who may call what: every row of the operations table with every shape of credentials."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rows import each_row
from service.http_calls import calling, declined, small_service
from service.world import (
    AS_FIRST,
    AS_FREE,
    AS_READER,
    AS_SECOND,
    AS_SUSPENDED,
    BTC,
    BY_PARTNER_ID,
    FIRST,
    PARTNERS,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.rate_limits import STRANGER_READS
from swapdesk.service.store.store import Store
from swapdesk.wire.operation import Access, Operation
from swapdesk.wire.operations import OPERATIONS

BAD = "INVALID_API_CREDENTIALS"
NOT_SUPPORTED = "PARTNER_ID_NOT_SUPPORTED"
DENIED = "ACCESS_DENIED"

Expected = Callable[[Operation], str | None]
Headers = list[tuple[bytes, bytes]]


def passes(operation: Operation) -> str | None:
    return None


def always(code: str) -> Expected:
    return lambda operation: code


def partner_id(operation: Operation) -> str | None:
    return NOT_SUPPORTED if operation.access is Access.KEY else None


def reader(operation: Operation) -> str | None:
    return DENIED if operation.method == "POST" else None


def authorization(value: str | bytes) -> Headers:
    return [(b"authorization", value if isinstance(value, bytes) else value.encode())]


SUSPENDED_ID: Headers = [(b"partner-id", b"partner-suspended")]
GOOD = "first-key:first-secret"

SHAPES: dict[str, tuple[Headers, Expected]] = {
    "missing": ([], always(BAD)),
    "empty": (authorization(""), always(BAD)),
    "no colon": (authorization("first-keyfirst-secret"), always(BAD)),
    "colon alone": (authorization(":"), always(BAD)),
    "no secret": (authorization("first-key:"), always(BAD)),
    "no key": (authorization(":first-secret"), always(BAD)),
    "two colons": (authorization("first-key:first:secret"), always(BAD)),
    "colon at the end": (authorization(GOOD + ":"), always(BAD)),
    "bearer": (authorization("Bearer " + GOOD), always(BAD)),
    "basic": (authorization(b"Basic " + base64.b64encode(GOOD.encode())), always(BAD)),
    "base64": (authorization(base64.b64encode(GOOD.encode())), always(BAD)),
    "key in upper case": (authorization("FIRST-KEY:first-secret"), always(BAD)),
    "secret in upper case": (authorization("first-key:FIRST-SECRET"), always(BAD)),
    "unknown key": (authorization("third-key:first-secret"), always(BAD)),
    "secret of another key": (authorization("first-key:second-secret"), always(BAD)),
    "secret of the other key": (authorization("first-key:reader-secret"), always(BAD)),
    "8 kB": (authorization("k" * 4096 + ":" + "s" * 4096), always(BAD)),
    "non-ascii": (authorization("first-key:first-secrét".encode()), always(BAD)),
    "no utf-8": (authorization(b"first-key:first-secret\xff"), always(BAD)),
    "sent twice": (authorization(GOOD) * 2, always(BAD)),
    "full key": (authorization(GOOD), passes),
    "blanks around": (authorization(f" \t{GOOD}\t "), passes),
    "blanks around partner-id": ([(b"partner-id", b" partner-first ")], partner_id),
    "another partner": (authorization(AS_SECOND["Authorization"]), passes),
    "free partner": (authorization(AS_FREE["Authorization"]), passes),
    "read key": (authorization(AS_READER["Authorization"]), reader),
    "suspended": (authorization(AS_SUSPENDED["Authorization"]), always(DENIED)),
    "partner-id": ([(b"partner-id", b"partner-first")], partner_id),
    "unknown partner-id": ([(b"partner-id", b"partner-third")], always(BAD)),
    "empty partner-id": ([(b"partner-id", b"")], always(BAD)),
    "a key as partner-id": ([(b"partner-id", b"first-key")], always(BAD)),
    "suspended partner-id": (
        SUSPENDED_ID,
        lambda operation: NOT_SUPPORTED if operation.access is Access.KEY else DENIED,
    ),
    "both, key decides": ([*authorization(GOOD), (b"partner-id", b"partner-third")], passes),
    "both, bad key": (
        [*authorization("first-key:wrong"), (b"partner-id", b"partner-first")],
        always(BAD),
    ),
}


def path_of(operation: Operation) -> str:
    path = operation.path.replace("{id}", BTC.id).replace("{source}", "aa")
    return path.replace("{serviceId}", "abc").replace("{multiId}", "abc")


OPEN_TO_ALL = {"health", "receive_webhook"}
READ_BY_PARTNER_ID = {
    "openapi",
    "list_chains",
    "list_tokens",
    "get_token",
    "list_swaps",
    "get_pair_limits",
    "get_quotes",
    "get_private_send_quotes",
    "get_order",
}
"""Said once more beside the table of operations, so that a slip there opens nothing."""


@pytest.mark.proves(
    "code INVALID_API_CREDENTIALS", "code PARTNER_ID_NOT_SUPPORTED", "code ACCESS_DENIED"
)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_access(anyone: httpx2.AsyncClient, operation: Operation) -> None:
    assert (operation.access is Access.OPEN) is (operation.name in OPEN_TO_ALL)
    assert (operation.access is Access.READ) is (operation.name in READ_BY_PARTNER_ID)
    for shape, (headers, expected) in SHAPES.items():
        answer = await anyone.request(operation.method, path_of(operation), headers=headers)
        code = None if operation.access is Access.OPEN else expected(operation)
        if operation.signed:  # credentials are no signature
            code = BAD
        if code is None:
            assert answer.status_code not in (401, 403), shape
            continue
        assert answer.status_code == (403 if code == DENIED else 401), shape
        assert answer.json()["code"] == code, shape
        assert answer.json().keys() == {"message", "code", "requestId"}, shape


async def test_refusals_do_not_tell_which_part_was_wrong(anyone: httpx2.AsyncClient) -> None:
    messages = set()
    for shape in ("missing", "no colon", "unknown key", "secret of another key", "8 kB"):
        answer = await anyone.get("/chains", headers=SHAPES[shape][0])
        messages.add(answer.json()["message"])
    assert len(messages) == 1


@each_row("path", ["/chains", "/orders", "/rateLimits"])
@each_row(
    "headers",
    [
        {},
        *({"partner-id": f"partner-{name}"} for name in ("first", "suspended", "third")),
    ],
    ids=lambda headers: headers.get("partner-id", "alone"),
)
async def test_api_key_parameter_is_no_credential_and_fails_beside_partner_id(
    anyone: httpx2.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    """Whatever the partner-id alone would have been told, and however the name is written."""
    for query in (f"apiKey={GOOD}", "apiKey", "api%4bey=x&page=%ff", "page=x&apiKey="):
        await declined(anyone.get(f"{path}?{query}", headers=headers), BAD)


async def test_api_key_parameter_costs_the_partner_nothing(anyone: httpx2.AsyncClient) -> None:
    for _ in range(3):
        await anyone.get("/tokens", params={"apiKey": "x"}, headers=BY_PARTNER_ID)
    answer = await anyone.get("/rateLimits", headers=AS_FIRST)
    assert answer.json()["monthlyRequestCount"] == 1


async def test_api_key_parameter_is_ignored_beside_authorization(
    anyone: httpx2.AsyncClient,
) -> None:
    answer = await anyone.get("/chains", params={"apiKey": ["x", ""]}, headers=AS_FIRST)
    assert answer.status_code == 200


@each_row(
    ("method", "path", "more", "status"),
    [
        ("GET", "/tokens", {"params": {"page": "x", "nonsense": "1"}}, 401),
        ("POST", "/exchanges", {"content": b"{", "headers": AS_READER}, 403),
        ("POST", "/chains", {}, 405),
        ("GET", "/nothing", {}, 404),
    ],
)
async def test_access_is_checked_after_route_and_method_and_before_what_is_sent(
    anyone: httpx2.AsyncClient, method: str, path: str, more: dict[str, Any], status: int
) -> None:
    assert (await anyone.request(method, path, **more)).status_code == status


# Pages of other sites: who may ask by ``partner-id``, and who never (contract 2.13 to 2.15)


PAGE = "https://shop.example"
EXPOSED = {"x-request-id", "retry-after", "ratelimit-limit", "ratelimit-remaining"} | {
    "ratelimit-reset"
}
READ = [each for each in OPERATIONS if each.access is Access.READ]
OTHERS = [each for each in OPERATIONS if each.access is not Access.READ]
SHOWN = "access-control-allow-origin"


def preflight(method: str, **more: str) -> dict[str, str]:
    return {"Origin": PAGE, "Access-Control-Request-Method": method, **more}


def names(answer: httpx2.Response, header: str) -> set[str]:
    return {each.strip().lower() for each in answer.headers[header].split(",")}


@each_row("origin", [PAGE, "http://localhost:5173", "null"])
@each_row("operation", READ, ids=lambda operation: operation.name)
async def test_every_page_reads_what_takes_a_partner_id(
    anyone: httpx2.AsyncClient, operation: Operation, origin: str
) -> None:
    """Answers and refusals alike, for a page branches on their code."""
    for headers in (BY_PARTNER_ID, {}):
        answer = await anyone.get(path_of(operation), headers={**headers, "Origin": origin})
        assert answer.headers[SHOWN] in ("*", origin)
        assert names(answer, "access-control-expose-headers") >= EXPOSED
        assert (answer.status_code == 401) is (not headers)


async def test_a_preflight_needs_no_credentials_and_spends_no_limit(
    anyone: httpx2.AsyncClient,
) -> None:
    """One address may ask more often than it could call."""
    asked = preflight("GET", **{"Access-Control-Request-Headers": "partner-id"})
    assert len(READ) * 8 > STRANGER_READS
    for operation in READ * 8:
        answer = await anyone.options(path_of(operation), headers=asked)
        assert (answer.status_code, answer.content) == (204, b""), operation.name
        assert answer.headers[SHOWN] == "*", operation.name
        assert names(answer, "access-control-allow-methods") == {"get"}, operation.name
        assert names(answer, "access-control-allow-headers") == {"partner-id", "content-type"}
        assert answer.headers["x-request-id"]
        assert not {"content-length", "ratelimit-limit"} & answer.headers.keys(), operation.name


async def test_no_page_is_told_that_it_may_use_a_key(anyone: httpx2.AsyncClient) -> None:
    for operation in OTHERS:
        for method in ("GET", "POST"):
            answer = await anyone.options(path_of(operation), headers=preflight(method))
            assert (answer.status_code, SHOWN in answer.headers) == (405, False), operation.name
        answer = await anyone.request(
            operation.method, path_of(operation), headers={**BY_PARTNER_ID, "Origin": PAGE}
        )
        assert SHOWN not in answer.headers, operation.name


async def test_a_preflight_of_what_is_not_there(anyone: httpx2.AsyncClient) -> None:
    assert (await anyone.options("/nothing", headers=preflight("GET"))).status_code == 404
    assert (await anyone.options("/chains", headers=preflight("POST"))).status_code == 405
    plain = await anyone.options("/chains", headers={"Origin": PAGE})
    assert (plain.status_code, plain.headers["allow"]) == (405, "GET")


@each_row("origin", [PAGE, "null", "https://service.shop.example", "http://[::1"])
@each_row("path", ["/chains", "/orders", "/health", "/nothing"])
async def test_a_key_is_not_taken_from_a_page_of_another_site(
    api: httpx2.AsyncClient, origin: str, path: str
) -> None:
    for more in ({}, BY_PARTNER_ID):
        answer = await api.get(path, headers={"Origin": origin, **more})
        assert (answer.status_code, answer.json()["code"]) == (403, "ACCESS_DENIED")
        assert SHOWN not in answer.headers


@each_row(
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
    store: Store, clock: ManualClock, origin: str | None, allowed: bool
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
    if origin is None:
        assert not any(name.startswith("access-control") for name in other.headers)
    else:
        assert answer.headers.get(SHOWN) == (origin if allowed else None)
        assert ("vary" in answer.headers) is allowed, "the next page gets another answer"
