"""A command in a process of its own that kills itself at a boundary."""

from __future__ import annotations

import os
import signal
import sys

from flows.dex.boundaries import striking
from swapdesk.cli.main import run

if __name__ == "__main__":
    boundary, *words = sys.argv[1:]
    with striking(boundary, lambda: os.kill(os.getpid(), signal.SIGKILL)):
        run(words)
