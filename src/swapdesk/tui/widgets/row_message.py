"""What a table tells of one of its rows."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message
from textual.widget import Widget


@dataclass
class RowMessage(Message):
    """Something about the row of this key in ``table``."""

    table: Widget
    key: str

    @property
    def control(self) -> Widget:
        return self.table
