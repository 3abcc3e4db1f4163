"""Metrics in the text format of Prometheus, and the application that serves them. Label values
never come from callers, who therefore cannot create series."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Receive, Scope, Send

from swapdesk.service.handlers import ServiceParts
from swapdesk.service.observation import STREAM, Call, state_name
from swapdesk.service.readiness import Standing
from swapdesk.service.store.records import StoredOrder


class Family(Struct, frozen=True):
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


FAMILIES: Mapping[str, Family] = {
    "swapdesk_requests_total": Family(
        "counter",
        ("operation", "status"),
        "Requests that were answered, streams that ended among them. Status 0: broken off.",
    ),
    "swapdesk_request_duration_seconds": Family(
        "histogram", ("operation",), "Time until a request was answered, without streams."
    ),
    "swapdesk_creates_total": Family(
        "counter",
        ("operation", "outcome"),
        "Creates: created, repeated (answered with the earlier order), refused, limited (429),"
        " unpaid (402), failed (no venue opened it) or unknown (5xx, or broken off).",
    ),
    "swapdesk_transitions_total": Family(
        "counter", ("state",), "Orders that came into a state by this process."
    ),
    "swapdesk_ready": Family("gauge", (), "1 if /ready answers 200."),
    "swapdesk_database_up": Family("gauge", (), "1 if the database answers."),
    "swapdesk_order_overdue_seconds": Family(
        "gauge", (), "How long the oldest order has been due that nobody has taken."
    ),
    "swapdesk_outbox_lag_seconds": Family(
        "gauge", (), "Age of the oldest change that the streams of this process were not told of."
    ),
    "swapdesk_stream_clients": Family("gauge", (), "Open streams of this process."),
    "swapdesk_venue_breaker": Family(
        "gauge",
        ("venue", "state"),
        "1 for the state of the circuit breaker: closed, open or half_open.",
    ),
    "swapdesk_node_up": Family("gauge", ("chain",), "1 if the node of the chain answers."),
    "swapdesk_node_head_height": Family("gauge", ("chain",), "Number of the newest block."),
    "swapdesk_node_head_age_seconds": Family(
        "gauge", ("chain",), "Age of the newest block, where blocks tell their time."
    ),
    "swapdesk_database_pool_connections": Family(
        "gauge", (), "Connections to PostgreSQL that this process has."
    ),
    "swapdesk_database_pool_free_connections": Family(
        "gauge", (), "Those of them that nobody uses."
    ),
    "swapdesk_database_pool_waiting": Family(
        "gauge", (), "Pieces of work that wait for a connection."
    ),
}

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
"""Upper bounds of the histogram's buckets, in seconds."""
CREATES = frozenset({"create_exchange", "create_private_send", "create_multi_exchange"})
_BREAKER_STATES = ("closed", "open", "half_open")


def outcome_of(call: Call) -> str:
    if call.status == 200:
        return "repeated" if call.is_repeat else "created"
    if call.status == 502:
        return "failed"
    if call.status == 0 or call.status >= 500:
        return "unknown"
    return {402: "unpaid", 429: "limited"}.get(call.status, "refused")


class Metrics:
    def __init__(self) -> None:
        # A second series for each one, with the time at which this process began to count.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._requests = self._counter("swapdesk_requests_total")
        self._creates = self._counter("swapdesk_creates_total")
        self._transitions = self._counter("swapdesk_transitions_total")
        name = "swapdesk_request_duration_seconds"
        family = FAMILIES[name]
        self._durations = Histogram(
            name, family.help, family.labels, buckets=_BUCKETS, registry=self.registry
        )

    def _counter(self, name: str) -> Counter:
        family = FAMILIES[name]
        return Counter(name, family.help, family.labels, registry=self.registry)

    def answered(self, call: Call) -> None:
        self._requests.labels(call.operation, call.status).inc()
        if call.operation != STREAM:
            self._durations.labels(call.operation).observe(call.seconds)
        if call.operation in CREATES:
            self._creates.labels(call.operation, outcome_of(call)).inc()

    def moved(self, order: StoredOrder, before: int | None) -> None:
        self._transitions.labels(state_name(order.status)).inc()


class Scrape(Collector):
    def __init__(self, standing: Standing, parts: ServiceParts) -> None:
        self._standing = standing
        self._parts = parts

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for name, samples in self._samples():
            family = FAMILIES[name]
            gauge = GaugeMetricFamily(name, family.help, labels=family.labels)
            for labels, value in samples:
                gauge.add_metric(labels, value)
            yield gauge

    def _samples(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], float]]]]:
        standing, backlog, pool = (
            self._standing,
            self._standing.backlog,
            self._parts.store.database.pool(),
        )
        heads = standing.heads.items()
        now = self._parts.clock.now().timestamp()

        def alone(value: float | None) -> list[tuple[tuple[str, ...], float]]:
            return [] if value is None else [((), value)]

        yield "swapdesk_ready", alone(standing.is_ready)
        yield "swapdesk_database_up", alone(backlog is not None)
        if backlog is not None:
            yield "swapdesk_order_overdue_seconds", alone(backlog.overdue)
            yield "swapdesk_outbox_lag_seconds", alone(backlog.untold)
        yield "swapdesk_stream_clients", alone(self._parts.hub.connections)
        yield (
            "swapdesk_venue_breaker",
            [
                ((venue.provider.short_name, state), venue.breaker == state)
                for venue in self._parts.venues
                for state in _BREAKER_STATES
            ],
        )
        yield "swapdesk_node_up", [((chain,), head is not None) for chain, head in heads]
        yield (
            "swapdesk_node_head_height",
            [((chain,), head.height) for chain, head in heads if head is not None],
        )
        yield (
            "swapdesk_node_head_age_seconds",
            [
                ((chain,), max(now - head.timestamp, 0.0))
                for chain, head in heads
                if head is not None and head.timestamp is not None and standing.clock_is_right
            ],
        )
        if pool is not None:
            yield "swapdesk_database_pool_connections", alone(pool.size)
            yield "swapdesk_database_pool_free_connections", alone(pool.free)
            yield "swapdesk_database_pool_waiting", alone(pool.waiting)


def metrics_app(metrics: Metrics, parts: ServiceParts) -> ASGIApp:
    """Returns the ASGI application for ``GET /metrics`` and ``GET /ready``. It is served separately
    from the API."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, kind, body = await answered(scope["method"], scope["path"])
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answered(method: str, path: str) -> tuple[int, str, bytes]:
        if path not in ("/metrics", "/ready"):
            return 404, "text/plain", b"There is /metrics and /ready.\n"
        if method != "GET":
            return 405, "text/plain", b"This path answers GET.\n"
        standing = await parts.readiness.look()
        if path == "/ready":
            return (200 if standing.is_ready else 503), "application/json", standing.encoded()
        gauges = CollectorRegistry()
        gauges.register(Scrape(standing, parts))
        text = generate_latest(metrics.registry) + generate_latest(gauges)
        return 200, CONTENT_TYPE_PLAIN_0_0_4, text

    return answer
