"""A batch out of the journal, as the file it was made from: to be shown and gone on with."""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.batch.progress import batch_progress
from swapdesk.flows.batch.sheet import TEMPLATE, InputRow, Separator, Sheet, sheet_cells
from swapdesk.flows.journal.batch_records import JournaledBatch, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API

_RECENT = 20
"""Batches that are looked through for one that is open."""


def sheet_of(batch: JournaledBatch) -> Sheet:
    """Its rows as they were confirmed, with the numbers and lines of their file."""
    rows = tuple(InputRow(row.number, row.line, sheet_cells(row.cells)) for row in batch.rows)
    return Sheet(batch.file, Separator.COMMA, True, TEMPLATE, rows)


def left_open(journal: Journal, now: datetime) -> JournaledBatch | None:
    """The batch to show again: the newest on which something is due, else the newest with orders
    that the service still answers for. Raises JournalUnavailable."""
    recent: JournaledBatch | None = None
    for batch in journal.batches.newest(_RECENT):
        if now - batch.created > KNOWN_TO_API:
            break
        if batch_progress(journal, batch.id).due:
            return batch
        if recent is None and any(row.state is RowState.CREATED for row in batch.rows):
            recent = batch
    return recent
