"""The embedded chains in a process of their own, with one funded account; for ``agent``.

``python -m benchmarks.chain_node DIRECTORY ADDRESS TOKEN`` prints the URL of Base once the
address holds coins and units of the token, and serves until standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path

from swapdesk.clock import SystemClock
from swapdesk.sandbox.evm_world.keeper import give
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.processes import listen

KEY = b"the key of a sandbox of figures."


async def serve(directory: Path, address: str, token: str) -> None:
    clock, stop = SystemClock(), asyncio.Event()
    world = WorldClock(clock, None, Decimal(1000))
    faults = ActiveFaults()
    embedding = Embedding(directory, KEY, ids="sandbox", world=world, clock=clock, faults=faults)
    listener = listen("127.0.0.1", 0)
    server = build_server(Door(faults, embedding.call, embedding.call), SystemClock())
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    await started(server, stop)
    node = embedding.open()
    sent = [
        await node.fund("base", bytes.fromhex(address[2:]), 10**19),
        await give(node, "base", token, address, 10**9),
    ]
    await asyncio.gather(*(node.confirmed("base", one) for one in sent))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/evm/base", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    stop.set()
    await serving
    await embedding.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
