"""Any history of creates, venue events, crashes and time keeps the promises of an order."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import tempfile
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

import databases
from sampling import examples
from service.blade import Blade, Cut, CutVenue, cut_desk
from service.new_store import announced, stores_of
from service.orders_fixtures import ALICE, BOB, EVERYTHING, EVM, START, Floor, caller, exchange
from swapdesk.clock import ManualClock
from swapdesk.service.errors import ServiceError
from swapdesk.service.orders.states import allowed
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.orders import LegStatus, Order


class OrderMachine(RuleBasedStateMachine):
    """The service over a real store; the venues go on whatever happens to it."""

    engine: databases.Name = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.stores = contextlib.ExitStack()
        self.stores.enter_context(stores_of(self.engine))
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(prefix="orders"))
        self.clock = ManualClock(START)
        self.adapters = [
            CutVenue("aa", "Alpha", spread="0.004"),
            CutVenue("bb", "Beta", spread="0.006"),
            CutVenue("cc", "Gamma", spread="0.008"),
        ]
        self.rng = random.Random(11)
        self.floor = self._floor()
        self.quotes: dict[str, StoredQuote] = {}
        self.seen: dict[str, StoredOrder] = {}

    def _floor(self) -> Floor:
        # One generator for all lives: ids that start over would be ids twice.
        return Floor(self.directory / "service.db", self.clock, self.adapters, self.rng)

    def teardown(self) -> None:
        self.runner.run(self.floor.store.close())
        self.runner.close()
        self.stores.close()
        shutil.rmtree(self.directory)

    def _rows(self) -> list[StoredOrder]:
        rows, total = self.runner.run(self.floor.store.orders.page(*EVERYTHING))
        assert total == len(rows)
        return [row.read() for row in rows]

    async def _asked(
        self, quote: StoredQuote, **body: str
    ) -> tuple[Order | None, ServiceError | None]:
        try:
            order = await self.floor.desk.create(caller(), exchange(quote, **body), "exchange")
        except ServiceError as error:
            return None, error
        return order, None

    # What happens

    @rule(
        route=st.sampled_from(["standard", "private"]),
        refund=st.sampled_from([{}, {"refund_address": EVM}]),
        trouble=st.sampled_from(["none", "reject", "lose", "reject all"]),
    )
    def create(self, route: str, refund: dict[str, str], trouble: str) -> None:
        async def do() -> None:
            quote = await self.floor.quote(route=route)
            self.quotes[quote.quote_id] = quote
            venue = self.floor.venue(quote.legs[0])
            venue.trouble.rejections = 1 if trouble == "reject" else 0
            venue.trouble.answers_lost = 1 if trouble == "lose" else 0
            for other in self.adapters:
                other.trouble.reject = trouble == "reject all"
            _, refused = await self._asked(quote, **refund)
            assert refused is None or refused.status in (502, 503)
            for other in self.adapters:
                other.trouble = replace(other.trouble, reject=False, rejections=0, answers_lost=0)

        self.runner.run(do())

    @rule(at=st.integers(1, 5), after=st.booleans(), route=st.sampled_from(["standard", "private"]))
    def die_while_creating(self, at: int, after: bool, route: str) -> None:
        async def do() -> None:
            quote = await self.floor.quote(route=route)
            self.quotes[quote.quote_id] = quote
            floor, blade = self.floor, Blade(at, after=after)
            desk = cut_desk(floor, blade, self.rng)
            for venue in self.adapters:
                venue.blade = blade
            with contextlib.suppress(Cut):
                await desk.create(caller(), exchange(quote), "exchange")
            for venue in self.adapters:
                venue.blade = None
            await floor.store.close()

        self.runner.run(do())
        self.floor = self._floor()

    @precondition(lambda self: self.quotes)
    @rule(which=st.integers(0, 1000))
    def repeat_a_create(self, which: int) -> None:
        quote = list(self.quotes.values())[which % len(self.quotes)]
        before = self.runner.run(self.floor.store.orders.of_quote(ALICE.partner_id, quote.quote_id))
        if before is not None and before.status < 0:
            return
        order, refused = self.runner.run(self._asked(quote))
        assert refused is None or refused.status in (422, 502)
        if order is not None and before is not None:
            assert order.service_id == before.service_id

    @rule(
        which=st.integers(0, 1000),
        status=st.sampled_from(LegStatus),
        arrived=st.booleans(),
        paid=st.sampled_from([None, Decimal("0.016")]),
    )
    def tell(self, which: int, status: LegStatus, arrived: bool, paid: Decimal | None) -> None:
        keys = sorted((key, n) for n, venue in enumerate(self.adapters) for key in venue.keys)
        if not keys:
            return
        key, number = keys[which % len(keys)]
        self.adapters[number].tell(key, LegReport(status, amount_out=paid, deposit_arrived=arrived))

    @rule(which=st.integers(0, 2), silent=st.booleans())
    def fall_silent(self, which: int, silent: bool) -> None:
        self.adapters[which].trouble.silent = silent

    @rule(seconds=st.sampled_from([1, 5, 12, 60, 600, 1800, 6 * 3600, 47 * 3600]))
    def work(self, seconds: int) -> None:
        self.runner.run(self.floor.work(seconds))

    @rule()
    def sweep(self) -> None:
        self.runner.run(self.floor.worker.sweep(self.clock.now()))

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.floor.store.close())
        self.floor = self._floor()

    # What holds

    @invariant()
    def nothing_goes_back(self) -> None:
        rows = self._rows()
        for row in rows:
            past = self.seen.get(row.service_id)
            if past is not None:
                assert row.rank >= past.rank
                assert row.version >= past.version
                assert (row.version == past.version) <= (row.status == past.status)
                assert past.status not in (4, 7, 8) or row.status == past.status
                assert past.deposit_address in (None, row.deposit_address)
            self.seen[row.service_id] = row
            assert ("finished" in row.detail) == (row.status == 4)
        assert set(self.seen) == {row.service_id for row in rows}

    @invariant()
    def one_order_per_quote_and_one_deposit_per_order(self) -> None:
        rows = self._rows()
        assert len({row.quote_id for row in rows}) == len(rows)
        known = {row.service_id for row in rows}
        openings = self.floor.openings
        assert len(openings) == len(set(openings))
        assert {key.partition(":")[0] for key in openings} <= known
        for row in rows:
            paid = [k for k in openings if k.startswith(f"{row.service_id}:in")]
            assert (row.deposit_address is not None) <= (len(paid) == 1)

    @invariant()
    def the_outbox_tells_every_step(self) -> None:
        told: dict[str, list[tuple[int, int]]] = {}
        for entry in self.runner.run(announced(self.floor.store)):
            told.setdefault(entry.service_id, []).append((entry.version, entry.status))
        for row in self._rows():
            if self.clock.now() - row.modified > timedelta(hours=47):
                continue
            steps = told.get(row.service_id, [])
            assert [v for v, _ in steps] == sorted({v for v, _ in steps})
            for (_, before), (_, after) in pairwise(steps):
                assert before == after or allowed(before, after, row.route)
            if row.status != -2:
                assert steps[-1] == (row.version, row.status)

    @invariant()
    def only_the_owner_sees_it_and_only_for_48_hours(self) -> None:
        now = self.clock.now()
        visible = {r.service_id for r in self._rows() if now - r.created <= timedelta(hours=48)}
        mine = self.runner.run(self.floor.listed(caller()))
        assert {order.service_id for order in mine.orders} == visible
        theirs = self.runner.run(self.floor.listed(caller(BOB)))
        assert theirs.total == 0
        for service_id in self.seen:
            found = self.runner.run(self.floor.desk.find(ALICE.partner_id, service_id))
            assert (found is not None) == (service_id in visible)


class OrderMachineOverPostgres(OrderMachine):
    engine = "postgres"


@pytest.mark.parametrize(
    ("machine", "tries"),
    [(OrderMachine, examples(40)), (OrderMachineOverPostgres, examples(40) // 2)],
)
def test_orders_come_to_one_end_whatever_happens(machine: type[OrderMachine], tries: int) -> None:
    size = settings(max_examples=tries, stateful_step_count=25, deadline=None, print_blob=True)
    run_state_machine_as_test(machine, settings=size)
