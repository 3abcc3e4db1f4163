"""A batch out of the journal, as the file it was made from: to be shown and gone on with."""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.batch.sheet import TEMPLATE, Column, InputRow, Separator, Sheet
from swapdesk.flows.batch_log import BatchLog, JournaledBatch, RowState
from swapdesk.flows.journal_records import StepState
from swapdesk.flows.tracked_order import KNOWN_TO_API

_RECENT = 20
"""Batches that are looked through for one that is open."""


def sheet_of(batch: JournaledBatch) -> Sheet:
    """Its rows as they were confirmed, with the numbers and lines of their file."""
    rows = tuple(
        InputRow(row.number, row.line, {Column(name): text for name, text in row.cells.items()})
        for row in batch.rows
    )
    return Sheet(batch.file, Separator.COMMA, True, TEMPLATE, rows)


def left_open(log: BatchLog, now: datetime) -> JournaledBatch | None:
    """The newest batch of which a group was not created yet, may have been, or has orders that
    the service still answers for. Raises JournalUnavailable."""
    for batch in log.newest(_RECENT):
        if now - batch.created > KNOWN_TO_API:
            return None
        waits = any(one.open or one.state is StepState.PREPARED for one in batch.groups)
        if waits or any(row.state is RowState.CREATED for row in batch.rows):
            return batch
    return None
