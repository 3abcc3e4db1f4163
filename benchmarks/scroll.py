"""Keys in long lists: 20,000 tokens and 5,000 orders, against typing in a bare input."""

from __future__ import annotations

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.homes import BARE, DESK, fill_catalog, fill_journal, offline_environment
from benchmarks.report import Case, Figures
from benchmarks.terminal import Terminal
from benchmarks.tokens import TOKENS

ORDERS = 5_000
TYPING = 2.5
CURSOR_DOWN = 1.5
PAGE_DOWN = 4.0
BYTES_PER_KEY = 700
_DOWN, _UP, _NEXT, _PREVIOUS = "\x1b[B", "\x1b[A", "\x1b[6~", "\x1b[5~"
_RUBOUT = "\x7f"
_TURN = 10
"""Rows walked one way before the way back, so that the list itself does not scroll."""
_WORDS = ("usdc", "eth", "moon", "sol", "dogc", "btc")


class _Keys:
    """Keys sent to one program, each answered before the next."""

    def __init__(self, terminal: Terminal, rng: random.Random) -> None:
        self._terminal = terminal
        self._rng = rng

    def press(self, key: str) -> tuple[float, int]:
        """Seconds to the first changed bytes, and how many bytes came."""
        terminal = self._terminal
        terminal.settle(0.03, 1)
        time.sleep(self._rng.random() * 0.02)
        before, chunks = terminal.bytes, terminal.chunks
        sent = terminal.send(key)
        answered = terminal.next_chunk(chunks, 2)
        if answered is None:
            raise RuntimeError(f"{key!r} was not answered:\n" + "\n".join(terminal.lines()))
        terminal.settle(0.03, 1)
        return answered - sent, terminal.bytes - before


def run(keys: int) -> list[Case]:
    """``keys`` presses of every kind, interleaved key by key with the bare app."""
    latency = Figures()
    size: dict[str, list[int]] = {}
    rng = random.Random(1)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        fill_catalog(home, TOKENS)
        fill_journal(home, ORDERS)
        terminals = {
            name: Terminal(argv, environment=offline_environment(home))
            for name, argv in (("bare", BARE), ("tokens", DESK), ("orders", DESK))
        }
        for terminal in terminals.values():
            stack.callback(terminal.close)
        _open(terminals)
        pressed = {name: _Keys(terminal, rng) for name, terminal in terminals.items()}
        letters = itertools.cycle("abcdefghijklmnopqrstuvwxyz")
        for kind, lists, walk in (
            ("down", ("tokens", "orders"), _there_and_back(_DOWN, _UP)),
            ("page", ("tokens", "orders"), _there_and_back(_NEXT, _PREVIOUS)),
            ("typing", ("tokens",), _typed()),
        ):
            for key in itertools.islice(walk, keys):
                latency.add(f"bare {kind}", pressed["bare"].press(next(letters))[0])
                for name in lists:
                    seconds, written = pressed[name].press(key)
                    latency.add(f"{name} {kind}", seconds)
                    size.setdefault(f"{name} {kind}", []).append(written)
    return [
        latency.case("typing in the token search", "tokens typing", "bare typing", TYPING),
        latency.case("cursor down, 20,000 tokens", "tokens down", "bare down", CURSOR_DOWN),
        latency.case("cursor down, 5,000 orders", "orders down", "bare down", CURSOR_DOWN),
        latency.case("page down, tokens", "tokens page", "bare page", PAGE_DOWN),
        latency.case("page down, 5,000 orders", "orders page", "bare page", PAGE_DOWN),
        _bytes("bytes per cursor key, tokens", size["tokens down"]),
        _bytes("bytes per cursor key, orders", size["orders down"]),
    ]


def _open(terminals: dict[str, Terminal]) -> None:
    for name, key, shown in (("tokens", "t", "Verdict"), ("orders", "o", "You send")):
        terminal = terminals[name]
        terminal.wait(Terminal.visible, 30)
        terminal.settle(1.0, 15)
        terminal.send(key)
        if terminal.wait(lambda t, shown=shown: t.shows(shown), 30) is None:  # type: ignore[misc]
            raise RuntimeError(f"the {name} did not come up:\n" + "\n".join(terminal.lines()))
        terminal.settle(0.5, 15)


def _there_and_back(there: str, back: str) -> Iterator[str]:
    return itertools.cycle([there] * _TURN + [back] * _TURN)


def _typed() -> Iterator[str]:
    """Words letter by letter, each rubbed out again."""
    for word in itertools.cycle(_WORDS):
        yield from word
        yield from _RUBOUT * len(word)


def _bytes(name: str, sizes: list[int]) -> Case:
    median = statistics.median(sizes)
    return Case(name, "desk", "limit", median, BYTES_PER_KEY, 1.0, "B", 1, len(sizes))
