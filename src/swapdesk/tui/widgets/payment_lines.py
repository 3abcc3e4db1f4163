"""Payments of one signature, a row each: its number, how much, to whom in full, whose deposit.

The number is that of the payment, from 1. Addresses are never cut; where there is no room for
one in a row it goes on below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from swapdesk.flows.signing.review_words import PaymentRow
from swapdesk.tui.glyphs import VALID
from swapdesk.tui.spans import Line, Span, fill, push_right, ruled, width_of, wrapped

TIGHT_BELOW = 90
"""Cells below which everything but the address gives way."""


@dataclass(frozen=True)
class Places:
    """Cells of a row: its number, the gaps, the mark with its gaps, whose deposit it is."""

    number: int
    gap: int
    mark: int
    promised: int

    def address(self, width: int, amount: int) -> int:
        """What is left for the address."""
        return width - self.number - 2 * self.gap - amount - self.mark - self.promised


WHOLE_IDS = Places(3, 2, 5, 28)
ROOMY = Places(3, 2, 5, 12)
TIGHT = Places(2, 1, 3, 6)


def payment_lines(payments: Sequence[PaymentRow], width: int) -> list[Line]:
    """A label and a row for each; nothing for none."""
    if not payments:
        return []
    amount = max(cell_len(one.amount) for one in payments)
    address = max(cell_len(one.payee) for one in payments)
    places = TIGHT if width < TIGHT_BELOW else ROOMY
    if WHOLE_IDS.address(width, amount) >= address:
        places = WHOLE_IDS
    room = max(9, min(address, places.address(width, amount)))
    gap = Span(" " * places.gap)
    rows = [ruled("You pay", f"{len(payments)} payments", width)]
    for number, one in enumerate(payments, start=1):
        start: Line = [
            *push_right(Span(str(number), "muted"), places.number),
            gap,
            *push_right(Span(one.amount, amount=True), amount),
            gap,
        ]
        mark = Span(VALID.center(places.mark), "status-done")
        said = Span(_shortened(one.promised, places.promised), "muted")
        first, *rest = wrapped(Span(one.payee), room)
        rows.append([*start, *fill(first, room), mark, said])
        rows += [[Span(" " * width_of(start)), *part] for part in rest]
    return rows


def _shortened(promised: str, room: int) -> str:
    """``order b7o4FU``, or ``b7o4FU`` alone, of an order that is named by its whole id."""
    if len(promised) <= room:
        return promised
    word, _, service_id = promised.partition(" ")
    short = f"{word} {service_id[:6]}" if service_id else promised
    return short if len(short) <= room else service_id[:6] or promised[:room]
