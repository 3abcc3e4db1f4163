"""A row of spans cell by cell: its character with its marks, its role, its weight."""

from __future__ import annotations

from rich.cells import cell_len

from swapdesk.tui.spans import Line


def cells_of(line: Line) -> list[tuple[str, str, bool]]:
    cells: list[tuple[str, str, bool]] = []
    for span in line:
        for char in span.text:
            if not cell_len(char) and cells:
                text, role, bold = cells.pop()
                cells.append((text + char, role, bold))
            cells.extend([(char, span.role, span.bold)] * cell_len(char))
    return cells
