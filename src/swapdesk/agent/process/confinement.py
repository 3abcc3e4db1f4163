"""The restrictions that the process with the keys sets on itself before anything else. This module
imports only what it needs for them; ``__main__`` calls it before every other import."""

from __future__ import annotations

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PT_DENY_ATTACH = 31


def confine(parent: int) -> bool:
    """Forbids core files, debuggers and keyboard signals, and makes this process end with the desk.
    Returns False if the desk has ended already. Raises OSError if debuggers cannot be kept out."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    if sys.platform == "linux":
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).prctl
        call(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        if call(_PR_GET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError("the memory of this process cannot be closed to others")
        call(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    elif sys.platform == "darwin":
        import ctypes

        # If a debugger is attached already, the process ends here.
        if ctypes.CDLL(None, use_errno=True).ptrace(_PT_DENY_ATTACH, 0, None, 0) != 0:
            raise OSError("the memory of this process cannot be closed to debuggers")
    # Checked after the signal is set, which covers a parent that ends later.
    return os.getppid() == parent


def place_of(error: BaseException) -> str:
    """Returns the type of an exception and the line that raised it, without the message, which
    could quote secrets."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if f"{os.sep}swapdesk{os.sep}" in name:
            place = f" at {os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}"


def say_no_more_than_types() -> None:
    """Makes uncaught exceptions print only their type and line (``place_of``), because their
    messages could quote secrets."""

    def tell(error: BaseException) -> None:
        os.write(2, f"{place_of(error)}\n".encode())

    import threading

    sys.excepthook = lambda kind, error, trace: tell(error)
    threading.excepthook = lambda failure: tell(failure.exc_value or failure.exc_type())
    sys.unraisablehook = lambda failure: tell(failure.exc_value or failure.exc_type())


def take_pipes() -> tuple[int, int]:
    """Returns the descriptors of the pipes from and to the desk. Standard input and output become
    the null device, so that no ``print`` corrupts a frame."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return source, sink
