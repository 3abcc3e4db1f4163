"""A demonstration as it was carried out once, for all workers: what it printed and its stages.

As a program it carries it out and writes both down, next to the home that is furnished for all.
"""

from __future__ import annotations

import fcntl
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from furnished_home import PLACE
from patience import PATIENCE
from swapdesk.cli.demo_report import tell_in_new_world
from swapdesk.cli.output import Output
from swapdesk.flows.demo.demonstration import DemoChoice
from swapdesk.flows.demo.stage import DEMOS, Stage


class RecordedDemo(Struct, frozen=True):
    text: str
    stages: tuple[Stage, ...]


def recorded(name: str, seed: int = 7) -> RecordedDemo:
    """Who comes first carries it out, the others wait for it."""
    file = Path(os.environ[PLACE], f"demo-{name}-{seed}")
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            words = [sys.executable, __file__, name, str(seed), str(file)]
            subprocess.run(words, check=True, timeout=PATIENCE)
    text, stages = pickle.loads(file.read_bytes())
    rows = DEMOS[name].rows
    return RecordedDemo(
        text, tuple(replace(one, row=row) for one, row in zip(stages, rows, strict=True))
    )


def _carry_out(name: str, seed: int) -> tuple[str, list[Stage]]:
    out = io.StringIO()
    shown = tell_in_new_world(Output("table", stdout=out), DemoChoice(name, seed))
    # The rows hold functions, which are not written down.
    return out.getvalue(), [replace(stage, row=None) for stage in shown.record]


if __name__ == "__main__":
    # Under its own name, by which it is read again.
    from recorded_demo import _carry_out as carry_out

    made = carry_out(sys.argv[1], int(sys.argv[2]))
    written = Path(sys.argv[3]).with_suffix(".part")
    written.write_bytes(pickle.dumps(made))
    written.rename(sys.argv[3])
