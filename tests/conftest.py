"""Options of the whole suite."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import reprlib
import shutil
import sys
import tempfile
from asyncio import base_futures
from pathlib import Path
from typing import Any

import pytest

import databases
import forked_processes
import furnished_home
import loaded_tests
import sampling
import system_browser
from swapdesk.chain import node_http
from swapdesk.chain.unused_curve import leave_out_validator_keys, postpone_precompiles

# Compiled once for all workers and the processes they start, also where nothing shall be kept:
# compiling is half of what a worker needs until its first test.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Pictures have the glyphs of a locale that can write them.
os.environ["LC_ALL"] = "C.UTF-8"

# A client in process asks for it at each request, and an import that fails is tried anew each time:
# a tenth of what such a request costs.
if importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# As at the entries of our own processes.
leave_out_validator_keys()
postpone_precompiles()
forked_processes.install()


ROOM = 4 << 30
"""Bytes of memory that must be free; a run needs half of them at most."""
FULL_TIMEOUT = 1800
"""Seconds after which a test that names no limit counts as hanging with ``--full``."""


def _keep_in_memory() -> None:
    """Let directories of tests be in memory where there is room for them, unless told otherwise:
    a tenth of a run was spent waiting for a disk. To a process that is killed both are the same."""
    with contextlib.suppress(OSError):
        memory = databases.MEMORY
        if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM:
            os.environ.setdefault("TMPDIR", memory)
            tempfile.tempdir = None


# Half a million objects live as long as the run, and every full collection walks them: it comes
# after some tests and not in each. A desk under test keeps to its own rounds meanwhile.
gc.set_threshold(5_000, 10, 100)


class _ShortRepr(reprlib.Repr):
    def repr_instance(self, x: object, level: int) -> str:
        return object.__repr__(x)


# The runner of every coroutine writes out what the last one returned, and forgets it. What a
# fixture returns is a whole service.
futures: Any = base_futures
futures.reprlib = _ShortRepr()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run the long tests, and fuzz at full size"
    )
    parser.addoption(
        "--reversed", action="store_true", help="run the last test first: none leans on another"
    )
    parser.addoption("--pictures", metavar="DIRECTORY", help="keep what the browser tests saw")


def pytest_configure(config: pytest.Config) -> None:
    sampling.use(full=config.getoption("--full"))
    if not _is_worker(config):
        _keep_in_memory()
        databases.begin()
        loaded_tests.begin(config)
        furnished_home.begin(early=bool(config.getoption("numprocesses", None)))


def pytest_unconfigure(config: pytest.Config) -> None:
    # A process ends with a collection of all it ever made, which takes a worker two seconds.
    gc.freeze()
    if not _is_worker(config):
        furnished_home.end()
        databases.end()


def pytest_runtest_setup() -> None:
    """A node may stand at the port of an earlier test's that asked to be left alone, by the time
    of another event loop."""
    node_http._held_until.clear()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if collection_path == system_browser.FOLDER and system_browser.missing() else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if missing := system_browser.missing():
        terminalreporter.write_line(f"tests/browser was left out: it needs {missing}")


BEGUN_FIRST = (
    "test_guides.py",
    "test_scenes.py",
    "test_hostile_scenes.py",
    "test_signing_end_to_end.py",
    "test_batch_end_to_end.py",
    "test_end_to_end.py",
    "test_wallets.py",
    "test_kills.py",
    "test_kill_loop.py",
    "test_home_kills.py",
)
"""Their tests take up to half a minute: one that is begun last keeps a worker when no other has
work. Each worker begins with its share of them."""


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        # Left out and not skipped: a test that is skipped is still set up and reported.
        long = [item for item in items if "long" in item.keywords]
        items[:] = [item for item in items if "long" not in item.keywords]
        config.hook.pytest_deselected(items=long)
    else:
        # A property at full size takes minutes on a busy machine and would count as hanging.
        for item in items:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(FULL_TIMEOUT))
    if config.getoption("--reversed"):
        items.reverse()
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    begun = [item for item in items if item.path.name in BEGUN_FIRST]
    begun = [item for worker in range(workers) for item in begun[worker::workers]]
    others = [item for item in items if item.path.name not in BEGUN_FIRST]
    items.clear()
    for left in range(workers, 0, -1):
        # As many as the scheduler below hands to each worker in the beginning.
        count, first = (len(begun) + len(others)) // left, len(begun) // left
        items += begun[:first] + others[: count - first]
        del begun[:first], others[: count - first]


def pytest_collection_finish() -> None:
    """What stands once all tests are known stays to the end: no collection walks it again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker takes a run of neighbours and, when it has none left, some of the other's.

    One by one, as is the default, both workers would start the sandboxes of every module.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None
