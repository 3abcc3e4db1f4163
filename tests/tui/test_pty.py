"""On a real terminal: no control byte passes, a cursor key is cheap, an idle desk is silent."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from patience import PATIENCE
from tui.terminal_window import TerminalWindow

PROGRAM = Path(__file__).parent / "pty_desk.py"
COLUMNS, ROWS = 120, 40


class Terminal(TerminalWindow):
    def __init__(self, argument: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment.pop("NO_COLOR", None)
        super().__init__(
            [sys.executable, str(PROGRAM), argument],
            {**environment, "LANG": "C.UTF-8", "PYTHONUTF8": "1"},
            COLUMNS,
            ROWS,
        )


@pytest.fixture
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    with closing(Terminal(request.param)) as opened:
        yield opened


PAYLOADS = [
    ("\\x1b]52;c;aGVsbG8=\\x07", b"\x1b]52;c;"),
    ("\\x1b]0;owned\\x07", b"\x1b]0;owned"),
    ("\\x1b]8;;http://evil.example/\\x1b\\\\pay here", b"\x1b]8;"),
    ("a\\x1b[6nb\\x1b[2Jc", b"\x1b[6n"),
    ("a\\u009b31mb\\u202ec\\u200bd", b"\xc2\x9b"),
    ("a\\u202eb", "\u202e".encode()),
]


@pytest.mark.parametrize("terminal", [" ".join(text for text, _ in PAYLOADS)], indirect=True)
def test_no_control_byte_of_a_text_reaches_the_terminal(terminal: Terminal) -> None:
    terminal.read_until("end of it")
    terminal.read_until_quiet()
    assert [forbidden for _, forbidden in PAYLOADS if forbidden in terminal.written] == []


def test_it_is_seen_where_errors_go_to_a_file_and_the_terminal_knows_ascii_alone(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "err.log"
    window = TerminalWindow(
        [
            "sh",
            "-c",
            f'exec "$@" 2>"{errors}"',
            "sh",
            sys.executable,
            str(PROGRAM),
            "\\u65e5\\u2192b",
        ],
        {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "ascii"},
        COLUMNS,
        ROWS,
    )
    with closing(window):
        window.read_until("end of it", "???b")
        assert errors.read_bytes() == b""


@pytest.mark.parametrize("terminal", ["orders"], indirect=True)
def test_a_cursor_key_is_cheap_an_idle_desk_silent_and_one_in_the_background_comes_back(
    terminal: Terminal,
) -> None:
    """And one whose window is closed ends."""
    terminal.read_until("h8K020")
    terminal.read_until_quiet()
    before = len(terminal.written)
    for order in range(2, 10):
        terminal.press(b"\x1b[B")
        terminal.until(partial(cursor_is_on, terminal, f"h8K00{order}"), "the cursor to move")
    terminal.read_until_quiet()
    assert len(terminal.written) - before <= 8 * 700
    assert terminal.read_until_quiet() == b""

    shown, pid = terminal.text, terminal.process.pid
    for _ in range(2):
        terminal.press("\x1a")
        terminal.until(lambda: stopped(pid), "the process to stop")
        terminal.read_until_quiet()
        assert terminal.written.rfind(b"\x1b[?1049l") > terminal.written.rfind(b"\x1b[?1049h")
        assert os.isatty(terminal.master)
        # What the shell writes meanwhile is not left there.
        terminal._stream.feed(b"\x1b[2J\x1b[Hshell$ fg")
        os.kill(pid, signal.SIGCONT)
        terminal.until(lambda: terminal.text == shown, "the same picture")
    terminal.press(b"\x1b[B")
    terminal.until(lambda: terminal.text != shown, "a key to be taken")

    terminal.vanish()
    assert terminal.process.wait(PATIENCE) is not None


def cursor_is_on(terminal: Terminal, order: str) -> bool:
    bars = [row for row in terminal.screen.display if row.startswith("▌")]
    return len(bars) == 1 and order in bars[0]


def stopped(pid: int) -> bool:
    """Whether this child has stopped since it was asked about."""
    changed, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
    return changed == pid and os.WIFSTOPPED(status)
