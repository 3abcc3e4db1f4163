"""Who may call what: every row of the operations table with every shape of credentials."""

from __future__ import annotations

import base64
from collections.abc import Callable

import httpx2
import pytest

from service.world import (
    AS_FIRST,
    AS_FREE,
    AS_READER,
    AS_SECOND,
    AS_SUSPENDED,
    BTC,
    BY_PARTNER_ID,
)
from swapdesk.service.store.sqlite import SqliteStore
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


@pytest.fixture
def store(unwritten_store: SqliteStore) -> SqliteStore:
    return unwritten_store


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


@pytest.mark.parametrize("path", ["/chains", "/orders", "/rateLimits"])
async def test_api_key_parameter_is_no_credential(anyone: httpx2.AsyncClient, path: str) -> None:
    alone = await anyone.get(path, params={"apiKey": GOOD})
    assert (alone.status_code, alone.json()["code"]) == (401, BAD)


@pytest.mark.parametrize("path", ["/chains", "/orders", "/rateLimits"])
@pytest.mark.parametrize("partner_id", ["partner-first", "partner-suspended", "partner-third"])
async def test_api_key_parameter_fails_beside_partner_id(
    anyone: httpx2.AsyncClient, path: str, partner_id: str
) -> None:
    """Whatever the partner-id alone would have been told, and however the name is written."""
    for query in ("apiKey=x", "apiKey", "api%4bey=x&page=%ff", "page=x&apiKey="):
        answer = await anyone.get(f"{path}?{query}", headers={"partner-id": partner_id})
        assert (answer.status_code, answer.json()["code"]) == (401, BAD)


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


async def test_access_is_checked_before_parameters(anyone: httpx2.AsyncClient) -> None:
    answer = await anyone.get("/tokens", params={"page": "x", "nonsense": "1"})
    assert answer.status_code == 401


async def test_access_is_checked_before_the_body(anyone: httpx2.AsyncClient) -> None:
    answer = await anyone.post("/exchanges", content=b"{", headers=AS_READER)
    assert (answer.status_code, answer.json()["code"]) == (403, DENIED)


async def test_method_is_checked_before_access(anyone: httpx2.AsyncClient) -> None:
    assert (await anyone.post("/chains")).status_code == 405


async def test_route_is_checked_before_access(anyone: httpx2.AsyncClient) -> None:
    assert (await anyone.get("/nothing")).status_code == 404
