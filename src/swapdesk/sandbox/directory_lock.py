"""One sandbox per data directory, held by a file lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from swapdesk.clock import Clock

LOCK_FILE = "lock"
WAIT_SECONDS = 5.0
_TRY_SECONDS = 0.05


class DirectoryInUse(Exception):
    """Another sandbox lives in this directory."""


async def lock_directory(directory: Path, clock: Clock, *, seconds: float = WAIT_SECONDS) -> int:
    """The descriptor that holds the lock; children inherit it, so that the directory is free
    only when the last of them has ended. Raises DirectoryInUse after ``seconds``.
    """
    handle = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    until = clock.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= until:
                os.close(handle)
                raise DirectoryInUse(f"another sandbox uses {directory}") from None
            await clock.sleep(_TRY_SECONDS)
        else:
            os.set_inheritable(handle, True)
            return handle
