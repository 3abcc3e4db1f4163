"""The embedded Solana chain on a loopback port, at a time that stands until it is moved."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from service.loopback import on_port
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.solana import Memo, Transfer
from swapdesk.clock import SystemClock
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.solana.node import SolanaNode
from swapdesk.sandbox.node.solana.terms import SLOT_MS
from swapdesk.sandbox.world import find_token

KEY = b"a key of a sandbox that is tried"
USDC = Pubkey.from_string(str(find_token("solana", "USDC").address))
SOL = 10**9


class StandingTime:
    """Milliseconds of sandbox time."""

    def __init__(self, now: int = 1_795_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_blocks(self, count: int) -> None:
        self.now += count * SLOT_MS


class World(Struct):
    node: SolanaNode
    faults: ActiveFaults
    time: StandingTime
    client: SolanaClient
    http: httpx2.AsyncClient
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/solana"

    async def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """The whole answer, as it came."""
        asked = {"jsonrpc": "2.0", "id": 0, "method": method, "params": list(params)}
        document: dict[str, Any] = (await self.http.post(self.url, json=asked)).json()
        return document

    async def put(
        self, transaction: VersionedTransaction, method: str = "sendTransaction", **options: Any
    ) -> dict[str, Any]:
        """The whole answer to a transaction that is handed in."""
        text = base64.b64encode(bytes(transaction)).decode()
        return await self.ask(method, text, {"encoding": "base64", **options})

    async def built(
        self, signers: Sequence[Keypair], *instructions: Instruction
    ) -> VersionedTransaction:
        """Signed over the newest blockhash; the first signer pays."""
        blockhash = await self.client.latest_blockhash()
        return signed(blockhash.blockhash, signers, *instructions)

    async def sent(self, signers: Sequence[Keypair], *instructions: Instruction) -> str:
        """Built and executed; the signature."""
        return await self.client.send(bytes(await self.built(signers, *instructions)))

    async def executed(self, signature: str) -> tuple[int, dict[str, tuple[int, int]]]:
        """The fee of a transaction, and lamports (before, after) by account, where they differ."""
        options = {
            "commitment": "confirmed",
            "encoding": "json",
            "maxSupportedTransactionVersion": 0,
        }
        told = (await self.ask("getTransaction", signature, options))["result"]
        meta, keys = told["meta"], told["transaction"]["message"]["accountKeys"]
        both = zip(meta["preBalances"], meta["postBalances"], strict=True)
        moved = {key: each for key, each in zip(keys, both, strict=True) if each[0] != each[1]}
        return meta["fee"], moved

    async def fee(self, message: bytes) -> int | None:
        """Lamports for executing a message; None when its blockhash is no longer good."""
        text = base64.b64encode(message).decode()
        return (await self.ask("getFeeForMessage", text, {"commitment": "confirmed"}))["result"][
            "value"
        ]

    async def balance(self, owner: Keypair | Pubkey) -> int:
        key = owner.pubkey() if isinstance(owner, Keypair) else owner
        return await self.client.balance(str(key))

    async def rich(self, lamports: int = 100 * SOL) -> Keypair:
        """A new account with coins."""
        made = Keypair()
        await self.node.fund(str(made.pubkey()), lamports)
        return made


def signed(
    blockhash: str, signers: Sequence[Keypair], *instructions: Instruction
) -> VersionedTransaction:
    message = MessageV0.try_compile(
        signers[0].pubkey(), list(instructions), [], Hash.from_string(blockhash)
    )
    return VersionedTransaction(message, list(signers))


def transfer(source: Keypair, destination: Pubkey, lamports: int) -> Instruction:
    return Transfer(source.pubkey(), destination, lamports).build()


def memo(text: str) -> Instruction:
    return Memo(text).build()


@asynccontextmanager
async def running(
    directory: Path, *, time: StandingTime | None = None, key: bytes = KEY
) -> AsyncIterator[World]:
    """The chain of a directory, served."""
    time = time or StandingTime()
    faults = ActiveFaults()
    node = SolanaNode(directory, key, now_ms=time, faults=faults)
    node.open()
    server = build_server(Door(faults, node.call, node.call), SystemClock())
    try:
        async with (
            on_port(server) as port,
            SolanaClient(f"http://127.0.0.1:{port}/solana", commitment="processed") as client,
            httpx2.AsyncClient(trust_env=False, verify=False) as http,
        ):
            yield World(node, faults, time, client, http, port)
    finally:
        node.close()
