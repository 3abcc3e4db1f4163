"""Drive a terminal program in a pty and time what it paints.

A reader thread stamps every chunk as it arrives; the screen model is fed afterwards, so its
cost never sits inside a measured interval.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

_QUERIES = (
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[?2048$p", b"\x1b[?2048;0$y"),
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;22c"),
)
"""What a current terminal answers."""

_LOOK = 0.1
"""Seconds between two looks of one who waits."""

_KITTY = (b"\x1b[>1u", b"\x1b[<u")


class Terminal:
    """One program in a pty of ``columns`` by ``rows``."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 120,
        rows: int = 40,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._model = pyte.ByteStream(self._screen)
        self._chunks: list[tuple[float, bytes]] = []
        self._fed = 0
        self._arrived = threading.Condition()
        self._closed = False
        self.bytes = 0
        env = {
            **{k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")},
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            **(environment or {}),
        }
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.execvpe(argv[0], list(argv), env)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except OSError:
                data = b""
            at = time.perf_counter()
            for query, answer in _QUERIES:
                if query in data:
                    with contextlib.suppress(OSError):
                        os.write(self._fd, answer)
            with self._arrived:
                self._closed = not data
                if data:
                    self._chunks.append((at, data))
                    self.bytes += len(data)
                self._arrived.notify_all()
            if not data:
                return

    @property
    def chunks(self) -> int:
        return len(self._chunks)

    @property
    def last(self) -> float:
        """When the newest chunk arrived."""
        return self._chunks[-1][0]

    def lines(self) -> list[str]:
        while self._fed < len(self._chunks):
            self._feed()
        return list(self._screen.display)

    @property
    def display(self) -> list[str]:
        """The screen as fed so far."""
        return list(self._screen.display)

    def shows(self, text: str) -> bool:
        return any(text in line for line in self._screen.display)

    def visible(self) -> bool:
        return any(line.strip() for line in self._screen.display)

    def wait(self, condition: Callable[[Terminal], bool], timeout: float = 20.0) -> float | None:
        """When the chunk arrived after which ``condition`` holds; None at the timeout, in which
        a time does not count while the whole machine stood still."""
        left = timeout
        if condition(self):
            return time.perf_counter()
        while True:
            begin = time.perf_counter()
            while self._fed < len(self._chunks):
                at = self._feed()
                if condition(self):
                    return at
            with self._arrived:
                if self._fed < len(self._chunks):
                    continue
                if left <= 0 or self._closed:
                    return None
                self._arrived.wait(min(left, _LOOK))
            left -= min(time.perf_counter() - begin, 2 * _LOOK)

    def next_chunk(self, after: int, timeout: float = 5.0) -> float | None:
        """When the first chunk after number ``after`` arrived."""
        end = time.perf_counter() + timeout
        with self._arrived:
            while len(self._chunks) <= after:
                left = end - time.perf_counter()
                if left <= 0 or self._closed:
                    return None
                self._arrived.wait(left)
            return self._chunks[after][0]

    def settle(self, quiet: float = 0.15, timeout: float = 5.0) -> None:
        """Wait until nothing was painted for ``quiet`` seconds."""
        end = time.perf_counter() + timeout
        while time.perf_counter() < end:
            count = len(self._chunks)
            if self.next_chunk(count, quiet) is None:
                break
        self.lines()

    def send(self, keys: str) -> float:
        at = time.perf_counter()
        os.write(self._fd, keys.encode())
        return at

    def cpu_seconds(self) -> float:
        """CPU time of the program itself so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu_exact(self) -> float:
        """CPU time of all threads in seconds, to the nanosecond."""
        total = 0
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
        return total / 1e9

    def memory(self) -> float:
        """Resident memory in MiB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close(self) -> None:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, kind)
            end = time.perf_counter() + 3
            while time.perf_counter() < end:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self._fd)
                    return
                time.sleep(0.02)

    def _feed(self) -> float:
        at, data = self._chunks[self._fed]
        self._fed += 1
        for sequence in _KITTY:
            data = data.replace(sequence, b"")
        self._model.feed(data)
        return at
