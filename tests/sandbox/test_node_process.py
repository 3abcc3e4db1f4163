"""The node at its door: silent, dead, asked by strangers, and left by its starter; and what it
tells the service by itself, over the wire, bounded, and never in the way of its work.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from standardwebhooks import Webhook

import manual_time
from harness import wait_for
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.running import Running
from sandbox.traffic import Traffic, bundle
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.node_http import NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.ledger import LedgerClient, RpcCode
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.node import MOST_WAITING, WAITS, EventSender, Node, NodeApp
from swapdesk.sandbox.partner_keys import webhook_secret
from swapdesk.sandbox.processes import listen
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.sandbox.world import build_chains, build_tokens, find_token, seed_bytes
from swapdesk.service.venues.adapter import Ambiguous, LegOrder, Transient

TOKENS = {token.id: token for token in build_tokens(build_chains(), SystemClock().now())}
BTC = TOKENS[find_token("bitcoin", "BTC").token_id]
ETH = TOKENS[find_token("ethereum", "ETH").token_id]


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
        with pytest.raises(NodeUnreachable):
            await ledger.call("clock_get")
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


async def test_strangers_and_bad_calls_are_refused(node: Node, subtests: pytest.Subtests) -> None:
    url, headers = "http://127.0.0.1/", {"sandbox-token": "secret"}
    door = httpx2.ASGITransport(app=NodeApp(node, "secret"))
    async with LedgerClient(url, "wrong", transport=door) as ledger:
        with pytest.raises(NodeUncertain, match="401"):
            await ledger.call("clock_get")
    async with httpx2.AsyncClient(transport=door) as http:
        for more, status in (({"host": "evil.example"}, 421), ({"origin": "https://a.b"}, 403)):
            answer = await http.post(url, headers={**headers, **more})
            assert answer.status_code == status
        assert (await http.get(url, headers=headers)).status_code == 405
        large = await http.post(url, headers=headers, content=b" " * 70_000)
        assert large.status_code == 413
        for body, code in BAD_CALLS:
            with subtests.test(body=body):
                answer = await http.post(url, headers=headers, content=body)
                assert answer.status_code == 200
                assert answer.json()["error"]["code"] == code


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
        code = process.wait(PATIENCE)
        # A busy machine may outlast the grace of one that serves: it then ends the hard way.
        assert told or code == 1


KEY = bytes(32)


def test_exchanges_and_bundler_tell_the_service_of_what_they_carry_out(running: Running) -> None:
    """Of each operation of a bundle that pays for orders, and of these orders; each is signed by
    its source, and was known to nobody before."""
    venues = {row.code for row in VENUE_ROWS}

    def taken() -> Counter[str]:
        with closing(sqlite3.connect(running.data / "service.db")) as db:
            return Counter(row[0] for row in db.execute("SELECT source FROM webhooks"))

    before = taken()
    bundle(Traffic(running, random.Random(2)), 70_000)
    wait_for(lambda: (taken() - before)["bundler"] >= 2, "the events of the bundler")
    wait_for(lambda: venues & (taken() - before).keys(), "an event of an exchange")


class Service(httpx2.AsyncBaseTransport):
    """Takes events, or is not there."""

    def __init__(self) -> None:
        self.down = False
        self.tries: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.tries.append(request)
        if self.down:
            raise httpx2.ConnectError("nobody is there", request=request)
        return httpx2.Response(200, json={"received": True})


async def test_events_are_tried_a_few_times_and_wait_in_a_bounded_queue() -> None:
    service, clock = Service(), ManualClock()
    url = "http://127.0.0.1:9/v2"
    sender = EventSender(url, KEY, clock, random.Random(1), service)
    service.down = True
    running = asyncio.create_task(sender.run())
    try:
        sender.tell("aa", "orderId", "first:in")
        await manual_time.rest()
        for number in range(2 * MOST_WAITING):
            sender.tell("aa", "orderId", f"{number}:in")
            sender.tell("aa", "orderId", f"{number}:in")
        assert len(sender._waiting) == MOST_WAITING
        for _ in WAITS:
            clock.advance_to_next()
            await manual_time.rest()
        ids = [each.headers["webhook-id"] for each in service.tries]
        assert ids[: len(WAITS) + 1] == ids[:1] * (len(WAITS) + 1)
        assert ids[len(WAITS) + 1] != ids[0], "and then it is the next one's turn"
        stamps = [each.headers["webhook-timestamp"] for each in service.tries]
        assert stamps[0] != stamps[len(WAITS)], "each try is signed anew"
        service.down = False
        clock.advance_to_next()
        await manual_time.rest()
        assert len(sender._waiting) == 0
        last = service.tries[-1]
        assert last.url == f"{url}/webhooks/aa"
        at = datetime.fromtimestamp(int(last.headers["webhook-timestamp"]), UTC)
        mine = Webhook(webhook_secret(KEY, "aa"))
        signed = mine.sign(last.headers["webhook-id"], at, last.content.decode())
        assert last.headers["webhook-signature"] == signed
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
