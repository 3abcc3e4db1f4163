"""Every operation counts in its own class: what is enforced, and what is told of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from service.http_calls import calling, small_service
from service.test_access import path_of
from swapdesk.clock import ManualClock
from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.service.app import build_service
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operation import Access, Operation, RateClass
from swapdesk.wire.operations import BY_NAME, OPERATIONS


def a_minute(calls: int) -> RateWindows:
    return RateWindows(per_minute=calls, per_hour=calls + 10, per_day=calls + 20)


LIMITS = {RateClass.READ: 4, RateClass.QUOTE: 3, RateClass.EXCHANGE: 2}
HEADERS = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
OTHERS = {RateClass.READ: "list_swaps", RateClass.QUOTE: "get_quotes"}
"""A call of each class that needs no body."""


@pytest.fixture
async def api(store: SqliteStore, clock: ManualClock) -> AsyncIterator[httpx2.AsyncClient]:
    partner = Partner(
        "p",
        "P",
        Tier.PRO,
        (ApiKey("k", digest(b"s")),),
        quote_limits=a_minute(LIMITS[RateClass.QUOTE]),
        exchange_limits=a_minute(LIMITS[RateClass.EXCHANGE]),
        read_limits=a_minute(LIMITS[RateClass.READ]),
    )
    app = build_service(small_service(clock, store, [partner]))
    async with calling(app, {"Authorization": "k:s"}) as client:
        yield client


async def call(api: httpx2.AsyncClient, operation: Operation) -> httpx2.Response:
    """Wrong input counts as well, so none is needed."""
    return await api.request(operation.method, path_of(operation))


def class_by_rule(operation: Operation) -> RateClass:
    """Contract 2.9: what is open is not counted, what asks for quotes is a quote, and what begins
    an exchange is one; anything else reads."""
    if operation.access is Access.OPEN:
        return RateClass.NONE
    if operation.path.startswith("/quotes"):
        return RateClass.QUOTE
    begins = operation.path.startswith("/exchanges") and "{" not in operation.path
    return RateClass.EXCHANGE if operation.writes and begins else RateClass.READ


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_class_of_every_operation(operation: Operation) -> None:
    assert operation.rate_class is class_by_rule(operation)


COUNTED_AT_THE_DOOR = [
    each for each in OPERATIONS if each.rate_class is not RateClass.EXCHANGE and not each.signed
]
"""An exchange counts when it begins: test_exchange_limits. What is signed counts only where the
signature is wrong: test_webhooks."""


@pytest.mark.proves("code RATE_LIMIT_EXCEEDED")
@pytest.mark.parametrize("operation", COUNTED_AT_THE_DOOR, ids=lambda operation: operation.name)
async def test_each_call_counts_in_its_class(
    api: httpx2.AsyncClient, clock: ManualClock, operation: Operation
) -> None:
    limit = LIMITS.get(operation.rate_class)
    if limit is None:
        for _ in range(sum(LIMITS.values())):
            answer = await call(api, operation)
            assert answer.status_code == 200
            assert not set(HEADERS) & answer.headers.keys()
        return
    until_the_edge = str(60 - int(clock.now().timestamp()) % 60)
    for left in reversed(range(limit)):
        answer = await call(api, operation)
        assert answer.status_code != 429
        assert [answer.headers[name] for name in HEADERS] == [
            str(limit),
            str(left),
            until_the_edge,
        ]
    refused = await call(api, operation)
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert refused.headers["retry-after"] == until_the_edge
    assert refused.json()["message"].startswith(f"The {operation.rate_class.value} limit")
    for each, name in OTHERS.items():
        answer = await call(api, BY_NAME[name])
        assert (answer.status_code == 429) == (each is operation.rate_class)
    clock.advance(float(until_the_edge))
    assert (await call(api, operation)).status_code != 429
