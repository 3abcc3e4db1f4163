"""``python -m benchmarks walk``: how much of the desk one swap and one order update pass through.

Counted are the functions and files of the desk that run, and their calls: from the typed line to
the deposit card, and from a frame of the stream to the painted row. Service and sandbox are in the
same process, and what they call is not counted. The clock is moved by hand, and only what several
rounds have in common counts, so that functions and files are the same on every machine; calls
differ by what is painted twice.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

import swapdesk
from benchmarks.report import Case
from swapdesk.flows.tracking.order_writes import FLUSH_SECONDS
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatusCode

_DESK = f"{Path(swapdesk.__file__).parent}/"
_OTHERS = tuple(f"{_DESK}{room}/" for room in ("service", "sandbox", "agent"))
ROUNDS = 3
_TESTS = Path(__file__).resolve().parent.parent / "tests"


class Walk:
    """Calls by function while :meth:`counted` is open. A function is a code object: a lambda or
    a comprehension counts where it stands."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._within: dict[int, int] = {}
        """By thread, how many functions of the others are open: what they call is theirs."""

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(_DESK):
            return
        thread = threading.get_ident()
        if name.startswith(_OTHERS):
            self._within[thread] = self._within.get(thread, 0) + (1 if event == "call" else -1)
        elif event == "call" and not self._within.get(thread):
            code = frame.f_code
            self.calls[f"{name}:{code.co_firstlineno} {code.co_qualname}"] += 1

    @contextmanager
    def counted(self) -> Iterator[None]:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


class Stream:
    """The stream of the service: what it is told to say, to every desk that subscribed."""

    def __init__(self) -> None:
        self._peers: set[ServerConnection] = set()
        self.subscribed = asyncio.Event()

    async def hold(self, peer: ServerConnection) -> None:
        await peer.send('{"type":"welcome","partnerId":"benchmark"}')
        with suppress(ConnectionClosed):
            async for text in peer:
                if '"ping"' in str(text):
                    await peer.send('{"type":"pong"}')
                elif '"subscribe"' in str(text):
                    await peer.send('{"type":"subscribed","all":true}')
                    self._peers.add(peer)
                    self.subscribed.set()

    async def say(self, order: Order) -> None:
        frame = '{"type":"order_update","data":' + encode_json(order).decode() + "}"
        for peer in self._peers:
            await peer.send(frame)


async def _walk(place: Path) -> tuple[Walk, Walk]:
    sys.path.insert(0, str(_TESTS))
    from tui import rest
    from tui.desk_run import open_desk, open_market

    rest.use()
    swap, update = Walk(), Walk()
    stream = Stream()
    async with serve(stream.hold, "127.0.0.1", 0) as server, open_market(place) as market:
        port = server.sockets[0].getsockname()[1]

        async def start() -> Mapping[str, Any]:
            return {**await market.start(), "url": f"http://127.0.0.1:{port}/v2"}

        desk = open_desk(market.settings, start, clock=market.clock, transport=market.network)
        async with desk as run:
            await run.ready()
            await run.settle(stream.subscribed.is_set, "the stream")
            with swap.counted():
                await run.to_deposit()
            await run.press("escape", "o")
            await run.see("Open")
            [made] = run.app.session.desk.journal.orders.each()
            with update.counted():
                await stream.say(_exchanging(made.order))
                # The journal commits a state a tenth of a second after the first that waits.
                await run.later("Exchanging", FLUSH_SECONDS)
    return swap, update


def _exchanging(order: Order) -> Order:
    """The order one state later, as the stream would tell it."""
    assert order.created is not None
    return order.model_copy(
        update={
            "modified": (order.modified or order.created) + timedelta(minutes=1),
            "status": int(OrderStatusCode.EXCHANGING),
            "status_label": OrderStatusCode.EXCHANGING.name,
            "display_status": DisplayStatus.EXCHANGE_IN_PROGRESS.value,
            "in_status": int(LegStatus.EXCHANGING),
        }
    )


def run() -> Iterator[Case]:
    """No figure of time: the lines are printed, and the cases are none."""
    # Each round is a process of its own: what an earlier one kept would shorten the next.
    command = [sys.executable, "-m", "benchmarks.walk"]
    rounds = [json.loads(subprocess.check_output(command, text=True)) for _ in range(ROUNDS)]
    for name in ("swap", "update"):
        print(f"  {name:8s} {_line([one[name] for one in rounds])}")
    return iter(())


def _line(rounds: Sequence[Mapping[str, int]]) -> str:
    """Only what every round passes: what a timer happened to run is no part of the way."""
    functions = set.intersection(*map(set, rounds))
    files = {name.partition(":")[0] for name in functions}
    calls = min(sum(one[name] for name in functions) for one in rounds)
    return f"{len(functions):6,d} functions in {len(files):4,d} files, {calls:8,d} calls"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        swap, update = asyncio.run(_walk(Path(scratch)))
    print(json.dumps({"swap": swap.calls, "update": update.calls}))
