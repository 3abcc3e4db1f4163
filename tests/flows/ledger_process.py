"""A process of its own on one journal: it asks for claims, takes acts over, or kills itself between
two statements of a transaction. Prints a JSON document when it is there, and one of what it got."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import ClaimTaken, Ledger, State

CLAIMS = 200
STATEMENTS = 11
"""Of the transaction, from its begin to its commit."""


def ask(ledger: Ledger, order: int) -> list[str]:
    """The claims that this process got, asked for forwards or backwards."""
    got = []
    for number in range(CLAIMS)[::order]:
        try:
            ledger.begin("deposit", {"by": "wallet"}, claim=f"deposit:{number}")
        except ClaimTaken:
            continue
        got.append(f"deposit:{number}")
    return got


def take_over(ledger: Ledger, order: int) -> list[str]:
    return [act.id for act in ledger.where("TRUE")[::order] if ledger.take_over(act.id)]


def begin_group(ledger: Ledger) -> None:
    """Several acts in one commit, with moves of what is there."""
    with ledger.transaction():
        ledger.move("before", State.DONE, hash="0xpaid")
        ledger.begin("batch", {}, id="batch", claim="batch:file")
        ledger.begin("create_group", {"number": 1}, id="group", parent="batch")
        for number in range(2):
            ledger.begin("row", {"number": number}, parent="group")
        ledger.move_parts("group", "row", State.SENT)
        ledger.tell("before", status=200)
        ledger.free("deposit:before")


def kill_at(file: JournalFile, last: int) -> None:
    """Kill this process when its statement ``last`` is about to run."""
    left = last

    def count(statement: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    assert file._connection is not None
    file._connection.set_trace_callback(count)


def main() -> None:
    path, what, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    file = JournalFile.open(path)
    ledger = Ledger(file, SystemClock())
    if what == "begin group":
        kill_at(file, number)
        begin_group(ledger)
        return
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    sys.stdin.readline()
    got = {"claims": ask, "owners": take_over}[what](ledger, number)
    sys.stdout.write(json.dumps(got) + "\n")
    sys.stdout.flush()
    # What it owns is taken over by others once it has ended.
    sys.stdin.readline()


if __name__ == "__main__":
    main()
