"""Serves the embedded chains without a service (``swapdesk node``). Prints a JSON line when ready:
``{schemaVersion, "chains": [{shortName, kind, chainId, rpc}, ...]}``."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from decimal import Decimal
from pathlib import Path

from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged
from swapdesk.sandbox.node.solana.node import SolanaNode
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.partner_keys import SandboxKeyRefused, load_key
from swapdesk.sandbox.processes import (
    BAD_INPUT,
    OK,
    DirectoryInUse,
    give_way,
    listen,
    lock_directory,
    said,
    stop_event,
    url_of,
)
from swapdesk.sandbox.run_file import LINE_VERSION
from swapdesk.sandbox.tables import ChainIds, chain_lines


def run_node(data: Path, *, host: str, port: int, speed: Decimal, ids: ChainIds) -> int:
    """Serves the chains; ``port`` 0 takes a free port. Returns the exit code: 0, or 2 if the
    options or the data cannot be used."""
    import uvloop

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    give_way()
    return uvloop.run(_run(data, host, port, speed, ids))


async def _run(data: Path, host: str, port: int, speed: Decimal, ids: ChainIds) -> int:
    clock = SystemClock()
    stop = stop_event()
    try:
        make_directories(data)
        lock = await lock_directory(data, clock)
    except (OSError, DirectoryInUse) as error:
        return said(error, BAD_INPUT)
    try:
        listener = listen(host, port)
        key, faults = load_key(data), ActiveFaults()
        world = WorldClock(clock, None, speed)
        solana = SolanaNode(data, key, now_ms=world.now_ms, faults=faults)
        embedding = Embedding(
            data,
            key,
            ids=ids,
            world=world,
            clock=clock,
            faults=faults,
            market=Market(seed=0),
        )
        embedding.open()
    except (OSError, SandboxKeyRefused, ChainFileMismatch, LogDamaged) as error:
        return said(error, BAD_INPUT)
    server = build_server(Door(faults, embedding.call, solana.call), clock)
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        if await started(server, stop):
            lines = chain_lines(embedding.terms, url_of(host, listener))
            sys.stdout.write(json.dumps({"schemaVersion": LINE_VERSION, "chains": lines}) + "\n")
            sys.stdout.flush()
        await serving
    finally:
        await embedding.close()
        solana.close()
        os.close(lock)
    return OK
