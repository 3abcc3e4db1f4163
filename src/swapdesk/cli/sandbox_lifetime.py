"""Finds the sandbox that a command uses, or starts one.

If a sandbox already runs on this home, it is used as it is. Otherwise one is started as a child
process that ends when the pipe to it closes, so that a killed command leaves none behind. The
sandbox's state stays on disk for the next start.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from msgspec.structs import asdict

from swapdesk.cli.command_error import CommandError, Exit, missing_extra
from swapdesk.clock import SystemClock
from swapdesk.installation import missing
from swapdesk.paths import Home, private_directory

_NEEDS = {
    "sandbox": ("The sandbox", "or choose a live profile"),
    "postgres": ("A store in PostgreSQL", "or leave [store] out"),
    "service": ("Metrics", "or leave [metrics] out"),
}
"""For each optional extra of the installation: what needs it, and what the user can do instead."""


def require_extra(extra: str, what: str = "") -> None:
    """Raises CommandError (exit 2), with the command to install, if a package of the extra is
    missing. ``what`` names the feature."""
    usual, otherwise = _NEEDS[extra]
    if lacking := missing(extra):
        raise missing_extra(what or usual, lacking, extra, otherwise)


SPEED = "30"
"""The speed factor with which the desk starts a sandbox."""

START_SECONDS = 45.0
STOP_SECONDS = 4.0
ENDING_SECONDS = 2.0
_LINE_LIMIT = 64 * 1024
_QUOTED_LINES = 3


class SandboxLifetime:
    """The sandbox that a command uses. Call :meth:`close` at the end; it ends the sandbox if this
    process started it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._own: subprocess.Popen[bytes] | None = None
        self._starting = asyncio.Lock()

    async def ready(self) -> Mapping[str, Any]:
        """Returns the addresses and keys of the running sandbox, after starting one if needed.
        Raises CommandError: exit 2 if it cannot start, 7 if it does not become ready."""
        async with self._starting:
            return await asyncio.to_thread(self._find_or_start)

    def close(self) -> None:
        """Ends the sandbox if this process started it; kills it if necessary."""
        own, self._own = self._own, None
        if own is None:
            return
        if own.stdin is not None:
            own.stdin.close()
        try:
            own.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            own.kill()
            own.wait()
        if own.stdout is not None:
            own.stdout.close()

    def _find_or_start(self) -> Mapping[str, Any]:
        from swapdesk.sandbox.run_file import find_running

        running = find_running(self._home.sandbox)
        if running is None:
            self.close()
            try:
                return self._start()
            except CommandError:
                # Another command may have been quicker: its sandbox is the one of this home.
                running = find_running(self._home.sandbox)
                if running is None:
                    raise
        return asdict(running)

    def _start(self) -> Mapping[str, Any]:
        require_extra("sandbox")
        private_directory(self._home.logs)
        log = self._home.logs / "sandbox.log"
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as words:
            own = self._own = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "swapdesk",
                    "serve",
                    "--sandbox",
                    "--data",
                    str(self._home.sandbox),
                    "--speed",
                    SPEED,
                    "--lifeline",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                # Keys typed at the terminal are for the command; the pipe ends the sandbox.
                start_new_session=True,
            )
        assert own.stdout is not None  # a pipe was asked for
        line = _first_line(own.stdout, START_SECONDS)
        if line is None:
            code = _exit_code(own)
            self.close()
            raise _not_ready(code, log)
        ready: dict[str, Any] = json.loads(line)
        return ready


def _exit_code(ending: subprocess.Popen[bytes]) -> int | None:
    try:
        return ending.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _first_line(pipe: IO[bytes], seconds: float) -> bytes | None:
    clock = SystemClock()
    until = clock.monotonic() + seconds
    line = bytearray()
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([pipe], [], [], max(0.0, until - clock.monotonic()))
        chunk = os.read(pipe.fileno(), 4096) if readable else b""
        if not chunk or len(line) > _LINE_LIMIT:
            return None
        line += chunk
    return bytes(line)


def _not_ready(code: int | None, log: Path) -> CommandError:
    lines = log.read_text(errors="replace").strip().splitlines()[-_QUOTED_LINES:]
    why = f" It said: {' / '.join(lines)}" if lines else ""
    refused = code == Exit.BAD_INPUT
    return CommandError(
        Exit.BAD_INPUT if refused else Exit.UNREACHABLE,
        "SANDBOX_REFUSED" if refused else "SANDBOX_NOT_READY",
        f"The sandbox did not start.{why}",
        next=f"you: read {log}",
    )
