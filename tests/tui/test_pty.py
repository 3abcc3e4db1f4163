"""On a real terminal: no control byte passes, a cursor key is cheap, an idle desk is silent."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pyte
import pytest

PROGRAM = Path(__file__).parent / "pty_desk.py"
COLUMNS, ROWS = 120, 40
PATIENCE = 30.0
QUIET = 0.3


class Terminal:
    """A program in a pty; what it writes is kept as bytes and drawn by pyte."""

    def __init__(self, *arguments: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "LANG": "C.UTF-8", "PYTHONUTF8": "1"},
            start_new_session=True,
        )
        os.close(slave)
        self.written = b""
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)

    def read_until(self, text: str) -> None:
        """Wait until a text is on the screen."""
        end = time.monotonic() + PATIENCE
        while text not in "\n".join(self.screen.display):
            assert time.monotonic() < end, f"{text!r} never came:\n" + "\n".join(
                self.screen.display
            )
            self._read(0.1)

    def read_until_quiet(self) -> bytes:
        """All that is written until nothing comes for a while."""
        got = b""
        while chunk := self._read(QUIET):
            got += chunk
        return got

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        os.close(self.master)

    def _read(self, timeout: float) -> bytes:
        if not select.select([self.master], [], [], timeout)[0]:
            return b""
        try:
            chunk = os.read(self.master, 65536)
        except OSError:
            # The program has ended and its side of the terminal is closed.
            return b""
        self.written += chunk
        self._stream.feed(chunk)
        return chunk


@pytest.fixture
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    opened = Terminal(*getattr(request, "param", ()))
    yield opened
    opened.close()


PAYLOADS = [
    ("\\x1b]52;c;aGVsbG8=\\x07", b"\x1b]52;c;"),
    ("\\x1b]0;owned\\x07", b"\x1b]0;owned"),
    ("\\x1b]8;;http://evil.example/\\x1b\\\\pay here", b"\x1b]8;"),
    ("a\\x1b[6nb\\x1b[2Jc", b"\x1b[6n"),
    ("a\\u009b31mb\\u202ec\\u200bd", b"\xc2\x9b"),
    ("a\\u202eb", "\u202e".encode()),
]


@pytest.mark.parametrize(
    ("terminal", "forbidden"),
    [((text,), forbidden) for text, forbidden in PAYLOADS],
    indirect=["terminal"],
)
def test_no_control_byte_of_a_text_reaches_the_terminal(
    terminal: Terminal, forbidden: bytes
) -> None:
    terminal.read_until("end of it")
    terminal.read_until_quiet()
    assert forbidden not in terminal.written


@pytest.mark.parametrize("terminal", [("quotes",), ("orders",)], indirect=True)
def test_a_cursor_key_is_cheap_and_an_idle_desk_is_silent(terminal: Terminal) -> None:
    terminal.read_until("h8K020")
    terminal.read_until_quiet()
    costs = []
    for _ in range(8):
        terminal.press(b"\x1b[B")
        costs.append(len(terminal.read_until_quiet()))
    bars = [row for row in terminal.screen.display if row.startswith("▌")]
    assert len(bars) == 1
    assert "h8K009" in bars[0]
    assert min(costs) > 0
    assert max(costs) <= 700, costs
    assert terminal.read_until_quiet() == b""
