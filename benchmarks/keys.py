"""Cursor down in the order table with 5,000 orders, against typing in a bare input."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.homes import BARE, DESK, fill_journal, offline_environment
from benchmarks.report import Case, Figures
from benchmarks.terminal import Terminal

ORDERS = 5_000
CURSOR_DOWN = 1.5
BYTES_PER_KEY = 700
DOWN, UP = "\x1b[B", "\x1b[A"
TURN = 10
"""Rows walked down and up again, so that the list itself does not scroll."""


def run(keys: int) -> list[Case]:
    """``keys`` presses each, interleaved key by key."""
    latency = Figures()
    painted: list[int] = []
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        fill_journal(home, ORDERS)
        bare = Terminal(BARE, environment=offline_environment(home))
        desk = Terminal(DESK, environment=offline_environment(home))
        try:
            bare.wait(lambda t: t.shows("READY"), 30)
            desk.wait(Terminal.visible, 30)
            desk.settle(0.5, 15)
            desk.send("o")
            if desk.wait(lambda t: t.shows("Open"), 30) is None:
                raise RuntimeError("the order table did not come up")
            desk.settle(0.5, 15)
            rng = random.Random(1)
            for number in range(keys):
                for name, terminal, key in (
                    ("bare", bare, chr(97 + number % 26)),
                    ("desk", desk, DOWN if number // TURN % 2 == 0 else UP),
                ):
                    terminal.settle(0.03, 1)
                    time.sleep(rng.random() * 0.02)
                    before, chunks = terminal.bytes, terminal.chunks
                    sent = terminal.send(key)
                    answered = terminal.next_chunk(chunks, 2)
                    if answered is None:
                        raise RuntimeError(f"{name} did not answer a key")
                    terminal.settle(0.03, 1)
                    latency.add(name, answered - sent)
                    if name == "desk":
                        painted.append(terminal.bytes - before)
        finally:
            bare.close()
            desk.close()
    return [
        latency.case(f"cursor down, {ORDERS} orders", "desk", "bare", CURSOR_DOWN),
        Case(
            name="bytes per cursor key",
            subject="desk",
            baseline="limit",
            value=statistics.median(painted),
            base=BYTES_PER_KEY,
            demand=1.0,
            unit="B",
            scale=1,
            count=len(painted),
        ),
    ]
