"""Process start to first painted frame and to the first key answered, against a bare app."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.homes import BARE, DESK, offline_environment
from benchmarks.report import Case, Figures
from benchmarks.terminal import Terminal

FIRST_FRAME = 1.6
FIRST_KEY = 1.8


def once(argv: list[str], home: Path) -> tuple[float, float, float]:
    """Seconds to the first frame and to the first answered key, and CPU seconds by then."""
    terminal = Terminal(argv, environment=offline_environment(home))
    try:
        first = terminal.wait(Terminal.visible, 30)
        if first is None:
            raise RuntimeError(f"{argv} painted nothing")
        answered = None
        end = time.perf_counter() + 20
        while answered is None and time.perf_counter() < end:
            terminal.send("7")
            answered = terminal.wait(lambda t: t.shows("7"), 0.05)
        if answered is None:
            raise RuntimeError(f"{argv} answered no key")
        return first - terminal.started, answered - terminal.started, terminal.cpu_exact()
    finally:
        terminal.close()


def run(rounds: int) -> list[Case]:
    """Interleaved rounds of the bare app and the desk with a warm home."""
    frame, key, cpu = Figures(), Figures(), Figures()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        once(DESK, home)
        for _ in range(rounds):
            for name, argv in (("bare", BARE), ("desk", DESK)):
                first, answered, used = once(argv, home)
                frame.add(name, first)
                key.add(name, answered)
                cpu.add(name, used)
    return [
        frame.case("first frame", "desk", "bare", FIRST_FRAME),
        key.case("first key answered", "desk", "bare", FIRST_KEY),
        cpu.case("CPU seconds to the first key", "desk", "bare", FIRST_KEY),
    ]
