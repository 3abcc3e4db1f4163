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

import httpx2
import pytest
from msgspec import Struct, field
from solders.keypair import Keypair

from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.rpc.ledger import (
    LedgerClient,
    LedgerMethod,
    LedgerUncertain,
    LedgerUnreachable,
    RpcCode,
)
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.processes import listen
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.sandbox.world import (
    build_chains,
    build_tokens,
    find_token,
    seed_bytes,
)
from swapdesk.service.venues.adapter import (
    Ambiguous,
    LegOrder,
    Transient,
)

TOKENS = {token.id: token for token in build_tokens(build_chains(), SystemClock().now())}
BTC = TOKENS[find_token("bitcoin", "BTC").token_id]
ETH = TOKENS[find_token("ethereum", "ETH").token_id]


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
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeProcess]:
    started = NodeProcess(tmp_path)
    started.start()
    yield started
    if started.process is not None and started.process.poll() is None:
        started.kill()
    started.listener.close()


async def test_what_its_chains_have_told_survives_it(node: NodeProcess) -> None:
    address, payee = "0x" + "5a" * 20, str(Keypair().pubkey())
    async with (
        LedgerClient(node.url, "secret", deadline=30) as ledger,
        EvmClient(f"{node.url}evm/polygon", deadline=30) as polygon,
        SolanaClient(f"{node.url}solana", deadline=30, commitment="processed") as solana,
    ):
        asked = {"chain": "polygon", "address": address, "units": "12345"}
        paid = (await ledger.call(LedgerMethod.FUND, **asked))["hash"]
        sent = await ledger.call(LedgerMethod.FUND, chain="solana", address=payee, units=str(10**9))
        receipt = None
        while receipt is None:
            receipt = await polygon.receipt(paid)
        node.kill()
        node.start()
        assert await polygon.receipt(paid) == receipt
        assert await polygon.balance(address) == 12_345
        assert await solana.status(sent["signature"]) is not None
        assert await solana.balance(payee) == 10**9


async def test_a_dead_node_is_transient_and_a_silent_one_ambiguous() -> None:
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    expires = SystemClock().now() + timedelta(minutes=30)
    receiver = derive_address("evm", seed_bytes("receiver"))
    leg = LegOrder(
        "a:in", BTC, ETH, Decimal("0.5"), Decimal(1), receiver, None, None, None, expires
    )
    async with LedgerClient(url, "secret", deadline=0.3) as ledger:
        venue = SimulatedExchange(
            VENUE_ROWS[0], Market(7), SystemClock(), ledger, lambda: Decimal(3000)
        )
        # The socket of a killed node lives on, so that the request leaves and no answer comes.
        with pytest.raises(Ambiguous):
            await venue.open(leg)
        with pytest.raises(Transient):
            await venue.find("a:in")
        listener.close()
        with pytest.raises(LedgerUnreachable):
            await ledger.call(LedgerMethod.CLOCK_GET)
        with pytest.raises(Transient):
            await venue.open(leg)


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


async def test_strangers_and_bad_calls_are_refused_and_it_ends_with_its_starter(
    node: NodeProcess, subtests: pytest.Subtests
) -> None:
    headers = {"sandbox-token": "secret"}
    async with LedgerClient(node.url, "wrong") as ledger:
        with pytest.raises(LedgerUncertain, match="401"):
            await ledger.call(LedgerMethod.CLOCK_GET)
    async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as http:
        for more, status in (({"host": "evil.example"}, 421), ({"origin": "https://a.b"}, 403)):
            answer = await http.post(node.url, headers={**headers, **more})
            assert answer.status_code == status
        assert (await http.get(node.url, headers=headers)).status_code == 405
        large = await http.post(node.url, headers=headers, content=b" " * 70_000)
        assert large.status_code == 413
        for body, code in BAD_CALLS:
            with subtests.test(body=body):
                answer = await http.post(node.url, headers=headers, content=body)
                assert answer.status_code == 200
                assert answer.json()["error"]["code"] == code
    node.process.stdin.close()
    assert await asyncio.to_thread(node.process.wait, 2) == 0
    node.collect()


@pytest.mark.parametrize("told", [True, False])
def test_a_starter_that_left_hears_nothing_and_is_not_complained_of(
    tmp_path: Path, told: bool
) -> None:
    """``told``: it had time to say what is to be done."""
    with listen("127.0.0.1", 0) as listener:
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk.sandbox.node"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
        process.stdout.close()
        if told:
            orders = {"fd": listener.fileno(), "token": "secret", "data": str(tmp_path), "seed": 7}
            process.stdin.write(json.dumps(orders).encode() + b"\n")
            process.stdin.flush()
            # It serves, and says so, before the end of its pipe is seen.
            httpx2.get(
                f"http://127.0.0.1:{listener.getsockname()[1]}",
                timeout=PATIENCE,
                trust_env=False,
                verify=PLAIN,
            )
        process.stdin.close()
        with process.stderr as words:
            assert words.read() == b""
        assert process.wait(PATIENCE) == (0 if told else 1)
