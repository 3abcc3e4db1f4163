"""The rows of a batch that became no order, as a sheet of their own: judged and created as any
other, so that what stands is never asked for twice."""

from __future__ import annotations

from swapdesk.flows.batch.sheet import Column, InputRow, Separator, Sheet, sheet_cells
from swapdesk.flows.journal.batch_records import JournaledBatch, RowState


class NoFailedRows(Exception):
    """Every row of the batch became an order, or may have."""


def failed_sheet(batch: JournaledBatch) -> Sheet:
    """The failed rows with the cells that were confirmed, renumbered from 1; ``line`` is still
    that of the first file. Rows that are not known to have failed are no part of it. Raises
    NoFailedRows."""
    failed = [row for row in batch.rows if row.state is RowState.FAILED]
    if not failed:
        raise NoFailedRows(batch.id)
    rows = tuple(
        InputRow(number, row.line, sheet_cells(row.cells))
        for number, row in enumerate(failed, start=1)
    )
    named = tuple(column for column in Column if any(column in row.cells for row in rows))
    return Sheet(batch.file, Separator.COMMA, True, named, rows)
