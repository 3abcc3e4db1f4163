"""A service as its operator runs it: commands over one file and one PostgreSQL database, on one
machine, each of which can be ended and started again on its port while callers go on.

``serve --config`` trades on chains alone, so its node is a ``swapdesk node``, whose treasury is the
trader.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from eth_account import Account
from eth_account.signers.local import LocalAccount
from msgspec import Struct, field

from cli.desks import run_here
from harness import environment
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.service_files import BASE, written
from swapdesk.sandbox.evm_world.genesis import TREASURY
from swapdesk.sandbox.node.evm.genesis import sandbox_key
from swapdesk.sandbox.partner_keys import load_key

ANY = "1000000/1000000/1000000"
"""Calls a minute, an hour and a day."""


class Trader(Struct):
    """An account with coins on Base, and a partner of the service that has no limits."""

    rpc: str
    chain_id: int
    account: LocalAccount
    headers: dict[str, str]
    nonces: Iterator[int] = field(default_factory=itertools.count)
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def query(self) -> dict[str, str]:
        """Of a quote."""
        pair = {"from": BASE["ETH"].token_id, "to": BASE["USDC"].token_id, "amount": "0.01"}
        return {**pair, "types": "dex", "senderAddress": self.account.address, "slippage": "50"}

    def body(self, quote: dict[str, Any]) -> dict[str, str]:
        """Of a create."""
        own = self.account.address
        return {"quoteId": quote["quoteId"], "addressTo": own, "addressFrom": own}

    async def pay(self, node: httpx2.AsyncClient, order: dict[str, Any]) -> str:
        """The hash of the order's transaction, which was sent."""
        call = order["metadata"]
        async with self.sending:
            signed = self.account.sign_transaction(
                {
                    "to": call["to"],
                    "data": call["data"],
                    "value": int(call["value"]),
                    "gas": int(call["gasLimit"]),
                    "nonce": next(self.nonces),
                    "chainId": self.chain_id,
                    "maxFeePerGas": 10**11,
                    "maxPriorityFeePerGas": 10**9,
                }
            )
            asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction"}
            raw = signed.raw_transaction.to_0x_hex()
            answer = await node.post(self.rpc, json={**asked, "params": [raw]})
        return str(answer.json()["result"])


@contextmanager
def service_file(home: Path, database: str) -> Iterator[tuple[Path, Trader]]:
    """A file for every process of a service, whose node runs meanwhile, and its first partner."""
    data = home / "node"
    command = [sys.executable, "-m", "swapdesk", "node", "--data", str(data), "--speed", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(home)) as node:
        try:
            chains = json.loads(node.stdout.readline())["chains"]
            base = next(each for each in chains if each["shortName"] == "base")
            shared = f'[store]\nurl = "{database}"\nconnections = 4\n'
            file = written(home, base["rpc"], base["chainId"], shared)
            headers = {"Authorization": _partner(home, file)}
            account = Account.from_key(sandbox_key(load_key(data), TREASURY).secret)
            yield file, Trader(base["rpc"], base["chainId"], account, headers)
        finally:
            node.terminate()


def _partner(home: Path, file: Path) -> str:
    """Credentials."""
    at = ("--config", str(file), "--json")
    made = run_here("partner", "create", "Shop", "--tier", "PRO", *at, home=home)
    assert made.code == 0, made.stderr
    unlimited = itertools.chain(*((f"--{kind}", ANY) for kind in ("quote", "exchange", "read")))
    given = run_here("partner", "override", "Shop", *unlimited, *at, home=home)
    assert given.code == 0, given.stderr
    key = made.document
    return f"{key['apiKey']}:{key['apiSecret']}"


class Process:
    """A command of the service, and those that take its place."""

    def __init__(self, file: Path, command: str, *options: str) -> None:
        self._file = file
        self._words = (command, "--config", str(file), *options)
        self.port = 0
        self.running: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Until its ready line."""
        answers = self._words[0] == "serve"
        port = ("--port", str(self.port)) if answers else ()
        with (self._file.parent / "log").open("ab") as log:
            self.running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "swapdesk", *self._words, *port),
                env=environment(self._file.parent),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        async with asyncio.timeout(PATIENCE):
            line = json.loads(await self.running.stdout.readline())
        if answers:
            self.port = httpx2.URL(line["url"]).port

    async def end(self) -> int:
        """The exit code after SIGTERM."""
        self.running.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self.running.wait()


@asynccontextmanager
async def processes(file: Path) -> AsyncIterator[list[Process]]:
    """Two that answer, and at the end one that works."""
    every = [Process(file, "serve", "--workers", "0") for _ in range(2)]
    every.append(Process(file, "worker"))
    try:
        await asyncio.gather(*(each.start() for each in every))
        yield every
    finally:
        for each in every:
            if each.running is not None and each.running.returncode is None:
                os.kill(each.running.pid, 9)
                await each.running.wait()


def calling(url: str, trader: Trader) -> httpx2.AsyncClient:
    """A client of the partner, on connections that are kept."""
    return httpx2.AsyncClient(
        base_url=url, headers=trader.headers, timeout=PATIENCE, trust_env=False, verify=PLAIN
    )
