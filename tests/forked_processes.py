"""Processes of ours as forks of one that has imported already what they are made of.

Importing is most of what a short process costs: of the processor a command takes 0.05 s as a fork
and 0.55 s in a fresh interpreter, a sandbox 0.3 s and 1.5 s until it is ready. A run starts some
470 commands and 200 wallet agents outside the tests of screens alone: forks save five minutes of
processor time, which is why there is so much code for them.

Once this is installed, ``subprocess`` makes the programs it knows by forking: with the same words,
descriptors, environment, directory and session, as children of whoever started them, each with a
number of its own to be waited for and killed by. What a fresh interpreter loads, and how it
begins, is tested ``in_fresh_interpreters``.

The tests' process is large and has threads, so that another one forks for it; what was forked
itself forks directly when it starts a process, as a sandbox does its children.

The three parts: whoever starts a program, the process that forks it (``serve``), and the program
in its fork (``become``).
"""

from __future__ import annotations

import array
import asyncio
import atexit
import concurrent.futures.thread
import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import asdict

from known_programs import imports_of, runs_tests, words_of

_PR_SET_CHILD_SUBREAPER = 36
HEAD = 4
"""Bytes before a request that say how long it is; the descriptors come with them."""

_original = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_here: _Forker | None = None


class _Forker:
    """Makes processes for the tests' process, each the child of that one."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._socket: socket.socket | None = None

    def fork(self, program: Program, standard: Sequence[int]) -> int:
        """The number of a process with these three standard descriptors."""
        request = json.dumps(asdict(program)).encode()
        fds = array.array("i", [*standard, *program.passed])
        with self._asking:
            if self._socket is None:
                self._socket = _started()
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
            self._socket.sendmsg([len(request).to_bytes(HEAD, "big")], rights)
            self._socket.sendall(request)
            told = self._socket.recv(16)
        if not told:
            self._socket.close()
            self._socket = None
            raise RuntimeError("the process that forks for the tests is gone")
        return int(told)


def install() -> None:
    """From now on known programs are forked, on Linux; elsewhere nothing changes."""
    global _here
    if sys.platform != "linux" or _here is not None:
        return
    # What another process forks for this one becomes its child as soon as nobody is between them.
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
        _here = _Forker()
        fork_from_here()


def fork_from_here() -> None:
    """Let this process fork what it starts, if nobody does it for this one."""
    subprocess.Popen._execute_child = _execute_child  # type: ignore[attr-defined]


@contextlib.contextmanager
def in_fresh_interpreters() -> Iterator[None]:
    """Programs that are started meanwhile begin as everywhere else, and what they start, too."""
    subprocess.Popen._execute_child = _original  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if _here is not None:
            fork_from_here()


def runs_module(pid: int, module: str) -> bool:
    """Whether a process was started with ``-m module``."""
    try:
        place = Path(f"/proc/{pid}")
        words = (place / "cmdline").read_bytes().split(b"\0")
        name = (place / "comm").read_bytes().rstrip(b"\n")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return module.encode() in words or name == name_of(module)


def _execute_child(
    self: subprocess.Popen[Any],
    args: Any,
    executable: Any,
    preexec_fn: Any,
    close_fds: bool,
    pass_fds: Sequence[int],
    cwd: Any,
    env: Mapping[str, str] | None,
    startupinfo: Any,
    creationflags: int,
    shell: bool,
    p2cread: int,
    p2cwrite: int,
    c2pread: int,
    c2pwrite: int,
    errread: int,
    errwrite: int,
    *rest: Any,
) -> None:
    """As ``subprocess`` has it, for the programs that are known here."""
    _, gid, gids, uid, umask, start_new_session, process_group = rest
    words = None if shell or executable else words_of(args)
    plain = preexec_fn is None and close_fds and (gid, gids, uid) == (None, None, None)
    if words is None or not plain or umask >= 0 or process_group != -1:
        pipes = (p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
        _original(
            self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
            creationflags, shell, *pipes, *rest,
        )  # fmt: skip
        return
    program = Program(
        words,
        os.fspath(cwd) if cwd is not None else os.getcwd(),
        dict(os.environ if env is None else env),
        start_new_session,
        sorted(map(int, pass_fds)),
    )
    standard = [
        own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))
    ]
    popen: Any = self
    popen.pid = _here.fork(program, standard) if _here is not None else forked(program, standard)
    popen._child_created = True
    popen._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def _started() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-P", "-c", "import forked_processes as f; f.serve()",
             str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={
                "PATH": os.environ.get("PATH", ""),
                "LANG": "C.UTF-8",
                "PYTHONPATH": os.pathsep.join(
                    filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
                ),
            },
        )  # fmt: skip
    atexit.register(ours.close)
    return ours


def serve() -> None:
    """Fork what is asked for, until nobody asks any more."""
    from swapdesk.chain.unused_curve import leave_out_validator_keys, postpone_precompiles

    # As at the entries of our own processes.
    leave_out_validator_keys()
    postpone_precompiles()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fork_from_here()
    asked = socket.socket(fileno=int(sys.argv[1]))
    while True:
        head, fds, _, _ = socket.recv_fds(asked, HEAD, 64)
        if not head:
            return
        request = b""
        wanted = int.from_bytes(head, "big")
        while len(request) < wanted:
            request += asked.recv(wanted - len(request))
        program = Program(**json.loads(request))
        if runs_tests(program.words):
            # They are imported in the environment in which they run.
            os.environ.update(program.env)
        _load(program.words)
        asked.sendall(b"%d" % _orphaned(program, fds))
        for one in fds:
            os.close(one)


_imported: set[str] = set()


def _load(words: Sequence[str]) -> None:
    """Import what a program is made of, if that has not been done."""
    missing = [name for name in imports_of(words) if name not in _imported]
    for name in missing:
        _import(name)
        _imported.add(name)
    if missing:
        gc.collect()
        gc.freeze()


def _import(name: str) -> None:
    name, _, function = name.partition(":")
    package, star, _ = name.partition(".*")
    module = importlib.import_module(package)
    if star:
        for each in pkgutil.iter_modules(module.__path__, f"{package}."):
            importlib.import_module(each.name)
    if function:
        getattr(module, function)()


def _orphaned(program: Program, fds: Sequence[int]) -> int:
    """A fork whose parent has ended, so that it is the child of whoever takes orphans in."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        between = os.getpid()
        pid = os.fork()
        if pid:
            os.write(write, b"%d" % pid)
            os._exit(0)
        while os.getppid() == between:
            os.sched_yield()
        become(program, fds)
    os.waitpid(between, 0)
    pid = int(os.read(read, 16))
    os.close(read)
    os.close(write)
    return pid


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
    global _here
    _here = None
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
