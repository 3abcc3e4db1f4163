"""The process that forks for the tests' own, told over the socket that is its argument."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
from collections.abc import Sequence

from forked_program import Program, become
from known_programs import imports_of

HEAD = 4
"""Bytes before a request that say how long it is; the descriptors come with them."""


def serve() -> None:
    """Fork what is asked for, until nobody asks any more."""
    from forked_processes import fork_from_here
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
