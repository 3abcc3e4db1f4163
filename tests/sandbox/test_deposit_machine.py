"""Any history of deposits, faults, outages and restarts: money is kept and states go forward.

The real store, order desk and worker over real simulated exchanges and a real node, all in this
process. ``--full`` runs many more and longer histories. Faults that are set at random hardly ever
meet money, so that one rule plays a fault from the deposit to the end of its order.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import tempfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sandbox.test_node import audit
from service.orders_fixtures import EVERYTHING, START, caller
from swapdesk.chain.node_http import NodeRefused, NodeUnreachable
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.exchange import DOWN, SimulatedExchange
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.node import Node, NodeApp
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.sandbox.world import build_chains, build_tokens, find_token, seed_bytes
from swapdesk.service.app import assemble
from swapdesk.service.errors import ServiceError
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.numbers import to_base_units
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.faults import ORDER_FAULTS
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.quotes import QuoteQuery

BTC, ETH = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
CHAINS = build_chains()
TOKENS = build_tokens(CHAINS, START)
MIDDLES = [find_token("monero", "XMR").token_id, find_token("solana", "SOL").token_id]
VENUES = ("cb", "hy", "ar", "sx")
ROWS = [row for row in VENUE_ROWS if row.code in VENUES]
LEGS = st.sampled_from(["in", "out"])
TERMINAL = (OrderStatusCode.FINISHED, OrderStatusCode.REFUNDED, OrderStatusCode.DELETED)
SPOILT = sorted(fault.name for fault in ORDER_FAULTS)


class StillClock(SystemClock):
    """Moves by its offset alone, as the node moves it; nothing that is timed ever runs out."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.offset)

    def monotonic(self) -> float:
        return 1_000.0 + self.offset

    async def sleep(self, seconds: float) -> None:
        await (asyncio.sleep(0) if seconds <= 0 else asyncio.Event().wait())


class PromptClock:
    """The same time for exchanges that answer at once."""

    def __init__(self, clock: StillClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class DepositMachine(RuleBasedStateMachine):
    """A service over four exchanges, and their node."""

    issued: Path
    """The file of a new node: issuing the world's money takes longer than most histories."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(prefix="deposits"))
        self.clock = StillClock()
        self.rng = random.Random(5)
        self.faults = ActiveFaults()
        self.seen: dict[str, StoredOrder] = {}
        self.paid: dict[str, int] = {}
        shutil.copy(self.issued, self.directory / "node.db")
        self._open()

    def _open(self) -> None:
        market = Market(7)
        self.node = Node(self.directory / "node.db", self.clock, seed=7, speed=Decimal(1))
        transport = httpx2.ASGITransport(app=NodeApp(self.node, "secret"))
        self.ledger = LedgerClient("http://127.0.0.1/", "secret", transport=transport)
        self.store = Store.open(self.directory / "service.db")
        prompt, speed = PromptClock(self.clock), Decimal(1)
        exchanges = [
            SimulatedExchange(row, market, prompt, self.ledger, lambda: speed, self.faults)
            for row in ROWS
        ]
        self.service = assemble(
            self.clock, self.rng, self.store, CHAINS, TOKENS, exchanges, (), MIDDLES
        )

    def _close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.run(self.ledger.close())
        self.node.close()

    def teardown(self) -> None:
        try:
            if self.seen:
                self._come_to_rest()
        finally:
            self._close()
            self.runner.close()
            shutil.rmtree(self.directory)

    def _rows(self) -> list[StoredOrder]:
        listed, _ = self.runner.run(self.store.orders.page(*EVERYTHING))
        return [each.read() for each in listed]

    def _row(self, service_id: str) -> StoredOrder:
        return next(row for row in self._rows() if row.service_id == service_id)

    def _chosen(self, which: int) -> StoredOrder:
        rows = self._rows()
        return rows[which % len(rows)]

    def _pass(self, seconds: int) -> None:
        """Let time pass; the worker looks at what is due, as often as it likes."""

        async def do() -> None:
            await self.ledger.call("clock_set", advance=Decimal(seconds))
            for _ in range(4):
                if not await self.service.worker.step(self.clock.now()):
                    break

        self.runner.run(do())

    # What happens

    @initialize()
    def begin_with_an_order(self) -> None:
        self.create("standard", fixed=False, refund=True)

    @rule(route=st.sampled_from(["standard", "private"]), fixed=st.booleans(), refund=st.booleans())
    def create(self, route: str, fixed: bool, refund: bool) -> None:
        self._create(route, fixed, refund)

    def _create(self, route: str, fixed: bool, refund: bool) -> StoredOrder | None:
        """An order whose receiver and refund address are its own; None where nobody has one."""

        async def do() -> str | None:
            query = QuoteQuery.model_validate(
                {"from": BTC.token_id, "to": ETH.token_id, "amount": "0.1", "types": [route]}
                | ({"fixed": "true"} if fixed else {})
            )
            quotes = await self.service.engine.quotes(caller(), query)
            usable = next((quote for quote in quotes.quotes if quote.error is None), None)
            if usable is None or usable.quote_id is None:
                return None
            number = f"{len(self.seen)} {usable.quote_id}"
            request = ExchangeRequest(
                quote_id=usable.quote_id,
                address_to=ETH.chain.address(seed_bytes("receiver", number)),
                refund_address=(
                    BTC.chain.address(seed_bytes("refund", number)) if refund or fixed else None
                ),
            )
            try:
                order = await self.service.orders.create(caller(), request, "exchange")
            except ServiceError as error:
                if error.status not in (409, 502, 503):
                    raise
                return None
            return order.service_id

        created = self.runner.run(do())
        return None if created is None else self._row(created)

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99), share=st.sampled_from(["0.0001", "0.5", "1", "1", "1", "2"]))
    def deposit(self, which: int, share: str) -> None:
        self._deposit(self._chosen(which), Decimal(share))

    def _deposit(self, order: StoredOrder, share: Decimal) -> None:
        if order.deposit_address is None:
            return
        units = to_base_units((order.amount_in * share).quantize(Decimal("1e-8")), 8)
        number = self.paid.get(order.service_id, 0) + 1
        params: dict[str, Any] = {
            "key": f"{order.service_id} {number}",
            "token": BTC.token_id,
            "address": order.deposit_address,
            "tag": order.deposit_tag,
            "units": str(units),
        }

        async def do() -> None:
            await self.ledger.call("faucet_pay", **params)
            self.paid[order.service_id] = number

        with contextlib.suppress(NodeUnreachable):  # the node of the chain is down
            self.runner.run(do())

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99), name=st.sampled_from(SPOILT), leg=LEGS)
    def spoil(self, which: int, name: str, leg: str) -> None:
        asked = {"serviceId": self._chosen(which).service_id, "fault": name, "leg": leg}
        self._asked(**asked)

    @rule(venue=st.sampled_from(VENUES), down=st.booleans())
    def outage(self, venue: str, down: bool) -> None:
        self.faults.active.clear()
        if down:
            self.faults.set(DOWN, "venue", venue)

    @rule(down=st.booleans())
    def chain_outage(self, down: bool) -> None:
        if down:
            self._asked(fault="node_down", chain="bitcoin", times=2)

    def _asked(self, **params: Any) -> None:
        async def do() -> None:
            try:
                await self.ledger.call("fault_add", **params)
            except NodeRefused as refused:
                if not str(refused):
                    raise

        self.runner.run(do())

    @rule(
        name=st.sampled_from(SPOILT),
        leg=LEGS,
        route=st.sampled_from(["standard", "private"]),
        fixed=st.booleans(),
        refund=st.booleans(),
    )
    def fault_from_deposit_to_end(
        self, name: str, leg: str, route: str, fixed: bool, refund: bool
    ) -> None:
        """An order whose deposit arrives under a fault, and everything until it is over."""
        self.faults.active.clear()
        order = self._create(route, fixed, refund)
        if order is None:
            return
        asked = {"serviceId": order.service_id, "leg": leg}
        self._asked(fault=name, **asked)
        self._deposit(order, Decimal(1))
        for _ in range(40):
            self._pass(600)
            if _is_over(self._row(order.service_id)):
                break
            self._asked(fault="release", **asked)
        self._says_where_the_money_is(self._row(order.service_id))

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def delete(self, which: int) -> None:
        self.runner.run(delete_order(self.store, self._chosen(which), self.clock.now()))

    @rule(seconds=st.sampled_from([0, 10, 60, 300, 600, 1800]))
    def time_passes(self, seconds: int) -> None:
        self._pass(seconds)

    @rule()
    def restart(self) -> None:
        self._close()
        self._open()

    def _come_to_rest(self) -> None:
        """Without faults every order ends, and no deposit is lost without a word."""
        self.faults.active.clear()
        self.runner.run(self.ledger.call("fault_clear"))
        for _ in range(24):
            self._pass(600)
        self.states_go_forward()
        assert audit(self.node) == []
        self.nobody_is_paid_twice()
        for row in self._rows():
            self._says_where_the_money_is(row)

    def _says_where_the_money_is(self, row: StoredOrder) -> None:
        """An order that is over and kept what arrived says that somebody has to act."""
        assert row.status >= OrderStatusCode.FINISHED, row
        if row.status in (OrderStatusCode.EXPIRED, OrderStatusCode.FAILED):
            arrived = self.paid.get(row.service_id, 0) > 0
            assert (row.detail.get("actionRequired") is True) == arrived, row

    # What holds

    @invariant()
    def states_go_forward(self) -> None:
        for row in self._rows():
            past = self.seen.get(row.service_id)
            if past is not None:
                assert row.rank >= past.rank
                assert past.status not in TERMINAL or row.status == past.status
                assert past.deposit_address in (None, row.deposit_address)
            self.seen[row.service_id] = row
            assert ("finished" in row.detail) == (row.status == OrderStatusCode.FINISHED)
            assert not row.fixed or row.detail.get("rerouted") is not True

    @invariant()
    def no_unit_of_what_moved_is_lost_or_made(self) -> None:
        assert audit(self.node, "WHERE token IN (SELECT DISTINCT token FROM payments)") == []

    @invariant()
    def nobody_is_paid_twice(self) -> None:
        for row in self._rows():
            payouts = self._received(row.receiver_address)
            refunds = self._received(row.refund_address)
            deposits = self.paid.get(row.service_id, 0)
            assert payouts <= min(1, deposits)
            assert payouts + refunds <= deposits + (1 if row.fixed else 0), "the excess goes back"
            if row.status == OrderStatusCode.FINISHED:
                assert payouts == 1
            if row.status == OrderStatusCode.REFUNDED:
                assert (payouts, refunds > 0) == (0, True)

    def _received(self, address: str | None) -> int:
        query = "SELECT COUNT(*) FROM payments WHERE receiver = ?"
        (count,) = self.node.database.connection.execute(query, (address or "",)).fetchone()
        return int(count)


def _is_over(row: StoredOrder) -> bool:
    """Whether nothing more becomes of a deposit by itself."""
    return row.status in TERMINAL or row.detail.get("actionRequired") is True


@pytest.mark.timeout(1800)
def test_any_history_of_deposits(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    DepositMachine.issued = tmp_path / "node.db"
    Node(DepositMachine.issued, StillClock(), seed=7, speed=Decimal(1)).close()
    full = request.config.getoption("--full", default=False)
    run_state_machine_as_test(
        DepositMachine,
        settings=settings(
            max_examples=150 if full else 6,
            stateful_step_count=40 if full else 14,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
