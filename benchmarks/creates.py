"""Orders a second that ``POST /exchanges`` creates over HTTP, each flushed to disk before its
answer.

Server and clients are pinned to one core each. The quotes are made beforehand and the exchange
answers at once, so that what is left is the service's own work: two commits an order, with the
worker that looks for deposits and the hub of the stream beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from benchmarks import load, served
from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION, RECEIVER

CALLERS = 64
ORDERS_A_SECOND = 1_500
TOKENS = 1_000
QUOTES = 4_000
"""In each round."""
_HEADERS = {"authorization": AUTHORIZATION, "accept": "application/json"}


def run(rounds: int) -> list[Case]:
    """The best of ``rounds``, in which every quote becomes an order."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {served.CLIENT_CORE})
    port = served.free_port()
    process, ids = served.start(port, TOKENS, 1, rounds * QUOTES)
    try:
        best: load.Load | None = None
        for turn in range(rounds):
            quotes = ids["quotes"][turn * QUOTES : (turn + 1) * QUOTES]
            seen = create([port], quotes)
            if best is None or seen.per_second > best.per_second:
                best = seen
        assert best is not None
        print(
            f"  POST /exchanges {best.per_second:8.0f}/s  p50 {best.quantile(0.5) * 1e3:6.2f} ms"
            f"  p99 {best.quantile(0.99) * 1e3:6.2f} ms"
        )
        took = 1 / best.per_second
        count = best.answers
        limit = 1 / ORDERS_A_SECOND
        return [Case("time per durable order", "service", "limit", took, limit, 1.0, count=count)]
    finally:
        process.terminate()
        process.wait(10)
        os.sched_setaffinity(0, before)


def create(ports: Sequence[int], quotes: Sequence[str]) -> load.Load:
    """An order of each of these quotes, through all ports alike."""
    bodies = [json.dumps({"quoteId": one, "addressTo": RECEIVER}).encode() for one in quotes]
    requests = [load.request(ports[0], "/v2/exchanges", _HEADERS, body) for body in bodies]
    seen = load.run(ports, requests, connections=CALLERS, seconds=60, once=True)
    if seen.refused or seen.answers != len(quotes):
        raise RuntimeError(f"{seen.answers} answers to {len(quotes)} quotes, {seen.refused} no")
    return seen
