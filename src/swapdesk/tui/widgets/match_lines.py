"""The table that compares what is signed with what was confirmed, and the list of payments that a
signature makes. Addresses are never shortened: if both values do not fit into one row, the expected
one is put below."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len

from swapdesk.flows.signing.review_words import PaymentRow, folded
from swapdesk.tui.glyphs import REFUSED, UNKNOWN, VALID
from swapdesk.tui.spans import Line, Span, fill, push_right, ruled, width_of, wrapped
from swapdesk.wallet.answers import Match, ReviewLine

TIGHT_BELOW = 90
"""Width in cells below which the columns beside the address are narrowed."""


class Places(Struct, frozen=True):
    """Widths in cells of the parts of a row about a payment."""

    number: int
    gap: int
    mark: int
    promised: int

    def address(self, width: int, amount: int) -> int:
        """Returns the number of cells for the address in a row of ``width`` cells, if the amount
        takes ``amount`` cells."""
        return width - self.number - 2 * self.gap - amount - self.mark - self.promised


WHOLE_IDS = Places(3, 2, 5, 28)
ROOMY_PLACES = Places(3, 2, 5, 12)
TIGHT_PLACES = Places(2, 1, 3, 6)


def payment_lines(payments: Sequence[PaymentRow], width: int) -> list[Line]:
    """Returns a label and a row for each payment; empty if there are none."""
    if not payments:
        return []
    amount = max(cell_len(payment.amount) for payment in payments)
    address = max(cell_len(payment.payee) for payment in payments)
    places = TIGHT_PLACES if width < TIGHT_BELOW else ROOMY_PLACES
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
    if len(promised) <= room:
        return promised
    word, _, service_id = promised.partition(" ")
    short = f"{word} {service_id[:6]}" if service_id else promised
    return short if len(short) <= room else service_id[:6] or promised[:room]


_MARKS = {
    Match.EQUAL: (VALID, "status-done", "muted"),
    Match.UNMATCHED: (UNKNOWN, "status-waiting", "status-waiting"),
    Match.DIFFERS: (REFUSED, "status-trouble", "status-trouble"),
}
GAP = 2
ADDRESS = 52
"""Width in cells of an EVM address, written in groups."""
LONGEST_ADDRESS = 54
"""Width in cells of a Solana address, written in groups."""
LEAST_LABEL, MOST_LABEL, NARROW_LABEL = 11, 16, 12
ROOMY = 110
LEAST_BESIDE = 23
"""Cells that the expected value needs beside the signed one."""
AGAINST = "Held against"
"""The column name of expected values, which come from quote, order, chain or limits."""
STRONG = ("You sell", "You get")


def match_table(fields: Sequence[ReviewLine], width: int) -> list[Line]:
    """Returns the rows that compare signed with expected values, without the column names. If one
    signature makes several payments, they are listed below."""
    rows, payments = folded(fields)
    columns = _columns(rows, width)
    exact = width >= ROOMY
    lines: list[Line] = []
    for row in rows:
        lines += _row(row, *columns, exact=exact)
    return lines + payment_lines(payments, width)


def match_heads(fields: Sequence[ReviewLine], width: int) -> Line:
    rows, _ = folded(fields)
    label, signed, beside = _columns(rows, width)
    also = width >= ROOMY and any(row.units is not None for row in rows)
    said = "You sign; amounts in base units too" if also else "You sign"
    first = [*fill(Span("Field", "muted"), label), Span(said, "muted")]
    if beside >= LEAST_BESIDE:
        first = [*fill(first, label + signed + 5), Span(AGAINST, "muted")]
    return first


def _columns(rows: Sequence[ReviewLine], width: int) -> tuple[int, int, int]:
    label = max([len(row.field) for row in rows] or [0])
    most = MOST_LABEL if width >= ROOMY else NARROW_LABEL
    label = max(LEAST_LABEL, min(most, label)) + GAP
    address = max([len(row.signed) for row in rows if len(row.signed) <= LONGEST_ADDRESS] or [0])
    room = max(20, width - label - 4)
    signed = min(max(ADDRESS, address), room)
    if width - label - signed - 5 < LEAST_BESIDE:
        signed = min(ADDRESS, room)
    return label, signed, width - label - signed - 5


def _row(row: ReviewLine, label: int, signed: int, beside: int, *, exact: bool) -> list[Line]:
    glyph, role, said = _MARKS[row.match]
    bold = row.field in STRONG
    what: Line = [Span(row.signed, "foreground", bold)]
    if exact and row.units is not None:
        what.append(Span(f"  {row.units}", "muted"))
    parts = wrapped(what, signed)
    room = max(beside, 1)
    narrow = beside < LEAST_BESIDE
    # A short promise stands before its mark, at the end of what is signed.
    before = narrow and width_of(parts[-1]) + GAP + cell_len(row.promised) <= signed
    below = narrow and not before and len(row.promised) > beside
    promised = [] if below or before else wrapped(Span(row.promised, said), room)
    if before:
        last = parts[-1]
        gap = signed - width_of(last) - cell_len(row.promised)
        parts[-1] = [*last, Span(" " * gap), Span(row.promised, said)]
    names = wrapped(Span(row.field, "muted"), label - GAP)
    lines: list[Line] = []
    for at in range(max(len(parts), len(promised), len(names))):
        line = fill(names[at] if at < len(names) else [], label)
        line += fill(parts[at] if at < len(parts) else [], signed)
        mark = Span(f"  {glyph}  ", role) if at == 0 else Span("     ")
        line.append(mark)
        if at < len(promised):
            line += promised[at]
        lines.append(_trimmed(line))
    if below:
        rest = wrapped(Span(row.promised, said), signed + max(beside, 0) + 3)
        lines += [[Span(" " * (label + GAP)), *one] for one in rest]
    return lines


def _trimmed(line: Line) -> Line:
    while line and not line[-1].text.strip():
        line = line[:-1]
    return line if width_of(line) else []
