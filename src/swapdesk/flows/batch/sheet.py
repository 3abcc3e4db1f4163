"""A file of recipients as cells: its columns, its rows, and one cell written anew.

Cells are data: what a spreadsheet would compute is text here, and stays text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Column(StrEnum):
    """What a cell says, by the name its head has."""

    TO = "to"
    """Recipient: an address or ``@name``."""
    SELL_AMOUNT = "sell_amount"
    """How much is sold, in units of the token that is sold."""
    SELL = "sell"
    """The token that is sold, ``SYMBOL.chain``."""
    BUY = "buy"
    """The token that the recipient gets."""
    CHAIN = "chain"
    """The chain of ``buy``, unless that names it."""
    MEMO = "memo"
    ROUTE = "route"
    """``standard``, which is meant without a word, or ``private``."""
    REFUND = "refund"
    """Where a deposit comes back to."""


TEMPLATE: tuple[Column, ...] = tuple(column for column in Column if column is not Column.REFUND)
"""The columns of a new file, from the left."""

WITHOUT_HEADS: tuple[Column, ...] = (
    Column.TO,
    Column.SELL_AMOUNT,
    Column.BUY,
    Column.CHAIN,
    Column.MEMO,
    Column.ROUTE,
    Column.SELL,
    Column.REFUND,
)
"""The columns of a file without heads, from the left: those of the first template, so that no
file is ever read in two ways."""

NEEDED: tuple[Column, ...] = (Column.TO, Column.SELL_AMOUNT, Column.BUY)

FIRST_NAMES = {Column.SELL_AMOUNT: "amount", Column.BUY: "token"}
"""Heads that were called otherwise at first. The journal has them under these names still, since
an older desk may read it."""
_BY_FIRST_NAME = {name: column for column, name in FIRST_NAMES.items()}


class Separator(StrEnum):
    COMMA = ","
    SEMICOLON = ";"
    TAB = "\t"

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class InputRow:
    """One row. ``number`` counts rows of data from 1, ``line`` is where it begins in the file,
    from 1 with the head: a cell may hold line breaks. ``extra`` are cells beyond the last
    column; ``changed`` the columns that were written anew since."""

    number: int
    line: int
    cells: Mapping[Column, str]
    extra: tuple[str, ...] = ()
    changed: frozenset[Column] = frozenset()

    def cell(self, column: Column) -> str:
        """The cell without the spaces around it, empty when there is none."""
        return self.cells.get(column, "").strip(" ")


@dataclass(frozen=True)
class Sheet:
    """All rows of a file. ``unused`` are heads that name no column of ours. ``plain``: its heads
    say which side the amount counts. ``decimal_comma``: amounts were written with one, and have a
    point now."""

    name: str
    separator: Separator
    headed: bool
    columns: tuple[Column, ...]
    rows: tuple[InputRow, ...]
    unused: tuple[str, ...] = ()
    plain: bool = True
    decimal_comma: bool = False

    @property
    def said(self) -> str:
        """How it was read: ``comma, header``."""
        comma = ", decimal comma" if self.decimal_comma else ""
        return f"{self.separator.word}, {'header' if self.headed else 'no header'}{comma}"


def edited(sheet: Sheet, number: int, column: Column, text: str) -> Sheet:
    """The sheet with one cell written anew; cells beyond the last column of that row are gone.

    :class:`KeyError` when there is no row of this number.
    """
    at = number - 1
    if not 0 <= at < len(sheet.rows):
        raise KeyError(number)
    row = sheet.rows[at]
    cells = {**row.cells, column: text}
    written = replace(row, cells=cells, extra=(), changed=row.changed | {column})
    return replace(sheet, rows=(*sheet.rows[:at], written, *sheet.rows[at + 1 :]))


def journal_cells(cells: Mapping[Column, str]) -> dict[str, str]:
    """Cells by the names that the journal has for their columns."""
    return {FIRST_NAMES.get(column, column.value): text for column, text in cells.items()}


def sheet_cells(cells: Mapping[str, str]) -> dict[Column, str]:
    """Cells of the journal by their columns; names that are none of ours are left out."""
    known = {**{column.value: column for column in Column}, **_BY_FIRST_NAME}
    return {known[name]: text for name, text in cells.items() if name in known}
