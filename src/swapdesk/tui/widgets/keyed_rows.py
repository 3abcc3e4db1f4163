"""The rows of a table with one cursor that belongs to a key; pure."""

from __future__ import annotations

from collections.abc import Iterable

from swapdesk.tui.widgets.table_layout import TableRow


class KeyedRows:
    """``cursor`` is a position from 0, -1 in a table without selectable rows."""

    def __init__(self) -> None:
        self.all: list[TableRow] = []
        self.cursor = -1
        self._at: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, at: int) -> TableRow:
        return self.all[at]

    @property
    def current(self) -> TableRow | None:
        """The row under the cursor."""
        return self.all[self.cursor] if self.cursor >= 0 else None

    def at(self, key: str) -> int:
        """The position of a row; :class:`KeyError` when there is none of this key."""
        return self._at[key]

    def selectable_at(self, key: str) -> int | None:
        """The position of a row the cursor may stand on."""
        at = self._at.get(key)
        return at if at is not None and self.all[at].selectable else None

    def replace(self, rows: Iterable[TableRow]) -> None:
        """Other rows; the cursor stays on its key. :class:`ValueError` for a key used twice."""
        kept = self.current.key if self.current is not None else None
        self.all = list(rows)
        self._at = {row.key: at for at, row in enumerate(self.all)}
        if len(self._at) != len(self.all):
            raise ValueError("two rows have the same key")
        at = self.selectable_at(kept) if kept is not None else None
        self.cursor = at if at is not None else self._near(self.cursor)

    def put(self, row: TableRow) -> None:
        """Replace the row of the same key; the cursor leaves it if it cannot be selected now."""
        at = self._at[row.key]
        self.all[at] = row
        if at == self.cursor and not row.selectable:
            self.cursor = self._near(at)

    def away(self, steps: int) -> int:
        """The row ``steps`` from the cursor, then the nearest selectable one in that direction
        or back; -1 when there is none."""
        return self._selectable_from(self.cursor, steps)

    def group_top(self, room: int) -> int:
        """The first row to be in view with the cursor: the label above the first row of a group
        comes with it, as far as ``room`` rows allow."""
        first = self.cursor
        while first and not self.all[first - 1].selectable and self.cursor - first < room - 1:
            first -= 1
        return first

    def _near(self, old: int) -> int:
        return self._selectable_from(min(max(old, 0), len(self.all)) - 1, 1)

    def _selectable_from(self, start: int, steps: int) -> int:
        if not self.all or not steps:
            return start
        forward = 1 if steps > 0 else -1
        wanted = min(len(self.all) - 1, max(0, start + steps))
        for direction in (forward, -forward):
            at = wanted
            while 0 <= at < len(self.all):
                if self.all[at].selectable:
                    return at
                at += direction
        return -1
