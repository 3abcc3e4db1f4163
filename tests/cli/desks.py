"""Commands as tests run them: in a home of their own, or inside the test process."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from harness import Result, Sandbox, cli, environment, wait_for
from patience import PATIENCE
from printed_documents import check_printed
from swapdesk.cli.main import run
from swapdesk.cli.output import escape_foreign
from swapdesk.sandbox.world import WorldToken

_TESTS = Path(__file__).parents[1]


def run_here(
    *arguments: str, home: Path, env: Mapping[str, str] | None = None, stdin: str = ""
) -> Result:
    """As :func:`harness.cli`, inside the test process: a third of the processor time."""
    with (
        mock.patch.dict(os.environ, environment(home, **(env or {})), clear=True),
        contextlib.chdir(home),
        _streams(stdin) as (out, err),
    ):
        collects = gc.get_threshold()
        try:
            code = run(arguments)
        finally:
            gc.set_threshold(*collects)
    result = Result(out.getvalue().decode(), err.getvalue().decode(), int(code))
    check_printed(arguments, result.stdout, result.stderr)
    return result


@contextlib.contextmanager
def _streams(stdin: str) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard streams as of a command without a terminal; gives what is written to two."""
    out, err = io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
    ours = sys.stdout, sys.stderr
    escape_foreign()
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in ours:
            stream.detach()


class Commands:
    """Commands of one home, and the two ways in which they end that tests expect."""

    def __call__(self, *words: str, stdin: str = "") -> Result:
        raise NotImplementedError

    def made(self, *words: str, stdin: str = "") -> Any:
        """What a command that has to succeed prints, the last of several documents."""
        result = self(*words, "--json", stdin=stdin)
        assert result.code == 0, (words, result)
        return result.documents[-1]

    def refused(self, end: int, code: str, *words: str, stdin: str = "") -> dict[str, Any]:
        """The error of a command that has to end with it."""
        result = self(*words, "--json", stdin=stdin)
        assert (result.code, result.error["code"]) == (end, code), (words, result)
        return result.error


class Desk(Commands):
    """Commands of one partner in one home, against a running sandbox."""

    def __init__(self, sandbox: Sandbox, home: Path, environ: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.home = home
        self.environ = environ

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        return run_here(*arguments, home=self.home, env=self.environ, stdin=stdin)

    def process(self, *arguments: str, stdin: str = "") -> Result:
        """The same by a process, for what belongs to one: pipes, descriptors, and locks against
        what this process holds."""
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


class InProcess(Commands):
    """Commands inside the test process, in a home without a service."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ: dict[str, str] = {}

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        return run_here(*arguments, home=self.home, env=self.environ, stdin=stdin)


def account_of(sandbox: Sandbox, kind: str, chain: Any, *tokens: WorldToken) -> str:
    """The wallet's account of a kind, once the faucet's money is there."""
    desk = Desk(sandbox, sandbox.home, {})
    listed = desk("wallet", "balance", "--json")
    assert listed.code == 0, listed.stderr
    accounts = desk("wallet", "list", "--json").document["accounts"]
    found: str = next(one["address"] for one in accounts if one["kind"] == kind)
    wait_for(lambda: all(chain.balance(token, found) > 0 for token in tokens))
    return found


def batch_file(place: Path, *rows: str, head: str = "to,sell_amount,buy,chain,sell") -> str:
    """The path of a file with these rows."""
    path = place / "payout.csv"
    path.write_text("\n".join((head, *rows, "")))
    return str(path)
