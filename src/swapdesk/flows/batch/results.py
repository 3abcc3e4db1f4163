"""What became of a batch: its results file, and the two sheets it is gone on with.

The rows that became no order are a sheet of their own, judged and created as any other, so that
what stands is never asked for twice. A batch out of the journal opens as the file it was made
from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from swapdesk.flows.batch.progress import batch_progress
from swapdesk.flows.batch.sheet import TEMPLATE, Column, InputRow, Separator, Sheet, sheet_cells
from swapdesk.flows.journal.batch_records import JournaledBatch, JournaledRow, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.order_export import FORMULA
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API
from swapdesk.wire.orders import Order

HEADS = ("row", "line", *(column.value for column in Column))
ENDS = ("state", "multiId", "serviceId", "orderState", "code", "reason")


def result_rows(batch: JournaledBatch, orders: Mapping[str, Order]) -> list[dict[str, Any]]:
    """One flat row a line of the file, in its order; ``orders`` by id, as far as known."""
    multi_ids = {group.number: group.multi_id for group in batch.groups}
    return [_row(row, multi_ids[row.group], orders) for row in batch.rows]


def results_csv(rows: list[dict[str, Any]]) -> bytes:
    """UTF-8 with heads; no cell is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*HEADS, *ENDS))
    writer.writerows([_cell(row[name]) for name in (*HEADS, *ENDS)] for row in rows)
    return out.getvalue().encode("utf-8")


def _row(row: JournaledRow, multi_id: str | None, orders: Mapping[str, Order]) -> dict[str, Any]:
    order = orders.get(row.service_id or "")
    cells = sheet_cells(row.cells)
    display = display_of(order) if order is not None else None
    return {
        "row": row.number,
        "line": row.line,
        **{column.value: cells.get(column, "") for column in Column},
        "state": row.state.value,
        "multiId": multi_id,
        "serviceId": row.service_id,
        "orderState": str(display) if display is not None else None,
        "code": row.code,
        "reason": row.reason,
    }


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in FORMULA else text


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
