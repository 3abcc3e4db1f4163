"""What years of completed orders cost: two commands and the connecting of a desk beside many of
them against those beside a few, and the questions about all of them that stand between a quote and
its create."""

from __future__ import annotations

import asyncio
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.homes import DESK, NOWHERE, offline_environment
from benchmarks.report import Case, Figures
from benchmarks.service_world import build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.flows.connection import live_connection
from swapdesk.flows.creation.creates import open_creates
from swapdesk.flows.desk import Desk
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.recipients import last_paid, own_deposits, paid_addresses
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.settings import load_settings, place_of_url
from swapdesk.wire.encoding.ids import new_order_id
from swapdesk.wire.orders import Order

FEW, MANY = 100, 10_000
MOST_OF_FEW = 1.5
MOST_SECONDS = 0.050
MOST_TO_ANSWER = 2.0
_TESTS = Path(__file__).resolve().parent.parent / "tests"


def run(rounds: int) -> list[Case]:
    """``rounds`` commands in each of two homes in turn, their CPU compared."""
    figures = Figures()
    with tempfile.TemporaryDirectory() as scratch:
        orders = asyncio.run(_orders(Path(scratch)))
        few, many = Path(scratch, "few"), Path(scratch, "many")
        for home, count in ((few, FEW), (many, MANY)):
            _fill(home, orders, count)
        for _ in range(rounds):
            for home in (few, many):
                figures.add(home.name, _command_cpu(home, "orders", "show", orders[0].service_id))
                # A deposit address names the order, as a customer does.
                begin = time.perf_counter()
                _command_cpu(home, "why", orders[0].deposit_address)
                figures.add(f"why, {home.name}", time.perf_counter() - begin)
                figures.add(f"desk, {home.name}", asyncio.run(_connecting(home)))
        journal = Journal.open(_journal(many), SystemClock())
        asked = {
            "who was paid": lambda: (paid_addresses(journal), last_paid(journal)),
            "deposit addresses": lambda: own_deposits(journal),
            "what is to be settled": lambda: (
                open_creates(journal.ledger),
                journal.orders.unrepeated(),
            ),
        }
        for name, ask in asked.items():
            for _ in range(rounds):
                figures.add(name, _seconds(ask))
        journal.close()
    command = figures.case(f"orders show beside {MANY:,}", "many", "few", MOST_OF_FEW)
    desk = figures.case(f"desk beside {MANY:,}", "desk, many", "desk, few", MOST_OF_FEW)
    why = figures.case(f"why beside {MANY:,}", "why, many", "why, few", MOST_OF_FEW)
    answered = figures.best("why, seconds", "why, many", MOST_TO_ANSWER)
    return [
        command,
        desk,
        why,
        answered,
        *(figures.best(name, name, MOST_SECONDS) for name in asked),
    ]


async def _orders(scratch: Path) -> list[Order]:
    """As a service tells them, tokens and all."""
    clock = SystemClock()
    chains = build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    store, rows = await stored_orders(scratch, tokens, FEW, clock.now())
    told = build(clock, store, chains, tokens).orders.presentation
    orders = [
        told.order(row).model_copy(
            update={"status": 4, "display_status": "SWAP_COMPLETED", "action_required": False}
        )
        for row in rows
    ]
    await store.close()
    return orders


def _fill(home: Path, orders: list[Order], count: int) -> None:
    """A journal of ``count`` orders that were confirmed here and completed: the first as a desk
    writes them, the others as copies of those under ids of their own."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    from flows.orders import created_here

    path = _journal(home)
    journal = Journal.open(path, SystemClock())
    for one in orders:
        created_here(journal, one)
    journal.orders.record((one, "read", True) for one in orders)
    journal.close()
    rng = random.Random(count)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        for number in range(len(orders), count):
            names = (orders[number % len(orders)].service_id, new_order_id(rng), f"{number:032x}")
            _copy(db, *names)
        db.execute("COMMIT")


def _copy(db: sqlite3.Connection, of: str, order: str, intent: str) -> None:
    """One more order with its create."""
    (was,) = db.execute("SELECT operation FROM orders WHERE service_id = ?", (of,)).fetchone()
    create = {"number": "NULL", "id": f"'{intent}'", "subject": f"'{order}'"}
    made = {
        "number": "NULL",
        "service_id": f"'{order}'",
        "operation": f"'{intent}'",
        "last": f"json_set(last, '$.serviceId', '{order}')",
    }
    for table, key, value, changes in (
        ("operation", "id", was, create),
        ("orders", "service_id", of, made),
    ):
        put = ", ".join(changes.get(one, one) for one in _columns(db, table))
        db.execute(f"INSERT INTO {table} SELECT {put} FROM {table} WHERE {key} = ?", (value,))  # noqa: S608


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def _journal(home: Path) -> Path:
    return Home.at(home).profile(place_of_url(NOWHERE)).journal


def _command_cpu(home: Path, *words: str) -> float:
    """CPU seconds of a command that tells one order."""
    before = _children()
    subprocess.run(
        [*DESK, *words, "--json"],
        env=offline_environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return _children() - before


async def _connecting(home: Path) -> float:
    """Seconds until a desk that follows its orders is connected to a service it has not asked."""
    desk = Desk.open(load_settings(offline_environment(home), Home.at(home)))
    begin = time.perf_counter()
    await desk.connect(live_connection(desk.settings))
    passed = time.perf_counter() - begin
    await desk.close()
    return passed


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return time.perf_counter() - begin
