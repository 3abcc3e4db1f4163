"""A command that connects, from its start to its end beside a running service, against a Python
that imports its libraries and ends."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

from benchmarks.homes import DESK
from benchmarks.report import Case, Figures
from benchmarks.sandbox import running_sandbox

COMMAND = [*DESK, "orders", "list"]
LIBRARIES = [sys.executable, "-c", "import httpx2, pydantic, sqlite3, click"]
MOST_OF_LIBRARIES = 2.0


def run(rounds: int) -> list[Case]:
    """``rounds`` of both in turn; the first of each, which fills caches, does not count."""
    time_of, cpu_of = Figures(), Figures()
    with tempfile.TemporaryDirectory() as home, running_sandbox(home):
        environment = {**os.environ, "SWAPDESK_HOME": home, "HOME": home}
        # With it a changed module would be compiled again in every round.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for number in range(rounds + 1):
            for name, argv in (("libraries", LIBRARIES), ("command", COMMAND)):
                seconds, cpu = _once(argv, environment)
                if number:
                    time_of.add(name, seconds)
                    cpu_of.add(name, cpu)
    return [
        time_of.case("orders list", "command", "libraries", MOST_OF_LIBRARIES),
        cpu_of.case("orders list, CPU seconds", "command", "libraries", MOST_OF_LIBRARIES),
    ]


def _once(argv: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and CPU seconds of one process."""
    before, begin = _children(), time.perf_counter()
    subprocess.run(
        argv,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - begin, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
