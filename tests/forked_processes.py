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
"""

from __future__ import annotations

import array
import atexit
import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from fork_server import HEAD
from forked_program import Program, forked, name_of
from known_programs import words_of

_PR_SET_CHILD_SUBREAPER = 36

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
            [sys.executable, "-P", "-c", "import fork_server as f; f.serve()",
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
