"""Payments of one signature, a row each: its number, how much, to whom in full, whose deposit.

The number is that of the payment, from 1. Addresses are never cut; where there is no room for
one in a row it goes on below.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from swapdesk.flows.review_payments import PaymentRow
from swapdesk.tui.glyphs import VALID
from swapdesk.tui.spans import Line, Span, fill, push_right, ruled, width_of, wrapped

NUMBER = 3
GAP = 2
MARK = 5
LONG_ID, SHORT_ID = 28, 12
"""Cells for whose deposit it is: the whole id of an order, or its beginning."""


def payment_lines(payments: Sequence[PaymentRow], width: int) -> list[Line]:
    """A label and a row for each; nothing for none."""
    if not payments:
        return []
    amount = max(cell_len(one.amount) for one in payments)
    address = max(cell_len(one.payee) for one in payments)
    left = width - NUMBER - GAP - amount - GAP - MARK
    promised = LONG_ID if left >= address + LONG_ID else SHORT_ID
    room = max(9, min(address, left - promised))
    count = f"{len(payments)} payments"
    rows = [ruled("You pay", count, width)]
    for number, one in enumerate(payments, start=1):
        parts = wrapped(Span(one.payee), room)
        said = one.promised if promised == LONG_ID else _shortened(one.promised)
        start: Line = [
            *push_right(Span(str(number), "muted"), NUMBER),
            Span(" " * GAP),
            *push_right(Span(one.amount, amount=True), amount),
            Span(" " * GAP),
        ]
        for at, part in enumerate(parts):
            head = start if at == 0 else [Span(" " * width_of(start))]
            line = [*head, *fill(part, room)]
            if at == 0:
                line += [Span(f"  {VALID}  ", "status-done"), Span(said[:promised], "muted")]
            rows.append(line)
    return rows


def _shortened(promised: str) -> str:
    """``order b7o4FU`` of an order that is named by its whole id."""
    word, _, service_id = promised.partition(" ")
    return f"{word} {service_id[:6]}" if service_id else promised
