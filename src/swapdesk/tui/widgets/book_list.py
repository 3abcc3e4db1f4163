"""Names of the address book that fit a chain, as rows below the field that takes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import short_address
from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike, Span, cut, ruled, spread

if TYPE_CHECKING:
    from swapdesk.flows.payees.address_book import AddressBook
    from swapdesk.wire.chains import Chain

MOST = 6
BookRow = tuple[LineLike, LineLike]
"""What stands left and right in a row."""


class BookRows(LinesView):
    """A head with the chain and the number of names, then the names."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._head: tuple[str, str] | None = None
        self._rows: tuple[BookRow, ...] = ()

    def show_names(
        self, book: AddressBook, chain: Chain, paid: Mapping[str, int], typed: str
    ) -> None:
        """The entries whose names begin as ``typed`` does, with how often they were paid."""
        found, count = book_rows(book, chain, paid, typed)
        head = (f"Address book, {chain.name}", str(count)) if found else None
        if (head, found) != (self._head, self._rows):
            self._head, self._rows = head, found
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._head is None:
            return []
        rows = [ruled(Span(self._head[0], "muted"), Span(self._head[1], "muted"), width)]
        return [*rows, *(cut(spread(left, right, width), width) for left, right in self._rows)]


def book_rows(
    book: AddressBook, chain: Chain, paid: Mapping[str, int], typed: str
) -> tuple[tuple[BookRow, ...], int]:
    """The rows to show and how many names fit; the wanted ones first come first shown."""
    begun = typed[1:].lower() if typed.startswith("@") else ""
    fitting = book.entries(chain.kind, chain.short_name)
    entries = [one for one in fitting if one.name.startswith(begun)]
    if not entries:
        return (), 0
    size = max(len(entry.label) for entry in entries[:MOST]) + 2
    rows: list[BookRow] = []
    for entry in entries[:MOST]:
        times = paid.get(entry.address, 0)
        often = "paid once" if times == 1 else f"paid {times} times"
        said = "own wallet" if entry.own else often if times else entry.note
        left: Line = [Span(entry.label.ljust(size), bold=True), Span(short_address(entry.address))]
        rows.append((left, Span(said, "muted")))
    return tuple(rows), len(entries)
