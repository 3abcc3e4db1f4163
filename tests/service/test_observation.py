"""What an operator sees of requests and transitions: lines of the log, and metrics."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import databases
from rows import each_row
from service.http_calls import calling, small_service
from service.orders_fixtures import venues_at
from service.test_orders_api import created, quote_of
from service.test_readiness import Node
from service.venue import PlainVenue
from service.world import AS_FIRST, BTC_ADDRESS
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.metrics import FAMILIES, Metrics, metrics_app
from swapdesk.service.observation import MEMBERS, Call, JsonLines, Log
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.store import Store
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import LegStatus


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def service(
    clock: ManualClock, store: Store, venue_list: list[PlainVenue], node: Node, metrics: Metrics
) -> ServiceParts:
    onchain = Onchain(sightings={"base": node.sightings(clock)})
    return small_service(
        clock, store, venues=venue_list, onchain=onchain, observers=(Log(), metrics)
    )


class Lines(logging.Handler):
    """What reaches the log, as it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))

    def of(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.written]
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, program = Lines(), logging.getLogger("swapdesk")
    level = program.level
    program.addHandler(handler)
    program.setLevel(logging.INFO)
    yield handler
    program.removeHandler(handler)
    program.setLevel(level)


@pytest.fixture
async def scraped(service: ServiceParts, metrics: Metrics) -> AsyncIterator[httpx2.AsyncClient]:
    app = metrics_app(metrics, service)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://metrics"
    ) as client:
        yield client


Samples = dict[tuple[str, tuple[str, ...]], float]


async def read(scraped: httpx2.AsyncClient) -> Samples:
    """Values by the name of the sample and the values of its labels."""
    answer = await scraped.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


# The log


async def test_a_line_for_each_request(
    service: ServiceParts, api: httpx2.AsyncClient, lines: Lines
) -> None:
    order = await created(api)
    details = await api.get(f"/orders/{order['serviceId']}?apiKey=first-key")
    confirmed = await api.post("/dex/confirmTx", json={"id": order["serviceId"]})
    await api.get("/orders/nobodys", headers={"authorization": "first-key:wrong-secret"})
    await api.get("/nothing/of/this?secret=x")
    told = [
        (line["operation"], line["status"], line["partner"], line["order"])
        for line in lines.of("request")
    ]
    assert told == [
        ("get_quotes", 200, "partner-first", None),
        ("create_exchange", 200, "partner-first", order["serviceId"]),
        ("get_order", 200, "partner-first", order["serviceId"]),
        ("dex_confirm_transaction", confirmed.status_code, "partner-first", order["serviceId"]),
        ("get_order", 401, None, None),
        ("none", 404, None, None),
    ]
    assert lines.of("request")[2]["requestId"] == details.headers["x-request-id"]
    everything = "\n".join(lines.written)
    for kept in ("first-secret", "wrong-secret", "secret=x", BTC_ADDRESS, "127.0.0.1"):
        assert kept not in everything


async def test_a_line_for_each_transition(
    service: ServiceParts,
    api: httpx2.AsyncClient,
    venue_list: list[PlainVenue],
    clock: ManualClock,
    lines: Lines,
) -> None:
    """Of whatever moves an order: the create, the worker with several states at once, the
    operator."""
    order, deleted = await created(api), await created(api)
    key = f"{order['serviceId']}:in"
    venue = next(venue for venue in venue_list if key in venue.keys)
    venue.move(key, LegStatus.FINISHED)
    clock.advance(5)
    await service.worker.step(clock.now())
    stored = await service.store.orders.current(deleted["serviceId"])
    assert stored is not None
    assert await delete_order(service.store, stored, clock.now())
    moved = {
        each["serviceId"]: [
            (line["before"], line["after"])
            for line in lines.of("transition")
            if (line["order"], line["partner"]) == (each["serviceId"], "partner-first")
        ]
        for each in (order, deleted)
    }
    begun = [(None, "initializing"), ("initializing", "waiting")]
    steps = ["waiting", "confirming", "exchanging", "finished"]
    assert moved[order["serviceId"]] == [*begun, *pairwise(steps)]
    assert moved[deleted["serviceId"]] == [*begun, ("waiting", "deleted")]


@pytest.mark.parametrize(
    "text", ["a\nb", 'quote " and \\', "\x1b[2J\x7f\x00", "\u202e\u2028 é", "x" * 9_000]
)
def test_whatever_a_text_holds_is_one_line_of_plain_ascii(text: str, lines: Lines) -> None:
    Log(addresses=True).answered(Call(text, text, text, text, text, text))
    logging.getLogger("swapdesk.service.router").warning("no answer: %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("swapdesk.service.router").exception("defect")
    for line in lines.written:
        assert line.isascii()
        assert line.isprintable()
    (request,), (plain, defect) = lines.of("request"), lines.of("message")
    assert (request["order"], request["address"]) == (text, text)
    assert plain["message"] == f"no answer: {text}"
    assert "Traceback" in defect["error"]


def test_a_lone_surrogate_is_escaped() -> None:
    """Past the loggers: what pytest captures of them has to be UTF-8."""
    record = logging.LogRecord("swapdesk", logging.INFO, "", 0, "no answer: %s", ("\ud800",), None)
    line = JsonLines().format(record)
    assert line.isascii()
    assert json.loads(line)["message"] == "no answer: \ud800"


def test_the_address_only_where_it_is_asked_for(lines: Lines) -> None:
    call = Call("id", "GET", "health", address="192.0.2.1", status=200)
    Log().answered(call)
    Log(addresses=True).answered(call)
    assert [line.get("address") for line in lines.of("request")] == [None, "192.0.2.1"]


async def test_every_member_is_in_the_reference(api: httpx2.AsyncClient, lines: Lines) -> None:
    Log(addresses=True).answered(Call("id"))
    await created(api)
    logging.getLogger("swapdesk.service").error("it", exc_info=ValueError("x"))
    for event in ("request", "transition", "message"):
        written = {name for line in lines.of(event) for name in line}
        assert written == {*MEMBERS["every line"], *MEMBERS[event]}


# Metrics


async def test_requests_creates_and_transitions_are_counted(
    api: httpx2.AsyncClient, scraped: httpx2.AsyncClient
) -> None:
    body = {"quoteId": await quote_of(api), "addressTo": BTC_ADDRESS}
    for _ in range(2):
        (await api.post("/exchanges", json=body)).raise_for_status()
    await api.post("/exchanges", json={**body, "quoteId": "0" * 24})
    await api.post("/exchanges", json=body, headers={"authorization": "no:no"})
    found = await read(scraped)
    assert found["swapdesk_requests_total", ("create_exchange", "200")] == 2
    assert found["swapdesk_requests_total", ("create_exchange", "401")] == 1
    assert found["swapdesk_request_duration_seconds_count", ("create_exchange",)] == 4
    outcomes = {
        labels[1]: value
        for (name, labels), value in found.items()
        if name == "swapdesk_creates_total"
    }
    assert outcomes == {"created": 1, "repeated": 1, "refused": 2}
    assert found["swapdesk_transitions_total", ("initializing",)] == 1
    assert found["swapdesk_transitions_total", ("waiting",)] == 1


async def test_nothing_a_caller_sends_makes_a_series(
    api: httpx2.AsyncClient, scraped: httpx2.AsyncClient
) -> None:
    for number in range(20):
        await api.get(f"/nothing-{number}")
        await api.get(f"/orders/{number:022}")
        await api.request(f"M{number}", "/chains")
        await api.get(f"/tokens?name{number}=x")
    labels = {labels for (name, labels) in await read(scraped) if name == "swapdesk_requests_total"}
    assert labels == {
        ("none", "404"),
        ("none", "405"),
        ("get_order", "404"),
        ("list_tokens", "422"),
    }
    assert {operation for operation, _ in labels} - {"none"} <= {row.name for row in OPERATIONS}


async def test_gauges_tell_how_it_stands(
    engine: databases.Name,
    service: ServiceParts,
    scraped: httpx2.AsyncClient,
    node: Node,
    clock: ManualClock,
) -> None:
    api = calling(build_service(service), AS_FIRST)
    await created(api)
    due = await service.store.orders.next_due()
    assert due is not None
    clock.advance((due - clock.now()).total_seconds() + 60)
    found = await read(scraped)
    assert found["swapdesk_ready", ()] == 0
    assert found["swapdesk_database_up", ()] == 1
    assert found["swapdesk_order_overdue_seconds", ()] == 60
    assert found["swapdesk_node_up", ("base",)] == 1
    assert found["swapdesk_node_head_height", ("base",)] == 16
    head_age = clock.now().timestamp() - 0x691F2000
    assert found["swapdesk_node_head_age_seconds", ("base",)] == pytest.approx(head_age)
    assert found["swapdesk_venue_breaker", ("closed", "aa")] == 1
    assert found["swapdesk_stream_clients", ()] == 0
    assert (("swapdesk_database_pool_connections", ()) in found) is (engine == "postgres")
    if engine == "postgres":
        size = found["swapdesk_database_pool_connections", ()]
        assert size == found["swapdesk_database_pool_free_connections", ()] > 0
        assert found["swapdesk_database_pool_waiting", ()] == 0
    # Nobody delivers to streams yet: a lag is not known.
    assert ("swapdesk_outbox_lag_seconds", ()) not in found
    # Whoever takes it now is stopped at once.
    now, lease = clock.now(), timedelta(seconds=8)
    taken = await service.store.orders.claim_due(
        now, owner="stopped", lease_until=now + lease, limit=1
    )
    clock.advance(lease.total_seconds())
    assert (await read(scraped))["swapdesk_order_overdue_seconds", ()] == 0
    clock.advance(20)
    assert (await read(scraped))["swapdesk_order_overdue_seconds", ()] == 20 * len(taken)
    node.state = "away"
    service.hub.delivered = 0
    for _ in range(5):
        service.venues.asked("aa")._breaker.failed()
    clock.advance(1)
    found = await read(scraped)
    assert found["swapdesk_node_up", ("base",)] == 0
    assert ("swapdesk_node_head_age_seconds", ("base",)) not in found
    assert found["swapdesk_outbox_lag_seconds", ()] > 60
    assert found["swapdesk_venue_breaker", ("open", "aa")] == 1
    assert found["swapdesk_venue_breaker", ("closed", "aa")] == 0


async def test_what_is_exposed_is_what_the_reference_says(
    api: httpx2.AsyncClient, service: ServiceParts, scraped: httpx2.AsyncClient
) -> None:
    await created(api)
    service.hub.delivered = 0
    answer = await scraped.get("/metrics")
    exposed = {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in text_string_to_metric_families(answer.text)
    }
    pool = {name for name in FAMILIES if service.store.database.pool() is None and "_pool_" in name}
    assert exposed == {name: family.kind for name, family in FAMILIES.items() if name not in pool}


@each_row(
    ("method", "path", "status"),
    [
        ("GET", "/ready", 200),
        ("GET", "/", 404),
        ("GET", "/v2/chains", 404),
        ("POST", "/metrics", 405),
    ],
)
async def test_the_port_of_the_metrics_answers_nothing_else(
    scraped: httpx2.AsyncClient, method: str, path: str, status: int
) -> None:
    assert (await scraped.request(method, path)).status_code == status
