"""The embedded EVM chains over HTTP against eth-tester in process, in the same run.

The node is a process of its own at the speed of the desk's sandbox; 16 accounts send to it at
once. Then a chain of 3,000 blocks with a log each is asked what a wallet asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
from eth_account import Account
from eth_account.signers.local import LocalAccount
from msgspec import Struct

from benchmarks.report import Case, Figures
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.evm.chain import Beat, EvmChain
from swapdesk.sandbox.node.evm.embedding import first_state
from swapdesk.sandbox.node.evm.genesis import FAUCET, sandbox_key
from swapdesk.sandbox.node.evm.mempool import Candidate, read_candidate
from swapdesk.sandbox.node.mined_log import MinedLog
from swapdesk.sandbox.partner_keys import load_key
from swapdesk.sandbox.tables import chain_terms

SENDERS, BASELINE_TRANSFERS = 16, 100
READS, IN_FLIGHT = 400, 8
BLOCKS = 3_000
SPEED = "30"
CHAIN = "base"
GWEI = 10**9
READER = bytes.fromhex("60003560005260206000a0")
"""Logs the word it is called with."""
ADDER = bytes.fromhex("60005460010160005260206000f3")
"""Returns a word of its storage and one."""


def run(rounds: int) -> list[Case]:
    """``rounds`` times 16 x ``rounds`` transfers, balances and calls; one long chain."""
    figures = Figures()
    for _ in range(max(1, rounds // 3)):
        _eth_tester(figures)
        with tempfile.TemporaryDirectory() as scratch, _node(Path(scratch)) as node:
            asyncio.run(_over_http(figures, node))
    with tempfile.TemporaryDirectory() as scratch:
        for part in _long_chain(Path(scratch)):
            figures.add("saving", part)
        with _node(Path(scratch)) as node:
            asyncio.run(_long_reads(figures, node))
    baseline = "eth-tester"
    return [
        figures.case("transfer mined over HTTP", "transfer", baseline, 1 / 1.2),
        figures.case("balance over HTTP", "balance", baseline, 1 / 3),
        figures.case("eth_call over HTTP", "call", baseline, 1.0),
        figures.limit("reads while mining, p99", "busy", 0.060, "ms", 1e3),
        figures.limit("unknown receipt, 3,000 blocks", "unknown", 0.005, "ms", 1e3),
        figures.limit("logs of one address, 3,000", "logs", 0.100, "ms", 1e3),
        figures.limit("saving a block", "saving", 0.0013, "ms", 1e3),
    ]


class Node(Struct, frozen=True):
    data: Path
    url: str
    chain_id: int


@contextlib.contextmanager
def _node(data: Path) -> Iterator[Node]:
    """``swapdesk node`` in a process of its own."""
    command = ["node", "--data", str(data), "--speed", SPEED]
    process = subprocess.Popen(
        [sys.executable, "-m", "swapdesk", *command],
        stdout=subprocess.PIPE,
        env={**os.environ, "SWAPDESK_HOME": str(data / "home")},
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        (row,) = [each for each in ready["chains"] if each["shortName"] == CHAIN]
        yield Node(data, row["rpc"], row["chainId"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _eth_tester(figures: Figures) -> None:
    """Seconds a transfer, each in a block of its own."""
    from eth_tester import EthereumTester, PyEVMBackend

    tester = EthereumTester(PyEVMBackend())
    signer = _account(99)
    rich = tester.get_accounts()[0]
    tester.send_transaction({"from": rich, "to": signer.address, "value": 10**21, "gas": 21_000})
    raws = [_transfer(signer, nonce, 131277322940537).hex() for nonce in range(BASELINE_TRANSFERS)]
    begin = time.perf_counter()
    for raw in raws:
        tester.send_raw_transaction("0x" + raw)
    figures.add("eth-tester", (time.perf_counter() - begin) / BASELINE_TRANSFERS)


async def _over_http(figures: Figures, node: Node) -> None:
    async with aiohttp.ClientSession() as client:
        call = Caller(client, node.url)
        senders = [_account(number) for number in range(1, SENDERS + 1)]
        faucet = _faucet(node.data)
        for nonce, sender in enumerate(senders):
            await call.send(_transfer(faucet, nonce, node.chain_id, sender.address, 10**19))
        adder = await _deployed(call, faucet, SENDERS, node.chain_id, ADDER)

        rows = [
            [_transfer(sender, nonce, node.chain_id) for nonce in range(30)] for sender in senders
        ]
        begin = time.perf_counter()
        await asyncio.gather(*(_send_all(call, row) for row in rows))
        for sender in senders:
            await call.nonce(sender.address, 30)
        seconds = time.perf_counter() - begin
        figures.add("transfer", seconds / sum(map(len, rows)))

        balance = ("eth_getBalance", faucet.address, "latest")
        figures.add("balance", await _rate(call, lambda _: balance))
        # Each says something else: the node remembers what the same call returned.
        figures.add(
            "call",
            await _rate(
                call, lambda n: ("eth_call", {"to": adder, "data": f"0x{n:08x}"}, "latest")
            ),
        )

        rows = [
            [_transfer(sender, 30 + nonce, node.chain_id) for nonce in range(20)]
            for sender in senders
        ]
        mining = asyncio.gather(*(_send_all(call, row) for row in rows))
        waits: list[float] = []
        while not mining.done() or len(waits) < 200:
            begin = time.perf_counter()
            await call(*balance)
            waits.append(time.perf_counter() - begin)
        await mining
        figures.add("busy", sorted(waits)[int(len(waits) * 0.99)])


async def _rate(call: Caller, wanted: Callable[[int], tuple[Any, ...]]) -> float:
    """Seconds a call, eight in flight; ``wanted`` is the n-th."""
    numbers = itertools.count()

    async def some() -> None:
        for _ in range(READS // IN_FLIGHT):
            await call(*wanted(next(numbers)))

    begin = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(IN_FLIGHT)))
    return (time.perf_counter() - begin) / READS


async def _send_all(call: Caller, raws: list[bytes]) -> None:
    for raw in raws:
        await call.send(raw)


async def _long_reads(figures: Figures, node: Node) -> None:
    async with aiohttp.ClientSession() as client:
        call = Caller(client, node.url)
        assert int(await call("eth_blockNumber"), 16) >= BLOCKS
        for number in range(50):
            begin = time.perf_counter()
            assert await call("eth_getTransactionReceipt", f"0x{number:064x}") is None
            figures.add("unknown", time.perf_counter() - begin)
        emitter = _address(_created(_faucet(node.data), 0))
        for _ in range(5):
            begin = time.perf_counter()
            found = await call("eth_getLogs", {"address": emitter, "fromBlock": "0x0"})
            figures.add("logs", time.perf_counter() - begin)
            assert len(found) == BLOCKS - 1


class Caller:
    """JSON-RPC over one session."""

    def __init__(self, client: aiohttp.ClientSession, url: str) -> None:
        self._client = client
        self._url = url

    async def __call__(self, method: str, *params: Any) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        async with self._client.post(self._url, json=asked) as response:
            answer = await response.json()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    async def send(self, raw: bytes) -> None:
        await self("eth_sendRawTransaction", "0x" + raw.hex())

    async def nonce(self, address: str, wanted: int) -> None:
        """Ask until so many transactions are mined, as a wallet does."""
        while int(await self("eth_getTransactionCount", address), 16) < wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def _deployed(
    call: Caller, signer: LocalAccount, nonce: int, chain_id: int, runtime: bytes
) -> str:
    await call.send(_creation(signer, nonce, chain_id, runtime))
    await call.nonce(signer.address, nonce + 1)
    return _address(_created(signer, nonce))


def _long_chain(data: Path) -> list[float]:
    """Make the chain of a data directory; of every 250 blocks the seconds that saving one took,
    with one transaction a block: its worst."""
    key = load_key(data)
    terms = chain_terms()[CHAIN]
    now = int(SystemClock().now().timestamp()) - BLOCKS
    chain = EvmChain(data, terms, first_state(terms, key), Beat(now, 0), SystemClock())
    faucet = _faucet(data)
    emitter = _address(_created(faucet, 0))
    raws = [_creation(faucet, 0, terms.chain_id, READER)]
    for nonce in range(1, BLOCKS):
        fields = {"to": emitter, "data": f"0x{nonce:064x}", "gas": 60_000}
        raws.append(_signed(faucet, nonce, terms.chain_id, **fields))
    candidates: list[Candidate] = [read_candidate(raw, terms) for raw in raws]
    saved = 0.0
    append: Callable[..., None] = MinedLog.append

    def timed(*values: Any) -> None:
        nonlocal saved
        begin = time.perf_counter()
        append(*values)
        saved += time.perf_counter() - begin

    MinedLog.append = timed  # type: ignore[method-assign]
    parts: list[float] = []
    try:
        for number, candidate in enumerate(candidates):
            mined, _ = chain.mine([candidate], Beat(now + number + 1, 0))
            assert mined
            chain.add(mined)
            if number % 250 == 249:
                parts.append(saved / 250)
                saved = 0.0
    finally:
        MinedLog.append = append  # type: ignore[method-assign]
    chain.close()
    return parts


def _faucet(data: Path) -> LocalAccount:
    account: LocalAccount = Account.from_key(sandbox_key(load_key(data), FAUCET).secret)
    return account


def _account(number: int) -> LocalAccount:
    account: LocalAccount = Account.from_key(number.to_bytes(32, "big"))
    return account


def _created(signer: LocalAccount, nonce: int) -> bytes:
    from eth_utils import keccak
    from rlp import encode

    return bytes(keccak(encode([bytes.fromhex(signer.address[2:]), nonce]))[12:])


def _address(octets: bytes) -> str:
    from eth_utils import to_checksum_address

    return str(to_checksum_address(octets))


def _creation(signer: LocalAccount, nonce: int, chain_id: int, runtime: bytes) -> bytes:
    size = len(runtime)
    initcode = bytes.fromhex(f"60{size:02x}600c60003960{size:02x}6000f3") + runtime
    return _signed(signer, nonce, chain_id, data="0x" + initcode.hex(), gas=200_000)


def _transfer(
    signer: LocalAccount, nonce: int, chain_id: int, to: str = "0x" + "77" * 20, value: int = 1
) -> bytes:
    return _signed(signer, nonce, chain_id, to=to, value=value, gas=21_000)


def _signed(signer: LocalAccount, nonce: int, chain_id: int, **fields: Any) -> bytes:
    price = {"maxFeePerGas": 3 * GWEI, "maxPriorityFeePerGas": GWEI // 10}
    signed = signer.sign_transaction(
        {"chainId": chain_id, "nonce": nonce, "value": 0, **price, **fields}
    )
    return bytes(signed.raw_transaction)
