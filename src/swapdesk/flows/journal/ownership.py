"""Who works on a row of the journal: one process, until it is dead."""

from __future__ import annotations

from typing import Literal

from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.process_identity import ProcessIdentity


class Ownership:
    """Of the rows of ``table``, told apart by their ``id``. ``me`` owns what is begun here."""

    def __init__(self, file: JournalFile, table: Literal["intent", "batch"]) -> None:
        self._file = file
        self._table = table
        self.me = ProcessIdentity.current()

    def take_over(self, id_: str) -> bool:
        """Whether the row is this process's own from here on: False while another owner lives,
        and for no such row. Raises JournalUnavailable."""
        with self._file.write() as db:
            row = db.execute(
                f"SELECT owner_pid, owner_start FROM {self._table} WHERE id = ?",  # noqa: S608
                (id_,),
            ).fetchone()
            if row is None:
                return False
            owner = ProcessIdentity(row["owner_pid"], row["owner_start"])
            if not self.me.may_take_over(owner):
                return False
            # The transaction has the write lock since before it read.
            db.execute(
                f"UPDATE {self._table} SET owner_pid = ?, owner_start = ? WHERE id = ?",  # noqa: S608
                (self.me.pid, self.me.started, id_),
            )
            return True
