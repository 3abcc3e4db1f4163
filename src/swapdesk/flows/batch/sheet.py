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
    AMOUNT = "amount"
    """What is sold, in units of the token that is sold."""
    TOKEN = "token"
    """What the recipient gets."""
    CHAIN = "chain"
    """The chain of ``token``, unless that names it."""
    MEMO = "memo"
    ROUTE = "route"
    """``standard``, which is meant without a word, or ``private``."""
    SELL = "sell"
    """The token that is sold, ``SYMBOL.chain``."""
    REFUND = "refund"
    """Where a deposit comes back to."""


TEMPLATE: tuple[Column, ...] = tuple(Column)
"""The columns of a file without a head, from the left."""

NEEDED: tuple[Column, ...] = (Column.TO, Column.AMOUNT, Column.TOKEN)


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
    """All rows of a file. ``unused`` are heads that name no column of ours."""

    name: str
    separator: Separator
    headed: bool
    columns: tuple[Column, ...]
    rows: tuple[InputRow, ...]
    unused: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """How it was read: ``comma, header``."""
        return f"{self.separator.word}, {'header' if self.headed else 'no header'}"


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
