"""What became of a batch, one line for each line of its file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from swapdesk.flows.batch.sheet import Column, sheet_cells
from swapdesk.flows.journal.batch_records import JournaledBatch, JournaledRow
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.order_export import FORMULA
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
