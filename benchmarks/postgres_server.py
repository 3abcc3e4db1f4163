"""A PostgreSQL of the run's own that flushes to disk, and processes that work on it side by side.

The server has no cores of its own: it shares them with whoever asks it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_TESTS = Path(__file__).resolve().parent.parent / "tests"


@contextmanager
def server() -> Iterator[str]:
    """URL of a server, as the tests have one."""
    if str(_TESTS) not in sys.path:
        sys.path.insert(0, str(_TESTS))
    import databases

    os.environ[databases.FLUSHES] = "on"
    with databases.OwnServer.started() as own:
        yield own.cluster.url("postgres")


async def database(url: str, name: str) -> str:
    """URL of a new database there."""
    head, mark, options = url.partition("?")
    await run_alone(url, f"CREATE DATABASE {name}")
    return f"{head.rpartition('/')[0]}/{name}{mark}{options}"


async def run_alone(url: str, statement: str) -> None:
    """What no transaction may do, however long it takes."""
    import asyncpg

    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


class Peers:
    """One process of ``benchmarks.postgres_peer`` for each of the arguments. Those begin together
    when all are ready."""

    def __init__(self, work: str, url: str, arguments: Sequence[Sequence[int]]) -> None:
        command = [sys.executable, "-m", "benchmarks.postgres_peer", work, url]
        self._processes = [
            subprocess.Popen(
                [*command, *map(str, each)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for each in arguments
        ]
        assert self._told() == ["ready"] * len(self._processes)

    def begin(self, line: str = "") -> None:
        """Let them begin, with what they have to know."""
        for each in self._processes:
            assert each.stdin is not None
            each.stdin.write(f"{line}\n")
            each.stdin.flush()

    def end(self) -> list[str]:
        """What each of them tells at its end."""
        told = self._told()
        for each in self._processes:
            each.communicate()
        return told

    def _told(self) -> list[str]:
        pipes = [each.stdout for each in self._processes]
        return [pipe.readline().strip() for pipe in pipes if pipe is not None]
