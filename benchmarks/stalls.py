"""The longest callback of the event loop: start, refresh of 20,000 tokens, 5,000 orders."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.homes import DESK, fill_catalog, fill_journal, offline_environment
from benchmarks.refresh import write_pages
from benchmarks.report import Case, Figures
from benchmarks.terminal import Terminal

MOST_SECONDS = 0.050
TOKENS = 20_000
ORDERS = 5_000


def run(rounds: int) -> list[Case]:
    """The best of ``rounds`` for each: a neighbour's work counts as a stall, too."""
    starts, refreshes = Figures(), Figures()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        fill_catalog(home, TOKENS)
        fill_journal(home, ORDERS)
        for _ in range(rounds):
            starts.add("desk", _start(home))
    with tempfile.TemporaryDirectory() as scratch:
        write_pages(Path(scratch), TOKENS)
        for _ in range(rounds):
            refreshes.add("desk", _refresh(Path(scratch)))
    return [
        starts.best("longest stall, start and tracker", "desk", MOST_SECONDS),
        refreshes.best("longest stall, token refresh", "desk", MOST_SECONDS),
    ]


def longest(found: list[tuple[float, float, str]]) -> float:
    """Seconds of the longest callback; prints the three longest with what they ran."""
    for _, took, what in sorted(found, key=lambda one: -one[1])[:3]:
        print(f"    {took * 1e3:6.1f} ms {what[:100]}")
    return max((took for _, took, _ in found), default=0.0)


def _start(home: Path) -> float:
    """Start with a full cache, find a token, open the tracker, page through it, leave."""
    log = home / "stalls.json"
    log.unlink(missing_ok=True)
    terminal = Terminal(
        [DESK[0], "-m", "benchmarks.watched_desk", str(log)], environment=offline_environment(home)
    )
    try:
        terminal.wait(Terminal.visible, 30)
        terminal.settle(1.0, 10)
        for keys, shown in (("t", "Verdict"), ("usdc", "USD Coin"), ("\x1b", "/"), ("\x1b", "")):
            terminal.send(keys)
            terminal.wait(lambda t, shown=shown: t.shows(shown), 10)  # type: ignore[misc]
            terminal.settle(0.3, 5)
        terminal.send("o")
        terminal.wait(lambda t: t.shows("You send"), 10)
        terminal.settle(0.5, 5)
        terminal.send("\x1b[6~" * 3)
        terminal.settle(0.5, 5)
        # The clocks of processes are one; what happens after the last key is the end.
        leaving = time.perf_counter()
        for _ in range(2):
            terminal.send("q")
            terminal.settle(0.5, 5)
        end = leaving + 15
        while not log.exists() and time.perf_counter() < end:
            terminal.settle(0.2, 0.2)
    finally:
        terminal.close()
    return longest([one for one in json.loads(log.read_text()) if one[0] < leaving])


def _refresh(directory: Path) -> float:
    """The longest callback while all pages are read into an empty catalogue, in a process."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.refresh", str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return longest(json.loads(ended.stdout.splitlines()[-1]))
