"""A program that runs in a fork as it would in a fresh interpreter."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread
import contextlib
import fcntl
import gc
import importlib.util
import os
import runpy
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

_ABOVE = 64
"""Descriptors are moved above this while they are put in their places."""


class Program(Struct, frozen=True):
    """One process to be. ``passed`` are descriptors that it has under the same numbers."""

    words: list[str]
    directory: str | None
    env: dict[str, str]
    session: bool
    passed: list[int]


def name_of(module: str) -> bytes:
    """What the system calls a fork that runs a module; fifteen bytes are kept."""
    return module.rpartition(".")[2].encode()[:15]


def forked(program: Program, standard: Sequence[int]) -> int:
    """The number of a child of this process that runs a program on these three descriptors."""
    pid = os.fork()
    if pid == 0:
        become(program, [*standard, *program.passed])
    return pid


def become(program: Program, fds: Sequence[int]) -> NoReturn:
    """Run a program in this process and end with it."""
    code = 1
    try:
        _forget(program.session)
        _place(dict(zip([0, 1, 2, *program.passed], fds, strict=True)))
        os.environ.clear()
        os.environ.update(program.env)
        time.tzset()
        os.chdir(program.directory or "/")
        code = _run(program.words)
    except BaseException:  # noqa: BLE001 (told before the end)
        traceback.print_exc()
    finally:
        os._exit(code)


_kept: list[object] = []
"""What was left behind and must not be taken apart here: it is somebody else's."""


def _forget(session: bool) -> None:
    """What belongs to the process this one was forked from."""
    gc.freeze()
    _kept.append((sys.stdin, sys.stdout, sys.stderr))
    asyncio._set_running_loop(None)
    atexit._clear()
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    concurrent.futures.thread._threads_queues.clear()  # type: ignore[attr-defined]
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if session:
        os.setsid()


def _place(wanted: Mapping[int, int]) -> None:
    """Let each number be the given descriptor, and close all others."""
    moved = {at: fcntl.fcntl(one, fcntl.F_DUPFD, _ABOVE) for at, one in wanted.items()}
    for at, one in moved.items():
        os.dup2(one, at)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in wanted:
            with contextlib.suppress(OSError):
                os.close(int(name))
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115


def _run(words: list[str]) -> int:
    """Run as the interpreter would; the exit code."""
    code = 0
    try:
        if words[0] == "-m":
            _run_module(words[1], words[2:])
        elif words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        code = _code_of(end)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:  # noqa: BLE001 (told as the interpreter does)
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    # What an interpreter does at its end, but for taking its modules apart.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code


def _run_module(module: str, arguments: list[str]) -> None:
    Path("/proc/self/comm").write_bytes(name_of(module))
    spec = importlib.util.find_spec(module)
    package = spec is not None and spec.submodule_search_locations is not None
    # It is run under another name, and must not be there under its own, as with an interpreter.
    sys.modules.pop(f"{module}.__main__" if package else module, None)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _code_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1
