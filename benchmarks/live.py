"""Keys while 5,000 orders move a thousand times a second, against a DataTable on the same feed."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.homes import DESK
from benchmarks.report import Case
from benchmarks.stalls import longest
from benchmarks.terminal import Terminal
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.paths import Home
from swapdesk.settings import place_of_url
from swapdesk.wire.orders import DisplayStatus

ORDERS = 5_000
RATE = 1_000
KEY_SECONDS = 0.050
SHARE_OF_TABLE = 0.25
CPU = 0.30
GROWTH = 1.0
STALL_SECONDS = 0.050
WARM_SECONDS = 60.0
"""Growth counts from here, or from the middle of a shorter run."""
GROWN_TIMES = 3.0
"""As long as the others runs the desk whose growth is measured: memory comes by the MiB, so that a
minute or two tell of one or of none."""
_PAUSE = 0.11


class FeedProcess:
    """The feed of :mod:`benchmarks.feed` as a process."""

    def __init__(self, orders: int, rate: int, seconds: float) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.feed"),
                *(str(self.port), str(orders), str(rate), str(seconds)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.expect("ready")

    def expect(self, word: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word):
                return line.strip()
        raise RuntimeError(f"the feed ended before {word!r}")

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def run(seconds: float) -> Iterator[Case]:
    """Each program ``seconds`` on its own feed of the same orders."""
    with tempfile.TemporaryDirectory() as scratch:
        table_p95 = _quantile(_table(seconds), 0.95)
        desk, cpu, lost, starting, moving = _desk(Path(scratch, "measured"), seconds)
        p95, count = _quantile(desk, 0.95), len(desk)
        yield Case("key p95, 1,000 updates/s", "desk", "limit", p95, KEY_SECONDS, 1.0, count=count)
        yield Case("the same against a DataTable", "desk", "table", p95, table_p95, SHARE_OF_TABLE)
        yield Case("CPU share at 1,000 updates/s", "desk", "limit", cpu, CPU, 1.0, "%", 100)
        yield Case("orders not in their last state", "desk", "limit", lost, 1.0, 0.0, "", 1)
        yield Case("longest callback of the start", "desk", "limit", starting, STALL_SECONDS, 1.0)
        yield Case("the same while orders move", "desk", "limit", moving, STALL_SECONDS, 1.0)
        growth = _growth(Path(scratch, "growing"), GROWN_TIMES * seconds)
        yield Case("memory growth", "desk", "limit", growth, GROWTH, 1.0, "MiB/min", 1)


def _desk(home: Path, seconds: float) -> tuple[list[float], float, float, float, float]:
    """Seconds of each key, share of a core, orders not in their last state, and the longest
    callback until the orders move, then while they do."""
    feed = FeedProcess(ORDERS, RATE, seconds)
    url = f"http://127.0.0.1:{feed.port}/v2"
    stalls = home / "stalls.json"
    terminal = _tracking(home, url, [DESK[0], "-m", "benchmarks.watched_desk", str(stalls)])
    try:
        _list_orders(terminal, feed, home, url)
        going = time.perf_counter()
        feed.go()
        time.sleep(1.0)
        begin, used = time.perf_counter(), terminal.cpu_seconds()
        keys = _keys(terminal, _arrow, _bar, begin + seconds - 3.0)
        cpu = (terminal.cpu_seconds() - used) / (time.perf_counter() - begin)
        feed.expect("fed")
        lost = _missing(home, url, DisplayStatus.SENDING_TO_RECEIVER)
    finally:
        leaving = time.perf_counter()
        terminal.send("q")
        terminal.settle(0.5, 3)
        terminal.send("q")
        terminal.settle(0.5, 5)
        terminal.close()
        feed.close()
    held = [one for one in json.loads(stalls.read_text()) if one[0] < leaving]
    starting = longest([one for one in held if one[0] < going])
    moving = longest([one for one in held if one[0] >= going])
    return keys, cpu, float(lost), starting, moving


def _growth(home: Path, seconds: float) -> float:
    """MiB a minute of a desk that nobody measures in any other way."""
    feed = FeedProcess(ORDERS, RATE, seconds)
    url = f"http://127.0.0.1:{feed.port}/v2"
    terminal = _tracking(home, url, DESK)
    try:
        _list_orders(terminal, feed, home, url)
        feed.go()
        begin = time.perf_counter()
        end = begin + seconds - 3.0
        _keys(terminal, _arrow, _bar, min(begin + WARM_SECONDS, (begin + end) / 2))
        warm, memory = time.perf_counter(), _rss(terminal.pid)
        _to_the_first(terminal)
        _keys(terminal, _arrow, _bar, end)
        return (_rss(terminal.pid) - memory) / (time.perf_counter() - warm) * 60
    finally:
        terminal.close()
        feed.close()


def _tracking(home: Path, url: str, command: list[str]) -> Terminal:
    """A desk of the feed's partner in a home of its own."""
    home.mkdir()
    return Terminal(
        command,
        environment={
            "HOME": str(home),
            "SWAPDESK_HOME": str(home),
            "SWAPDESK_API_URL": url,
            "SWAPDESK_API_KEY": "benchmark",
            "SWAPDESK_API_SECRET": "benchmark",
        },
    )


def _list_orders(terminal: Terminal, feed: FeedProcess, home: Path, url: str) -> None:
    """Until the desk shows the orders and has them all in its journal."""
    terminal.wait(Terminal.visible, 30)
    feed.expect("subscribed")
    terminal.settle(0.5, 10)
    terminal.send("o")
    if terminal.wait(lambda t: t.shows("You send"), 30) is None or _missing(
        home, url, DisplayStatus.DEPOSIT_DETECTED
    ):
        raise RuntimeError("the desk did not list the orders:\n" + "\n".join(terminal.lines()))
    terminal.settle(0.5, 10)
    _to_the_first(terminal)


def _to_the_first(terminal: Terminal) -> None:
    """The cursor stays on its order while others are listed above it, so it may stand anywhere."""
    terminal.send("\x1b[H")
    terminal.settle(0.5, 1)


def _arrow(number: int) -> str:
    """Down through all rows and up again."""
    return "\x1b[A" if number // (ORDERS - 1) % 2 else "\x1b[B"


def _table(seconds: float) -> list[float]:
    feed = FeedProcess(ORDERS, RATE, seconds)
    terminal = Terminal([sys.executable, "-m", "benchmarks.table_app", str(feed.port), str(ORDERS)])
    try:
        feed.expect("subscribed")
        feed.go()
        end = time.perf_counter() + seconds - 1.0
        # All rows are there after the first round of orders.
        time.sleep(min(ORDERS / RATE, seconds / 2))
        return _keys(terminal, lambda _: "k", _counter, end)
    finally:
        terminal.close()
        feed.close()


def _keys(
    terminal: Terminal,
    key: Callable[[int], str],
    place: Callable[[Terminal], object],
    until: float,
) -> list[float]:
    """Seconds from each key to the frame in which ``place`` changed; ``key`` by its number."""
    rng, samples = random.Random(1), []
    while time.perf_counter() < until:
        time.sleep(_PAUSE + rng.random() * 0.02)
        terminal.lines()
        before = place(terminal)
        sent = terminal.send(key(len(samples)))
        shown = terminal.wait(_changed(place, before), 10)
        if shown is None:
            rest = time.perf_counter() - terminal.last
            raise RuntimeError(
                f"key {len(samples)} was not answered; the last change on the screen was"
                f" {rest:.1f} s ago:\n" + "\n".join(terminal.lines())
            )
        samples.append(max(0.0, shown - sent))
    return samples


def _changed(place: Callable[[Terminal], object], before: object) -> Callable[[Terminal], bool]:
    return lambda terminal: place(terminal) != before


def _bar(terminal: Terminal) -> object:
    """The order beside the cursor bar."""
    return next((line[:12] for line in terminal.display if line.startswith("▌")), None)


def _counter(terminal: Terminal) -> object:
    return next((line for line in terminal.display if line.startswith("K=")), None)


def _rss(pid: int) -> float:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def _missing(home: Path, url: str, status: DisplayStatus) -> int:
    """Orders the journal does not hold in this state, after some seconds of grace."""
    places = Home.at(home).profile(place_of_url(url))
    end = time.perf_counter() + 30
    while True:
        journal = Journal.open(places.journal, SystemClock())
        known = [known.order.display_status for known in journal.orders.each()]
        journal.close()
        missing = ORDERS - known.count(status.value)
        if not missing or time.perf_counter() > end:
            return missing
        time.sleep(0.5)


def _quantile(samples: list[float], share: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
