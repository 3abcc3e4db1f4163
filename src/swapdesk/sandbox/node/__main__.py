"""The node as a process: ``python -m swapdesk.sandbox.node``, with its orders on stdin.

Orders: ``fd`` (listening socket), ``token``, ``data`` (directory), ``seed`` and ``speed``
or null for what is stored, ``chainIds`` (``sandbox`` or ``real``) of the embedded chains.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import uvloop

from swapdesk.chain.unused_curve import postpone_precompiles
from swapdesk.clock import SystemClock
from swapdesk.sandbox.chain_rows import EVM_CHAINS
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.database import OtherRelease
from swapdesk.sandbox.node.evm.chain_threads import give_way
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import ChainDoors
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch
from swapdesk.sandbox.node.evm.wallets import EvmWallets
from swapdesk.sandbox.node.issued_world import OtherWorld
from swapdesk.sandbox.node.node import Node, NodeApp, OtherSeed
from swapdesk.sandbox.node.solana.embedding import SolanaEmbedding
from swapdesk.sandbox.node.solana.wallets import SolanaWallets
from swapdesk.sandbox.partner_keys import SandboxKeyRefused, load_key
from swapdesk.sandbox.processes import announce, read_orders, stop_on_end

TICK_SECONDS = 0.1
DATABASE = "node.db"


async def _tick(node: Node, stop: asyncio.Event) -> None:
    """Let time do its work until the node stops."""
    while not stop.is_set():
        node.step()
        await asyncio.sleep(TICK_SECONDS)


async def _run(orders: dict[str, Any]) -> int:
    stop = stop_on_end(asyncio.get_running_loop())
    speed = orders.get("speed")
    clock = SystemClock()
    try:
        key = load_key(Path(orders["data"]))
        wallets = {name: EvmWallets(name, key) for name in EVM_CHAINS}
        solana_wallets = SolanaWallets(key)
        node = Node(
            Path(orders["data"]) / DATABASE,
            clock,
            seed=orders.get("seed"),
            speed=None if speed is None else Decimal(str(speed)),
            embedded={**wallets, solana_wallets.name: solana_wallets},
        )
    except (OtherSeed, OtherRelease, OtherWorld, SandboxKeyRefused) as other:
        announce({"refused": str(other)})
        return 2
    try:
        solana = SolanaEmbedding(
            Path(orders["data"]), key, now_ms=node.clock.now_ms, faults=node.chain_faults
        )
        chains = Embedding(
            Path(orders["data"]),
            key,
            ids=orders.get("chainIds", "sandbox"),
            world=node.clock,
            clock=clock,
            faults=node.chain_faults,
            market=Market(node.seed),
        )
    except ChainFileMismatch as other:
        announce({"refused": str(other)})
        node.close()
        return 2
    node.chains, node.solana = chains, solana
    for each in wallets.values():
        each.embedding = chains
    solana_wallets.embedding = solana
    node.accounts.chains.resume()
    doors = ChainDoors(chains.door, solana.door)
    server = build_server(NodeApp(node, orders["token"], doors), clock)
    listener = socket.socket(fileno=orders["fd"])
    ticking = asyncio.create_task(_tick(node, stop))
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        if await started(server, stop):
            announce({"ready": True, "seed": node.seed})
        done, _ = await asyncio.wait([serving, ticking], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await serving
        for task in done:
            task.result()
    finally:
        ticking.cancel()
        await chains.close()
        await solana.close()
        node.close()
    return 0


def main() -> int:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        orders = read_orders()
    except EOFError:
        return 1
    give_way()
    postpone_precompiles()
    return uvloop.run(_run(orders))


if __name__ == "__main__":
    sys.exit(main())
