"""Plants each defect in a copy of the project and expects the tests named beside it to fail.

``python -m tests.planted`` from the root of the project runs all of them, with names after it
only those. ``--contract`` takes the breaks of sentences of the specification in their place, whose
names are the numbers of the sentences. ``--list`` prints the table, ``--suite`` runs the whole
suite in place of the tests that are named, ``--jobs`` works in so many copies side by side. A copy
has a virtual environment of its own, so that programs which the tests start, isolated ones too,
import the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from .defect import ROOT, SOURCES, Defect
from .defects import DEFECTS

_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", "__pycache__", ".hypothesis", "*.egg-info", "node_modules"
)
_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; all others mean that the tests did not run as they should."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_OPTIONS = ("-p", "no:cacheprovider", "-rfE", "--tb=no")
# What holds the table against the source would find every defect by itself.
_SUITE = ("-n", "4", "--ignore=tests/planted", "tests")


class Project:
    """A copy of the project, with an interpreter that imports it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        shutil.copytree(ROOT, self.root, ignore=_LEFT_OUT)
        environment = self.root / ".venv"
        venv.create(environment, symlinks=True)
        self._python = environment / "bin" / "python3"
        packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
        # The order counts: the copy is found before whatever is installed beside this interpreter.
        paths = [self.root / SOURCES, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        lines = dict.fromkeys(str(path) for path in paths)
        (packages / "planted.pth").write_text("\n".join(lines) + "\n")
        shutil.copy2(self.root / "scripts" / "swapdesk", environment / "bin")
        self._require_copy()

    def _require_copy(self) -> None:
        """Raises RuntimeError when isolated programs import anything but the copy."""
        shown = subprocess.run(
            [self._python, "-I", "-c", "import swapdesk; print(swapdesk.__file__)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if not Path(shown).is_relative_to(self.root):
            raise RuntimeError(f"{shown} is imported in place of the copy")

    @contextlib.contextmanager
    def with_defect(self, defect: Defect) -> Iterator[None]:
        """The copy has the defect; whatever happens to the project meanwhile."""
        path = self.root / SOURCES / defect.file
        before = path.read_text(encoding="utf-8")
        self._write(path, before.replace(defect.old, defect.new))
        try:
            yield
        finally:
            self._write(path, before)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        # What was compiled is told apart by the second and the size alone.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def test(self, tests: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
        """Run pytest on ``tests`` in the copy."""
        return subprocess.run(
            [self._python, "-m", "pytest", *_OPTIONS, *options, *tests],
            cwd=self.root,
            env={
                # The same tests pass with it where nothing is planted.
                "SWAPDESK_PATIENCE": "30",
                **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def main(arguments: Sequence[str]) -> int:
    """The exit code: 1 if a defect was not found, 2 if nothing could be proved."""
    asked = _asked(arguments)
    table = _contract() if asked.contract else DEFECTS
    unknown = sorted({*asked.names} - {one.name for one in table})
    if unknown:
        _say(f"no such defect: {', '.join(unknown)}")
        return 2
    chosen = [one for one in table if not asked.names or one.name in asked.names]
    if asked.list:
        for defect in chosen:
            _say(f"{defect.name}: {defect.loses}")
        return 0
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        projects = [Project(Path(place) / str(number)) for number in range(asked.jobs)]
        tests = _SUITE if asked.suite else tuple(dict.fromkeys(_tests_of(chosen)))
        began = time.monotonic()
        workers = ("-n", str(asked.jobs)) if asked.jobs > 1 and not asked.suite else ()
        unchanged = projects[0].test(tests, *workers)
        if unchanged.returncode != _PASSED:
            _say(f"The tests do not pass without a defect:\n{unchanged.stdout}{unchanged.stderr}")
            return 2
        _say(f"without a defect: passed in {time.monotonic() - began:.0f} s")
        found = _look_for(chosen, projects, suite=asked.suite)
    _say(f"{sum(found)} of {len(chosen)} defects found in {time.monotonic() - began:.0f} s")
    return 0 if all(found) else 1


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("names", nargs="*", metavar="NAME", help="defects to plant; all without")
    parser.add_argument("--contract", action="store_true", help="breaks of the specification")
    parser.add_argument("--list", action="store_true", help="what there is and what it would lose")
    parser.add_argument("--suite", action="store_true", help="run the whole suite for each")
    parser.add_argument("--jobs", type=int, default=1, help="copies to work in side by side")
    return parser.parse_args(arguments)


def _contract() -> Sequence[Defect]:
    # As pytest finds what tests share.
    sys.path.insert(0, str(ROOT / "tests"))
    from .contract_defects import CONTRACT

    return CONTRACT


def _look_for(chosen: Sequence[Defect], projects: Sequence[Project], *, suite: bool) -> list[bool]:
    """Whether each was found; every project has one of them at a time."""
    free: SimpleQueue[Project] = SimpleQueue()
    for project in projects:
        free.put(project)

    def look_for(defect: Defect) -> bool:
        project = free.get()
        try:
            return _found(project, defect, suite=suite)
        finally:
            free.put(project)

    with ThreadPoolExecutor(len(projects)) as side_by_side:
        return list(side_by_side.map(look_for, chosen))


def _tests_of(chosen: Sequence[Defect]) -> list[str]:
    return [test for defect in chosen for test in defect.found_by]


def _found(project: Project, defect: Defect, *, suite: bool) -> bool:
    """Plant the defect, run its tests, and say in a line what became of it."""
    began = time.monotonic()
    with project.with_defect(defect):
        run = project.test(_SUITE if suite else defect.found_by, "-x")
    took = f"{time.monotonic() - began:.0f} s"
    if run.returncode == _FAILED:
        by = _FAILURE.search(run.stdout)
        _say(f"{defect.name}: found by {by.group(1) if by else 'a test'} ({took})")
        return True
    _say(f"{defect.name}: NOT FOUND ({took}, pytest ended with {run.returncode})")
    if run.returncode != _PASSED:
        _say(f"{run.stdout}{run.stderr}")
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
