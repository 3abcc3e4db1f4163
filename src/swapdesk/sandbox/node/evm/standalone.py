"""The embedded chains alone: ``swapdesk node``, until it is told to end.

Prints one JSON line when it is ready: ``{schemaVersion, "chains": [{shortName, kind, chainId, rpc},
...]}``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.chain_rows import ChainIds, chain_lines
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.chain_threads import give_way
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.http_endpoint import ChainDoors
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged
from swapdesk.sandbox.node.solana.node import SolanaNode
from swapdesk.sandbox.node.solana.terms import chain_line
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.partner_keys import SandboxKeyRefused, load_key
from swapdesk.sandbox.processes import DirectoryInUse, listen, lock_directory
from swapdesk.sandbox.run_file import LINE_VERSION

OK, BAD_INPUT = 0, 2


class NodeOptions(Struct, frozen=True):
    """``port`` 0 takes a free one."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 0
    speed: Decimal = Decimal(1)
    ids: ChainIds = "sandbox"


def run_node(options: NodeOptions) -> int:
    """Serve the chains. Returns an exit code: 0 ended cleanly, 2 the options or the data
    directory do not allow it."""
    import uvloop

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    give_way()
    return uvloop.run(_run(options))


async def _run(options: NodeOptions) -> int:
    clock = SystemClock()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        make_directories(options.data)
        lock = await lock_directory(options.data, clock)
    except (OSError, DirectoryInUse) as error:
        return _say(error)
    try:
        listener = listen(options.host, options.port)
        key, faults = load_key(options.data), ChainFaults()
        world = WorldClock(clock, None, options.speed)
        solana = SolanaNode(options.data, key, now_ms=world.now_ms, faults=faults)
        embedding = Embedding(
            options.data,
            key,
            ids=options.ids,
            world=world,
            clock=clock,
            faults=faults,
            market=Market(seed=0),
        )
        embedding.open()
    except (OSError, SandboxKeyRefused, ChainFileMismatch, LogDamaged) as error:
        return _say(error)
    server = build_server(ChainDoors(embedding.door, solana.door), clock)
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        if await started(server, stop):
            port = listener.getsockname()[1]
            lines = chain_lines(embedding.terms, options.host, port)
            lines.append(chain_line(options.host, port))
            sys.stdout.write(json.dumps({"schemaVersion": LINE_VERSION, "chains": lines}) + "\n")
            sys.stdout.flush()
        await serving
    finally:
        await embedding.close()
        solana.close()
        os.close(lock)
    return OK


def _say(error: Exception) -> int:
    sys.stderr.write(f"{error}\n")
    return BAD_INPUT
