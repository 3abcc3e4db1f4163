"""A secret on a terminal for as long as it takes to write it down, and never in its scrollback.

The terminal's second screen is used, which scrolls nowhere and is gone when it is left. Any key
hides the secret, and so do time and the end of the program by a signal.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from swapdesk.cli.output import safe_line

HIDE_AFTER = 30
"""Seconds for which a secret is shown."""

_SECOND_SCREEN, _FIRST_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
_CLEAR = b"\x1b[H\x1b[2J"
_WITHOUT = ("", "dumb", "unknown")

Wait = Callable[[float], bool]
"""Waits so many seconds for a key; whether one came."""


def can_show() -> bool:
    """Whether the terminal has a second screen, and a person at it."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in _WITHOUT


def show_secret(
    above: Sequence[str],
    secret: bytearray,
    *,
    out: int | None = None,
    wait: Wait | None = None,
    seconds: int = HIDE_AFTER,
) -> None:
    """Show ``secret``, ASCII without control bytes, under lines that say whose it is.

    ``out`` and ``wait`` are standard output and the keyboard where nothing else is given.
    """
    if not all(0x20 <= one < 0x7F for one in secret):
        raise ValueError("a secret that is shown is printable ASCII")
    target = sys.stdout.fileno() if out is None else out
    with contextlib.ExitStack() as held:
        if wait is None:
            held.enter_context(_every_key())
            wait = _key_within
        held.enter_context(_ended_by_signals())
        _write(target, _SECOND_SCREEN)
        try:
            _write(target, _CLEAR)
            for line in above:
                _write(target, safe_line(line).encode() + b"\r\n")
            _write(target, b"\r\n")
            _write(target, secret)
            _write(target, b"\r\n\r\n")
            for left in range(seconds, 0, -1):
                _write(target, b"\rHidden in %d s, or with any key. " % left)
                if wait(1.0):
                    break
        finally:
            _write(target, _CLEAR + _FIRST_SCREEN)


def _write(target: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]
    rest.release()


def _key_within(seconds: float) -> bool:
    descriptor = sys.stdin.fileno()
    ready, _, _ = select.select([descriptor], [], [], seconds)
    if ready:
        # What was typed belongs to no question that comes later.
        os.read(descriptor, 1024)
    return bool(ready)


@contextlib.contextmanager
def _every_key() -> Iterator[None]:
    """Each key at once and unseen, those that interrupt or stop a program among them."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    now = termios.tcgetattr(descriptor)
    now[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, now)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A program that is told to end hides the secret first."""

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, end) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
