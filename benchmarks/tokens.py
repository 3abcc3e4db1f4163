"""A desk with 20,000 tokens in its cache: when it paints, answers, finds, and what it holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.homes import BARE, DESK, fill_catalog, offline_environment
from benchmarks.report import Case, Figures
from benchmarks.start import FIRST_FRAME, FIRST_KEY, once
from benchmarks.terminal import Terminal

TOKENS = 20_000
SEARCHABLE = 3.0
MEMORY = 80.0
QUERY, HIT = "usdc", "USD Coin"


def run(rounds: int) -> list[Case]:
    """Interleaved rounds of the bare app and the desk with a full token cache."""
    frame, key, found, cpu = Figures(), Figures(), Figures(), Figures()
    started, searched = Figures(), Figures()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        fill_catalog(home, TOKENS)
        once(DESK, home)
        for _ in range(rounds):
            for name, argv in (("bare", BARE), ("desk", DESK)):
                first, answered, _used = once(argv, home)
                frame.add(name, first)
                key.add(name, answered)
            _bare(home, found, cpu, started)
            _desk(home, found, cpu, started, searched)
    what = f"{TOKENS // 1000}k tokens: "
    return [
        frame.case(f"{what}first frame", "desk", "bare", FIRST_FRAME),
        key.case(f"{what}first key answered", "desk", "bare", FIRST_KEY),
        found.case(f"{what}searchable", "desk", "bare", SEARCHABLE),
        cpu.case(f"{what}CPU seconds until found", "desk", "bare", SEARCHABLE),
        started.limit(f"{what}memory after start", "desk", MEMORY),
        searched.limit(f"{what}memory after a search", "desk", MEMORY),
        started.limit("memory of the bare app", "bare", MEMORY),
    ]


def _bare(home: Path, found: Figures, cpu: Figures, memory: Figures) -> None:
    terminal = Terminal(BARE, environment=offline_environment(home))
    try:
        first = terminal.wait(Terminal.visible, 30)
        if first is None:
            raise RuntimeError("the bare app painted nothing")
        found.add("bare", first - terminal.started)
        cpu.add("bare", terminal.cpu_exact())
        terminal.settle(0.5, 10)
        memory.add("bare", terminal.memory())
    finally:
        terminal.close()


def _desk(home: Path, found: Figures, cpu: Figures, started: Figures, searched: Figures) -> None:
    """From process start until a typed search shows its hit; each key is pressed once."""
    terminal = Terminal(DESK, environment=offline_environment(home))
    try:
        terminal.wait(Terminal.visible, 30)
        # The page opens at once, also before the list is there.
        terminal.send("t")
        if terminal.wait(lambda t: t.shows("Verdict"), 30) is None:
            raise RuntimeError("the tokens did not open:\n" + "\n".join(terminal.lines()))
        terminal.send(QUERY)
        hit = terminal.wait(lambda t: t.shows(QUERY) and t.shows(HIT), 20)
        if hit is None:
            raise RuntimeError("nothing was found:\n" + "\n".join(terminal.lines()))
        found.add("desk", hit - terminal.started)
        cpu.add("desk", terminal.cpu_exact())
        terminal.settle(0.5, 10)
        searched.add("desk", terminal.memory())
    finally:
        terminal.close()
    terminal = Terminal(DESK, environment=offline_environment(home))
    try:
        terminal.wait(Terminal.visible, 30)
        terminal.settle(1.2, 10)
        started.add("desk", terminal.memory())
    finally:
        terminal.close()
