"""The found tokens as a table: those in view are laid out, the others only measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swapdesk.flows.catalog.search import TokenRow
from swapdesk.tui.screens.token_facts import COLUMNS, numbers, token_table_row
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Sketch, TableRow


class TokenTable(LineTable):
    """Fill with :meth:`show`. A field drives it: it takes no focus itself."""

    def __init__(self, **place: Any) -> None:
        super().__init__(COLUMNS, **place)
        self.can_focus = False
        self._found: dict[str, TokenRow] = {}

    def show(self, found: Iterable[TokenRow]) -> None:
        """These tokens and no others, in their sequence."""
        self._found = {row.id: row for row in found}
        needs = self._layout.needs
        self.set_rows(Sketch(row.id, needs(numbers(row))) for row in self._found.values())

    def laid(self, row: TableRow) -> TableRow:
        token = self._found.get(row.key) if isinstance(row, Sketch) else None
        if token is None:
            return row
        whole = token_table_row(token)
        # What stood in view is compared with what comes next: it stays as it was drawn.
        self._rows.put(whole)
        return whole
