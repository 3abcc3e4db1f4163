"""Opens a journal and kills itself at the n-th thing that SQLite or the system does for it; with
0 it goes through and tells how many there are."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from swapdesk.flows.journal.journal_file import JournalFile


class Moments:
    """Counts what is done, and kills the process when ``last`` is done."""

    def __init__(self, last: int) -> None:
        self.done = 0
        self._last = last
        self._connect = sqlite3.connect

    def passed(self) -> int:
        """Called between two instructions of SQLite."""
        self.done += 1
        if self.done == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = self._connect(*arguments, **options)
        db.set_progress_handler(self.passed, 1)
        return db

    def on_audit(self, event: str, _: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "sqlite3.connect"):
            self.passed()


def main() -> None:
    path, moments = Path(sys.argv[1]), Moments(int(sys.argv[2]))
    sys.addaudithook(moments.on_audit)
    sqlite3.connect = moments.connect  # type: ignore[assignment]
    file = JournalFile.open(path)
    told = moments.done if file.problem is None else file.problem
    sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    main()
