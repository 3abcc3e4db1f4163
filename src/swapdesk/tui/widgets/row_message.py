"""What a table tells of one of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from swapdesk.tui.widgets.line_table import LineTable


@dataclass
class RowMessage(Message):
    """Something about the row of this key."""

    table: LineTable
    key: str

    @property
    def control(self) -> LineTable:
        return self.table
