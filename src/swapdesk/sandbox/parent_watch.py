"""How a child process of the sandbox lives: told what to do, and gone with its starter.

The first line on standard input is a JSON object with its orders; the pipe stays open as
long as the starter lives, also when the starter is killed. Orders hold secrets, so they
travel neither in arguments nor in the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import threading
from typing import Any

GRACE_SECONDS = 1.5
"""How long a child may take to end once its starter is gone."""

ORDERS_LIMIT = 64 * 1024
_STDIN, _STDOUT = 0, 1


def read_orders() -> dict[str, Any]:
    """The first line of standard input. Raises EOFError when the starter is gone."""
    line = bytearray()
    while not line.endswith(b"\n"):
        # Unbuffered, so that nothing of the pipe is swallowed before the watch begins.
        byte = os.read(_STDIN, 1)
        if not byte or len(line) > ORDERS_LIMIT:
            raise EOFError("no orders on standard input")
        line += byte
    orders: dict[str, Any] = json.loads(line)
    return orders


def announce(document: dict[str, Any]) -> None:
    """Tell the starter one thing: ready, or why not. One that is gone hears nothing; the end of
    its pipe then ends this process."""
    # Past the buffer of stdout, which would be written once more when the process ends.
    with contextlib.suppress(BrokenPipeError):
        os.write(_STDOUT, json.dumps(document).encode() + b"\n")


def stop_on_end(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """An event set by SIGTERM, SIGINT or the end of the pipe; after that the process has
    ``GRACE_SECONDS`` before it ends the hard way."""
    stop = asyncio.Event()

    def begin() -> None:
        if not stop.is_set():
            stop.set()
            timer = threading.Timer(GRACE_SECONDS, os._exit, (1,))
            timer.daemon = True
            timer.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin)
    watch = threading.Thread(target=_watch, args=(loop, begin), daemon=True)
    watch.start()
    return stop


def _watch(loop: asyncio.AbstractEventLoop, begin: Any) -> None:
    while os.read(_STDIN, 4096):
        continue
    try:
        loop.call_soon_threadsafe(begin)
    except RuntimeError:
        # The loop has ended: so has the process, all but its last lines.
        return
