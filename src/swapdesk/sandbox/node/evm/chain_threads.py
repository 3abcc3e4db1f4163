"""How the process of a node gives way: blocks are made in threads beside its event loop."""

from __future__ import annotations

import os
import sys

NICENESS = 5
"""Of the process that makes blocks: others go first."""
SWITCH_SECONDS = 0.0005
"""How long a thread that makes a block keeps the interpreter when the event loop wants it. The
loop wants it back after every read and write of a socket: at Python's 5 ms, a read beside sixteen
senders waited 0.2 to 0.4 s (p99, at a load of 10), and 0.14 to 0.18 s at this."""


def give_way() -> None:
    """Blocks are made when nobody else needs the processor, and questions do not wait for them.

    For the process of a node, once, before its loop runs.
    """
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)
