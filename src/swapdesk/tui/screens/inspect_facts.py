"""What the inspect page shows of a search, an order, its diagnosis and the reply. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.support.case_sheet import CaseSheet
from swapdesk.flows.support.order_search import Answer, OrderSearch, Searched
from swapdesk.flows.support.pasted_text import MAY_BEGIN, PastedText
from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, VALID
from swapdesk.tui.spans import Line, Span, cut, wrapped
from swapdesk.tui.widgets.case_body import UNKNOWN_SIGN, pair_line
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.table_layout import Column, Row

LABEL = 10
FACT_LABEL = 9
MOST_UPDATES = 6
_MARKS: dict[Answer, tuple[str, str]] = {
    Answer.FOUND: (VALID, "status-done"),
    Answer.NOTHING: (DOT, "muted"),
    Answer.FAILED: (TROUBLE, "status-trouble"),
    Answer.NOT_ASKED: (REFUSED, "muted"),
}

COLUMNS = (
    Column("order", "Order", 8),
    Column("state", "State", 18),
    Column("pair", "Pair", 24, grow=1),
    Column("by", "Found by", 18, priority=1, role="muted"),
    Column("created", "Created", 8, priority=2, role="muted"),
)


def read_as(pasted: PastedText) -> str:
    """What the text was taken for: ``a Tron address``, ``an order id, or 2 other things``."""
    if not pasted.readings:
        return MAY_BEGIN if pasted.beginnings else ""
    first, *others = pasted.readings
    if not others:
        return first.called
    return f"{first.called}, and {len(others)} more" if len(others) > 1 else first.called


def reading_lines(pasted: PastedText, width: int) -> list[Line]:
    """Every reading where there are several, and what is to be known of them."""
    rows: list[Line] = []
    if len(pasted.readings) > 1:
        for at, reading in enumerate(pasted.readings):
            label = "Read as" if not at else ""
            shown = [Span(label.ljust(LABEL), "muted"), Span(reading.called, "muted"), Span("  ")]
            rows.append(cut([*shown, Span(reading.value)], width))
    if pasted.cut:
        rows.append([Span(" " * LABEL), Span("The end of the text was not read.", "muted")])
    if pasted.warning:
        indent = [Span(" " * LABEL)]
        warned = wrapped([Span(pasted.warning, "status-waiting")], max(8, width - LABEL))
        rows += [[*indent, *line] for line in warned]
    return rows


def searched_lines(searched: Sequence[Searched], width: int) -> list[Line]:
    """One row a place: what it is, and what it answered."""
    rows: list[Line] = []
    for at, one in enumerate(searched):
        glyph, role = _MARKS[one.answer]
        label = "Searched" if not at else ""
        head = [Span(label.ljust(LABEL), "muted"), Span(f"{glyph} ", role)]
        place = Span(one.place.ljust(25), "foreground" if one.answer is Answer.FOUND else "muted")
        rows.append(cut([*head, place, Span(one.said, "muted")], width))
    return rows


def found_rows(search: OrderSearch, sheets: Mapping[str, CaseSheet]) -> list[Row]:
    """The orders that were found, one row each."""
    rows = []
    for service_id, sheet in sheets.items():
        _, role = SIGNS.get(sheet.sign, UNKNOWN_SIGN)
        rows.append(
            Row(
                service_id,
                {
                    "order": short_id(service_id),
                    "state": Span(sheet.word, role),
                    "pair": pair_line(sheet),
                    "by": search.found.get(service_id, ""),
                    "created": clock_time(sheet.created) if sheet.created is not None else "",
                },
            )
        )
    return rows
