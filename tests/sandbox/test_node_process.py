"""The node as a process: killed in the middle of work, and asked by strangers."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.rpc.ledger import (
    LedgerClient,
    LedgerMethod,
    LedgerUncertain,
    LedgerUnreachable,
    RpcCode,
)
from swapdesk.clock import SystemClock
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.processes import listen
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import (
    build_chains,
    build_tokens,
    find_token,
    seed_bytes,
)
from swapdesk.service.venues.adapter import (
    Ambiguous,
    LegOrder,
    LegReport,
    Rejected,
    Transient,
    Unavailable,
    VenueQuote,
)
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

TOKENS = {token.id: token for token in build_tokens(build_chains(), SystemClock().now())}
BTC = TOKENS[find_token("bitcoin", "BTC").token_id]
ETH = TOKENS[find_token("ethereum", "ETH").token_id]
HALYARD = VENUE_ROWS[0]


class NodeProcess(Struct):
    """A node that can be killed and started again on the same port and data."""

    data: Path
    listener: socket.socket = field(default_factory=lambda: listen("127.0.0.1", 0))
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk.sandbox.node"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[self.listener.fileno()],
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        orders = {
            "fd": self.listener.fileno(),
            "token": "secret",
            "data": str(self.data),
            "seed": 7,
            "speed": "3000",
        }
        self.process.stdin.write(json.dumps(orders).encode() + b"\n")
        self.process.stdin.flush()
        assert json.loads(self.process.stdout.readline())["ready"] is True

    def kill(self) -> None:
        self.process.kill()
        self.collect()

    def collect(self) -> None:
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeProcess]:
    started = NodeProcess(tmp_path)
    started.start()
    yield started
    if started.process is not None and started.process.poll() is None:
        started.kill()
    started.listener.close()


def exchange(ledger: LedgerClient, row: Any = HALYARD) -> SimulatedExchange:
    return SimulatedExchange(row, Market(7), SystemClock(), ledger, lambda: Decimal(3000))


def leg(key: str, token_in: Token = BTC, token_out: Token = ETH, amount: str = "0.5") -> LegOrder:
    receiver = derive_address(token_out.chain_data.kind, seed_bytes("receiver", key))
    expires = SystemClock().now() + timedelta(minutes=30)
    return LegOrder(
        key, token_in, token_out, Decimal(amount), Decimal(1), receiver, None, None, None, expires
    )


async def finished(venue: SimulatedExchange, key: str) -> LegReport:
    for _ in range(500):
        report = await venue.report(key)
        if report is not None and report.status is LegStatus.FINISHED:
            return report
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"{key} did not finish")


async def test_the_whole_life_of_a_leg_and_the_bounds_of_an_exchange(node: NodeProcess) -> None:
    async with LedgerClient(node.url, "secret") as ledger:
        venue = exchange(ledger)
        quote = await venue.quote(BTC, ETH, Decimal("0.5"))
        assert isinstance(quote, VenueQuote)
        place = await venue.open(leg("a:in"))
        assert place == await venue.open(leg("a:in")) == await venue.find("a:in")
        assert place.amount_in == Decimal("0.5")
        assert await venue.find("b:in") is None
        assert await venue.report("b:in") is None
        waiting = await venue.report("a:in")
        assert waiting.status is LegStatus.WAITING
        await ledger.call(
            LedgerMethod.FAUCET_PAY, key="1", token=BTC.id, address=place.address, units="50000000"
        )
        report = await finished(venue, "a:in")
        assert (report.amount_in, report.amount_out) == (Decimal("0.5"), place.amount_out)
        assert report.payout_hash is not None
        low = await venue.quote(BTC, ETH, Decimal("0.00001"))
        high = await venue.quote(BTC, ETH, Decimal(100))
        assert isinstance(low, Unavailable)
        assert isinstance(high, Unavailable)
        assert "below minimum" in low.reason
        assert low.limits == high.limits == venue.limits(BTC, ETH)
        with pytest.raises(Rejected):
            await venue.open(leg("c:in", amount="0.00001"))
        assert not venue.supports(BTC, BTC)
        tide = TOKENS[find_token("arbitrum", "TIDE").token_id]
        assert isinstance(await venue.quote(BTC, tide, Decimal(1)), Unavailable)
        assert venue.limits(BTC, tide) is None


async def test_a_dead_node_is_transient_and_a_silent_one_ambiguous(node: NodeProcess) -> None:
    node.kill()
    async with LedgerClient(node.url, "secret", deadline=0.3) as ledger:
        # The listening socket lives on, so that the request leaves and no answer comes.
        venue = exchange(ledger)
        with pytest.raises(Ambiguous):
            await venue.open(leg("a:in"))
        with pytest.raises(Transient):
            await venue.find("a:in")
    url = node.url
    node.listener.close()
    async with LedgerClient(url, "secret", deadline=1) as ledger:
        with pytest.raises(LedgerUnreachable):
            await ledger.call(LedgerMethod.CLOCK_GET)
        with pytest.raises(Transient):
            await exchange(ledger).open(leg("a:in"))


async def test_strangers_are_refused(node: NodeProcess) -> None:
    async with LedgerClient(node.url, "wrong") as ledger:
        with pytest.raises(LedgerUncertain, match="401"):
            await ledger.call(LedgerMethod.CLOCK_GET)
    headers = {"sandbox-token": "secret"}
    async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as http:
        rebound = await http.post(node.url, headers={**headers, "host": "evil.example"})
        assert rebound.status_code == 421
        foreign = await http.post(node.url, headers={**headers, "origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert (await http.get(node.url, headers=headers)).status_code == 405
        large = await http.post(node.url, headers=headers, content=b" " * 70_000)
        assert large.status_code == 413


BAD_CALLS = [
    (b"no json", RpcCode.BAD_JSON),
    (b"[]", RpcCode.BAD_REQUEST),
    (b'{"method": "clock_get", "params": []}', RpcCode.BAD_REQUEST),
    (b'{"method": "steal"}', RpcCode.NO_METHOD),
    (b'{"method": "clock_get", "params": {"x": 1}}', RpcCode.BAD_PARAMS),
    (b'{"method": "clock_set", "params": {"speed": 0}}', RpcCode.BAD_PARAMS),
    (b'{"method": "clock_set", "params": {"advance": -1}}', RpcCode.BAD_PARAMS),
    (
        b'{"method": "faucet_pay", "params": {"key": "k", "token": "'
        + b"a" * 24
        + b'", "address": "x", "units": "1"}}',
        RpcCode.REFUSED,
    ),
    (
        b'{"method": "faucet_pay", "params": {"key": "k", "token": "'
        + b"a" * 24
        + b'", "address": "x", "units": "1.5"}}',
        RpcCode.BAD_PARAMS,
    ),
]


async def test_bad_calls_are_answered_with_their_code_and_it_ends_with_its_starter(
    node: NodeProcess, subtests: pytest.Subtests
) -> None:
    async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as http:
        for body, code in BAD_CALLS:
            with subtests.test(body=body):
                headers = {"sandbox-token": "secret"}
                answer = await http.post(node.url, headers=headers, content=body)
                assert answer.status_code == 200
                assert answer.json()["error"]["code"] == code
    node.process.stdin.close()
    assert await asyncio.to_thread(node.process.wait, 2) == 0
    node.collect()


def test_a_node_without_orders_ends() -> None:
    command = [sys.executable, "-m", "swapdesk.sandbox.node"]
    assert (
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode
        == 1
    )
