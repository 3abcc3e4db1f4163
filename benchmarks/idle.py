"""CPU share and bytes a second of a desk at rest, connected to a service, against a bare app."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.homes import BARE, DESK, fill_catalog
from benchmarks.live import FeedProcess
from benchmarks.report import Case
from benchmarks.terminal import Terminal

SECONDS = 15.0
CPU = 0.005
COUNTDOWN_BYTES = 1_000.0
_TOKENS = 20_000


def run(seconds: float = SECONDS) -> list[Case]:
    """A bare app, a desk without orders and one whose list of orders counts down, side by side."""
    with ExitStack() as stack:
        terminals = {"bare": _started(stack, BARE, {})}
        for name, orders in (("desk", 0), ("countdown", 30)):
            feed = FeedProcess(orders, 1, 0.0)
            stack.callback(feed.close)
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = f"http://127.0.0.1:{feed.port}/v2"
            fill_catalog(home, _TOKENS, url=url)
            terminal = _started(stack, DESK, _environment(home, url))
            feed.expect("subscribed")
            terminal.settle(1.0, 15)
            if name == "countdown":
                terminal.send("o")
                if terminal.wait(lambda t: t.shows("You send"), 30) is None:
                    raise RuntimeError("no orders came:\n" + "\n".join(terminal.lines()))
                terminal.settle(0.9, 10)
            terminals[name] = terminal
        time.sleep(3.0)
        before = {name: (one.cpu_exact(), one.bytes) for name, one in terminals.items()}
        begin = time.perf_counter()
        time.sleep(seconds)
        took = time.perf_counter() - begin
        shares = {name: (t.cpu_exact() - before[name][0]) / took for name, t in terminals.items()}
        written = {name: (t.bytes - before[name][1]) / took for name, t in terminals.items()}
    return [
        _share("idle CPU, nothing open", "desk", shares["desk"], CPU),
        _share("idle CPU, the bare app", "bare", shares["bare"], CPU),
        _bytes("idle bytes a second", written["desk"], 0.0),
        _share("idle CPU with countdowns", "desk", shares["countdown"], 0.01),
        _bytes("bytes a second with countdowns", written["countdown"], COUNTDOWN_BYTES),
    ]


def _started(stack: ExitStack, argv: list[str], environment: dict[str, str]) -> Terminal:
    terminal = Terminal(argv, environment=environment)
    stack.callback(terminal.close)
    terminal.wait(Terminal.visible, 30)
    return terminal


def _environment(home: Path, url: str) -> dict[str, str]:
    return {
        "HOME": str(home),
        "SWAPDESK_HOME": str(home),
        "SWAPDESK_API_URL": url,
        "SWAPDESK_API_KEY": "benchmark",
        "SWAPDESK_API_SECRET": "benchmark",
    }


def _share(name: str, subject: str, value: float, most: float) -> Case:
    return Case(name, subject, "limit", value, most, 1.0, unit="%", scale=100)


def _bytes(name: str, value: float, most: float) -> Case:
    # Nothing at all is a limit that has no ratio: one byte a second is the unit then.
    return Case(name, "desk", "limit", value, most or 1.0, 1.0 if most else 0.0, "B/s", 1)
