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
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.node.database import OtherRelease
from swapdesk.sandbox.node.evm.chain_threads import give_way
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch
from swapdesk.sandbox.node.issued_world import OtherWorld
from swapdesk.sandbox.node.node import OtherSeed
from swapdesk.sandbox.node.sandbox_node import keep_stepping, open_node
from swapdesk.sandbox.partner_keys import SandboxKeyRefused
from swapdesk.sandbox.processes import announce, read_orders, stop_on_end

_REFUSALS = (OtherSeed, OtherRelease, OtherWorld, SandboxKeyRefused, ChainFileMismatch)


async def _run(orders: dict[str, Any]) -> int:
    stop = stop_on_end(asyncio.get_running_loop())
    speed = orders.get("speed")
    clock = SystemClock()
    try:
        opened = open_node(
            Path(orders["data"]),
            clock,
            seed=orders.get("seed"),
            speed=None if speed is None else Decimal(str(speed)),
            ids=orders.get("chainIds", "sandbox"),
        )
    except _REFUSALS as other:
        announce({"refused": str(other)})
        return 2
    server = build_server(opened.application(orders["token"]), clock)
    listener = socket.socket(fileno=orders["fd"])
    ticking = asyncio.create_task(keep_stepping(opened.node, clock))
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        if await started(server, stop):
            announce({"ready": True, "seed": opened.node.seed})
        done, _ = await asyncio.wait([serving, ticking], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await serving
        for task in done:
            task.result()
    finally:
        ticking.cancel()
        await opened.close()
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
