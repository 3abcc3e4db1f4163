"""Which process is which: a pid and its start time, so that a reused pid is not mistaken."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    """``started`` is in clock ticks since boot, 0 where the system does not tell."""

    pid: int
    started: int

    @classmethod
    def current(cls) -> ProcessIdentity:
        pid = os.getpid()
        return cls(pid, _start_ticks(pid) or 0)

    def may_take_over(self, owner: ProcessIdentity) -> bool:
        """Whether what ``owner`` began is this process's own, or nobody's any more."""
        return owner == self or not owner.alive()

    def alive(self) -> bool:
        """Whether this very process still runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        ticks = _start_ticks(self.pid)
        return ticks is None or self.started in (0, ticks)


def _start_ticks(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets; fields count from its closing one.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not looked yet.
    return -1 if fields[0] == "Z" else int(fields[19])
