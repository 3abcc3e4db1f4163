"""Names of the address book and of own accounts that fit a chain, as rows below the field that
takes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import short_address
from swapdesk.tui.spans import Line, LineLike, Span, cut, ruled, spread
from swapdesk.tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from swapdesk.flows.payees.address_book import AddressBook
    from swapdesk.wire.chains import Chain

MOST = 6
BookRow = tuple[LineLike, LineLike]
"""What stands left and right in a row."""
BookPart = tuple[str, int, tuple[BookRow, ...]]
"""A head, how many names there are, and the rows of the first of them."""
NOBODY: Mapping[str, str] = {}


class BookRows(LinesView):
    """Each list has a head with the chain and the number of names, then the names."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._lists: tuple[BookPart, ...] = ()

    def show_names(
        self,
        book: AddressBook,
        chain: Chain,
        paid: Mapping[str, int],
        typed: str,
        own: Mapping[str, str] = NOBODY,
    ) -> None:
        """The entries whose names begin as ``typed`` does, with how often they were paid, and the
        accounts of ``own``, addresses by their names."""
        found, count = book_rows(book, chain, paid, typed)
        parts: list[BookPart] = []
        if found:
            parts.append((f"Address book, {chain.name}", count, found))
        if mine := own_rows(own, typed):
            parts.append((f"Own accounts, {chain.name}", len(mine), mine[:MOST]))
        if tuple(parts) != self._lists:
            self._lists = tuple(parts)
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        rows: list[Line] = []
        for head, count, names in self._lists:
            if rows:
                rows.append([])
            rows.append(ruled(Span(head, "muted"), Span(str(count), "muted"), width))
            rows += [cut(spread(left, right, width), width) for left, right in names]
        return rows


def own_rows(own: Mapping[str, str], typed: str) -> tuple[BookRow, ...]:
    """Own accounts whose names begin as ``typed`` does."""
    begun = typed[1:].casefold() if typed.startswith("@") else ""
    fitting = {name: address for name, address in own.items() if name.startswith(begun)}
    size = max((len(name) for name in fitting), default=0) + 3
    return tuple(
        (
            [Span(f"@{name}".ljust(size), bold=True), Span(short_address(address))],
            Span("your own account", "muted"),
        )
        for name, address in fitting.items()
    )


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
