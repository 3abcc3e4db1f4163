"""The workers of a run as forks of one process that has imported the tests.

Importing all tests is most of what a worker does until its first one: six seconds of the processor.
It is done once, by the process that forks the workers (``forked_processes``); each of them collects
then what is there already.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import py_compile
import threading
import warnings
from collections.abc import Collection, Iterable
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

import _pytest.config
import pytest
from _pytest.assertion import rewrite
from _pytest.pathlib import ImportMode, import_path

TOLD = "TESTS_LOADED"
"""The variable with what stands on the command line of the run."""
_TESTS = Path(__file__).parent


def begin(config: pytest.Config) -> None:
    """Say what the workers of this run are going to import."""
    asked = [str(config.invocation_params.dir / each.split("::")[0]) for each in config.args]
    os.environ[TOLD] = json.dumps({"asked": asked, "full": config.getoption("--full")})


def load() -> None:
    """Import what the workers would; a test that cannot be imported is told by each of them."""
    told = json.loads(os.environ[TOLD])
    config = _pytest.config._prepareconfig(["--noconftest"])
    # Before its plugins know of it, hypothesis may not be there.
    import sampling

    sampling.use(full=told["full"])
    _compile_side_by_side(config)
    gc.disable()
    with warnings.catch_warnings():
        _pytest.config.apply_warning_filters(config.getini("filterwarnings"), [])
        for file in _files(told["asked"]):
            with contextlib.suppress(BaseException):
                import_path(
                    file,
                    mode=ImportMode.importlib,
                    root=config.rootpath,
                    consider_namespace_packages=False,
                )
    config._ensure_unconfigure()
    gc.enable()
    assert threading.active_count() == 1, "a fork has none of these threads"


def _files(asked: Iterable[str]) -> list[Path]:
    """Modules of tests below these places, as they are collected."""
    places = map(Path, asked)
    return [
        file
        for place in places
        for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]


def _compile_side_by_side(config: pytest.Config) -> None:
    """Compile what a new clone has not compiled yet, and gather the constants that hypothesis draws
    from, on all processors. Everybody begins elsewhere and leaves out what another one has done."""
    source = set((_TESTS.parent / "src").rglob("*.py"))
    files = sorted({*_TESTS.rglob("*.py"), *source})
    if all(_compiled(file, source).exists() for file in files):
        return
    count = os.cpu_count() or 1
    for number in range(count):
        if os.fork() == 0:
            with contextlib.suppress(BaseException):
                begin = len(files) * number // count
                for file in files[begin:] + files[:begin]:
                    _compile(file, source, config)
            os._exit(0)
    for _ in range(count):
        os.wait()


def _compiled(file: Path, source: Collection[Path]) -> Path:
    """Where the compiled module stands; tests are written anew before, so that they say more."""
    if file in source or not (file.name == "conftest.py" or file.name.startswith("test_")):
        return Path(cache_from_source(str(file)))
    return rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)


def _compile(file: Path, source: Collection[Path], config: pytest.Config) -> None:
    compiled = _compiled(file, source)
    if compiled.exists():
        return
    if compiled.name.endswith(rewrite.PYC_TAIL):
        compiled.parent.mkdir(exist_ok=True)
        digest, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, compiled)
        return
    py_compile.compile(str(file))
    if file in source:
        from hypothesis.internal.constants_ast import constants_from_module

        module = ModuleType(file.stem)
        module.__file__ = str(file)
        constants_from_module(module)
