"""Commands as tests run them: in a home of their own, or inside the test process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Result, Sandbox, cli
from patience import PATIENCE
from swapdesk.cli.main import run

_TESTS = Path(__file__).parents[1]


class Desk:
    """Commands of one partner in one home, against a running sandbox."""

    def __init__(self, sandbox: Sandbox, home: Path, environ: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.home = home
        self.environ = environ

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        return cli(*arguments, home=self.home, env=self.environ, stdin=stdin)

    def killed(self, boundary: str, *arguments: str) -> None:
        """A command that ``kill -9`` ends at a boundary (``flows.dex.boundaries``)."""
        child = subprocess.run(
            [sys.executable, str(_TESTS / "cli" / "killed_command.py"), boundary, *arguments],
            env={**os.environ, "SWAPDESK_HOME": str(self.home), "PYTHONPATH": str(_TESTS)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert child.returncode == -signal.SIGKILL, child.stderr


class InProcess:
    """Commands run inside the test process; they must not need a service."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Result:
        code = run(arguments)
        said = self._capsys.readouterr()
        return Result(said.out, said.err, int(code))
