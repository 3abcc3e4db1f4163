"""Runs the node as a process: ``python -m swapdesk.sandbox.node``, with its orders on stdin.

Orders: ``fd`` (listening socket), ``token``, ``data`` (directory), ``seed`` and ``speed`` (null
keeps what is stored), ``chainIds`` of the embedded chains (``sandbox`` or ``real``), and
``service``, the address with ``/v2`` of the service that gets events about changes; without it, no
events are sent.
"""

from __future__ import annotations

import asyncio
import random
import socket
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from swapdesk.chain.unused_curve import postpone_precompiles
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.node.database import OtherWorld
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged
from swapdesk.sandbox.node.node import EventSender, OtherTerms, keep_stepping, open_node
from swapdesk.sandbox.partner_keys import SandboxKeyRefused, load_key
from swapdesk.sandbox.processes import announce, give_way, run_child, stop_event

_REFUSALS = (OtherTerms, SandboxKeyRefused, LogDamaged, sqlite3.DatabaseError)


async def _run(orders: dict[str, Any]) -> int:
    stop = stop_event(lifeline=True, hard=True)
    speed = orders.get("speed")
    clock, data = SystemClock(), Path(orders["data"])
    try:
        opened = open_node(
            data,
            clock,
            seed=orders.get("seed"),
            speed=None if speed is None else Decimal(str(speed)),
            ids=orders.get("chainIds", "sandbox"),
        )
    except (OtherWorld, ChainFileMismatch) as old:
        # What to do about it is done by the starter.
        announce({"refused": str(old).partition(";")[0], "old": True})
        return 2
    except _REFUSALS as refused:
        remedy = "restore it, or move it away to begin a new world"
        damaged = isinstance(refused, LogDamaged | sqlite3.DatabaseError)
        announce({"refused": f"{refused} ({data}: {remedy})" if damaged else str(refused)})
        return 2
    telling: asyncio.Task[None] | None = None
    if (service := orders.get("service")) is not None:
        # Ids are drawn from the machine's randomness: of a seed they would come twice.
        key, rng = load_key(data), random.SystemRandom()
        sender = EventSender(service, key, clock, rng)
        opened.tell(sender)
        telling = asyncio.create_task(sender.run())
    server = build_server(opened.application(orders["token"]), clock)
    listener = socket.socket(fileno=orders["fd"])
    ticking = asyncio.create_task(keep_stepping(opened, clock))
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        if await started(server, stop):
            announce({"ready": True, "seed": opened.seed})
            # While the service starts, before a call has a deadline: a new world takes most of a
            # second to begin.
            opened.chains.open()
        done, _ = await asyncio.wait([serving, ticking], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        await serving
        for task in done:
            task.result()
    finally:
        ticking.cancel()
        if telling is not None:
            telling.cancel()
        await opened.end()
    return 0


if __name__ == "__main__":
    give_way()
    postpone_precompiles()
    sys.exit(run_child(_run))
