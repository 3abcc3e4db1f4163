"""Commands as tests run them: in a home of their own, or inside the test process."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import Result, Sandbox, cli
from swapdesk.cli.main import run


class Desk:
    """Commands of one partner in one home, against a running sandbox."""

    def __init__(self, sandbox: Sandbox, home: Path, environ: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.home = home
        self.environ = environ

    def __call__(self, *arguments: str, stdin: str = "", seconds: float = 50.0) -> Result:
        return cli(*arguments, home=self.home, env=self.environ, stdin=stdin, seconds=seconds)


class InProcess:
    """Commands run inside the test process; they must not need a service."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Result:
        code = run(arguments)
        said = self._capsys.readouterr()
        return Result(said.out, said.err, int(code))
