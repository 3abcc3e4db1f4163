"""A program in a real terminal: a pty whose bytes are kept and drawn by pyte."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

from harness import end
from patience import PATIENCE

QUIET = 0.3


class TerminalWindow:
    """``keys`` counts what was pressed: one per key, two per bracketed paste. ``stdout`` is where
    its data goes, if not to the terminal, too."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        columns: int,
        rows: int,
        stdout: int | None = None,
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # A size in the environment would win over the size of the terminal.
        env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            list(command), stdin=slave, stdout=slave if stdout is None else stdout, stderr=slave,
            env=env, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.written = b""
        self.keys = 0
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)

    @property
    def text(self) -> str:
        """What a person sees now."""
        return "\n".join(row.rstrip() for row in self.screen.display)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Read until ``condition`` holds; the screen is in the error when it never does."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited for {what}:\n{self.text}"
            ended = self.process.poll() is not None
            if not self._read(0.1) and ended:
                # Its end, or what it wrote last, may be what is waited for.
                assert condition(), f"it ended:\n{self.text}"
                return

    def read_until(self, *texts: str) -> None:
        """Wait until all these texts are on the screen together."""
        self.until(lambda: all(text in self.text for text in texts), repr(texts))

    def read_until_quiet(self, quiet: float = QUIET) -> bytes:
        """All that is written until nothing comes for a while."""
        got = b""
        while chunk := self._read(quiet):
            got += chunk
        return got

    def press(self, *keys: str | bytes, sees: str = "") -> None:
        """Press keys, and wait for the words that are seen then."""
        for key in keys:
            self.keys += 1
            os.write(self.master, key.encode() if isinstance(key, str) else key)
        if sees:
            self.read_until(sees)

    def type(self, text: str, sees: str = "") -> None:
        """One key per character."""
        self.press(*text, sees=sees)

    def paste(self, text: str) -> None:
        """A bracketed paste, which counts as two keys."""
        self.keys += 2
        os.write(self.master, b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def kill(self) -> None:
        """``kill -9`` of the program."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def vanish(self) -> None:
        """The window is closed under the program."""
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        end(self.process)
        if self.master >= 0:
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
