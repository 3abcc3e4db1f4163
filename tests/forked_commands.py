"""Commands as processes of their own, forked from one that has imported them already.

Half of what a command costs is importing. Here one process per worker imports once; each command
is a fork of it with its own descriptors, directory and environment. What a fresh interpreter
imports, and when, is tested where processes are started the long way.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

_HEAD = 4


class CommandServer:
    """Starts with the first command, ends with the tests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(
        self, arguments: list[str], env: Mapping[str, str], cwd: Path, stdin: bytes, seconds: float
    ) -> tuple[bytes, bytes, int]:
        """Standard output, standard error and exit code. Raises TimeoutExpired; then it is dead."""
        with (
            tempfile.TemporaryFile() as source,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            source.write(stdin)
            source.seek(0)
            told, theirs = socket.socketpair()
            with told:
                request = json.dumps({"argv": arguments, "env": dict(env), "cwd": str(cwd)})
                self._send(request.encode(), [one.fileno() for one in (source, out, err, theirs)])
                theirs.close()
                pid = int(_line(told))
                told.settimeout(seconds)
                try:
                    code = int(_line(told))
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(arguments, seconds) from None
            out.seek(0)
            err.seek(0)
            return out.read(), err.read(), code

    def _send(self, request: bytes, descriptors: list[int]) -> None:
        if self._socket is None:
            self._socket = self._started()
        fds = array.array("i", descriptors)
        head = len(request).to_bytes(_HEAD, "big")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
        self._socket.sendmsg([head], rights)
        self._socket.sendall(request)

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
            )
        atexit.register(ours.close)
        return ours


def _line(told: socket.socket) -> str:
    """One line of a socket. Raises TimeoutError, or EOFError when the other end is gone."""
    line = b""
    while not line.endswith(b"\n"):
        got = told.recv(1)
        if not got:
            raise EOFError("the command's process is gone")
        line += got
    return line.decode()


# The forking side


def _serve(asked: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        head, fds, _, _ = socket.recv_fds(asked, _HEAD, 4)
        if not head:
            return
        request = b""
        wanted = int.from_bytes(head, "big")
        while len(request) < wanted:
            request += asked.recv(wanted - len(request))
        if os.fork() == 0:
            asked.close()
            _watch(json.loads(request), fds)
        for one in fds:
            os.close(one)


def _watch(request: dict[str, object], fds: list[int]) -> None:
    """Between the server and a command: says its number, waits for it, says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *standard, told = fds
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _become(request, standard)
    for one in standard:
        os.close(one)
    os.write(told, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, object], standard: list[int]) -> None:
    for at, one in enumerate(standard):
        os.dup2(one, at)
        os.close(one)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["swapdesk", *request["argv"]]  # type: ignore[misc]
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    from swapdesk.cli.main import main

    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        # What an interpreter does at its end, but for taking its modules apart.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    import importlib
    import pkgutil

    import swapdesk.cli

    for module in pkgutil.iter_modules(swapdesk.cli.__path__, "swapdesk.cli."):
        importlib.import_module(module.name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
