"""Names of the address book that fit a chain, as rows below the recipient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from swapdesk.flows.notation import short_address
from swapdesk.tui.spans import LineLike, Span

if TYPE_CHECKING:
    from swapdesk.flows.address_book import AddressBook
    from swapdesk.wire.chains import Chain

MOST = 6


def book_rows(
    book: AddressBook, chain: Chain, paid: Mapping[str, int], typed: str
) -> list[LineLike]:
    """The entries whose names begin as ``typed`` does, with how often they were paid."""
    begun = typed[1:].lower() if typed.startswith("@") else ""
    entries = [one for one in book.entries(chain.kind, chain.short_name)
               if one.name.startswith(begun)]  # fmt: skip
    if not entries:
        return []
    rows: list[LineLike] = [Span(f"Address book, {chain.name}", "muted")]
    size = max(len(entry.label) for entry in entries[:MOST]) + 2
    for entry in entries[:MOST]:
        times = paid.get(entry.address, 0)
        often = "paid once" if times == 1 else f"paid {times} times"
        said = "own wallet" if entry.own else often if times else entry.note
        rows.append(
            [
                Span(entry.label.ljust(size), bold=True),
                Span(short_address(entry.address)),
                Span(f"   {said}", "muted"),
            ]
        )
    return rows
