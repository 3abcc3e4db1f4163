"""CPU time that asking twelve exchanges adds to a quote, in process and without their waiting."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from benchmarks.report import Case
from benchmarks.service_world import PARTNER
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.sandbox.world import INTERMEDIARIES, build_chains, build_tokens, find_token
from swapdesk.service.access import Caller
from swapdesk.service.app import assemble
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.store import Store
from swapdesk.wire.quotes import QuoteQuery

VENUES = 12
MOST_SECONDS = 0.020
_SPEED = Decimal(200)
"""The exchanges answer soon, so that a run is short; CPU time is the same."""


def run(rounds: int) -> list[Case]:
    """Each of ``rounds`` asks with twelve exchanges and with none, in turn."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> list[Case]:
    times: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        places = {count: Path(scratch) / str(count) for count in (0, VENUES)}
        services = {count: _service(place, count) for count, place in places.items()}
        caller = Caller(PARTNER, PARTNER.keys[0])
        kinds: Sequence[Literal["standard", "private"]] = ("standard", "private")
        for turn in range(rounds + 1):
            for kind in kinds:
                for count, (parts, _) in services.items():
                    begin = time.process_time()
                    await parts.engine.quotes(caller, _query(kind, turn))
                    if turn:
                        times.setdefault((kind, count), []).append(time.process_time() - begin)
        for _, store in services.values():
            await store.close()
    return [
        _case("quote fan-out, 12 standard", "standard", times),
        _case("quote fan-out, private pairs", "private", times),
    ]


def _case(name: str, kind: str, times: dict[tuple[str, int], list[float]]) -> Case:
    added = statistics.median(times[kind, VENUES]) - statistics.median(times[kind, 0])
    count = len(times[kind, VENUES])
    return Case(name, "12 venues", "limit", added, MOST_SECONDS, 1.0, count=count)


def _query(kind: Literal["standard", "private"], turn: int) -> QuoteQuery:
    asked: dict[str, Any] = {
        "amount": Decimal("0.5") + Decimal(turn) / 1000,
        "from": find_token("bitcoin", "BTC").token_id,
        "to": find_token("ethereum", "ETH").token_id,
        "types": [kind],
    }
    return QuoteQuery.model_validate(asked)


def _service(directory: Path, count: int) -> tuple[ServiceParts, Store]:
    directory.mkdir()
    clock, market = SystemClock(), Market(7)
    store = Store.open(directory / "service.db")
    chains = build_chains()
    ledger = LedgerClient("http://127.0.0.1:9/", "never asked for a price")
    parts = assemble(
        clock=clock,
        rng=random.Random(1),
        store=store,
        chains=chains,
        tokens=build_tokens(chains, clock.now()),
        venues=[
            SimulatedExchange(row, market, clock, ledger, lambda: _SPEED)
            for row in VENUE_ROWS[:count]
        ],
        partners=[PARTNER],
        intermediaries=[find_token(*place).token_id for place in INTERMEDIARIES],
    )
    return parts, store
