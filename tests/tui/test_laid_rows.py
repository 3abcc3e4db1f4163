"""A row of which a part is kept is laid out, compared and painted as one that is all new."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style

from swapdesk.tui.glyphs import CURSOR
from swapdesk.tui.painting import paint
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.line_table import LaidRows
from swapdesk.tui.widgets.lines_view import changed_cells
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout

COLUMNS = (
    Column("mark", "", 1),
    Column("get", "You get", 12, "point", gap=1, unit=4),
    Column("state", "State", 7, priority=2, grow=1),
    Column("time", "Time", 8, "right", priority=1),
)
WORDS = st.text(alphabet="ab ━漢e\u0301\u0308", max_size=9)
ROLES = st.sampled_from(["muted", "foreground", "status-done", "text-cursor"])
SPANS = st.builds(Span, WORDS, ROLES, st.booleans(), link=st.sampled_from(["", "https://a.b/c"]))
CELLS = st.one_of(WORDS, SPANS, st.lists(SPANS, max_size=3))
AMOUNTS = st.sampled_from(["0.5 BTC", "14.524108 ETH", "1,234,567.5 USDT", "—", ""])
ROWS = st.builds(
    lambda mark, get, state, time, role, tail: Row(
        "key",
        {"mark": mark, "get": get, "state": state, "time": time},
        role,
        tail,
        "state" if tail else "",
    ),
    SPANS,
    AMOUNTS,
    CELLS,
    CELLS,
    st.sampled_from(["", "", "muted"]),
    st.one_of(st.just(""), st.just(""), WORDS),
)
EDGES = st.sampled_from([[Span("  ")], [Span(CURSOR, "accent"), Span(" ")]])
GROUNDS = st.sampled_from([Style.parse("#aaaaaa on #111111"), Style.parse("#aaaaaa on #333333")])


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """One row in its place after the other; most differ in a cell or two."""
    rows = [draw(ROWS)]
    for _ in range(draw(st.integers(1, 5))):
        before = rows[-1]
        if draw(st.integers(0, 4)):
            cells = dict(before.cells)
            for key in draw(st.sets(st.sampled_from(["state", "time", "get"]), max_size=2)):
                cells[key] = draw(AMOUNTS if key == "get" else CELLS)
            rows.append(Row("key", cells, before.role, before.tail, before.tail_from))
        else:
            rows.append(draw(ROWS))
    return rows


class Bare(SafeApp[object]):
    """An app whose terminal takes links; nothing of it runs."""

    draws_links = True


APP = Bare()


@settings(max_examples=300)
@given(histories(), st.integers(18, 60), EDGES, GROUNDS, st.booleans())
def test_a_row_after_another_is_that_row(
    rows: list[Row], width: int, edge: Line, ground: Style, paints: bool
) -> None:
    layout, kept = TableLayout(COLUMNS), LaidRows()
    layout.measure(rows[0])
    for at, (before, row) in enumerate(pairwise(rows), start=2):
        layout.measure(row, before)
        fresh = TableLayout(COLUMNS)
        for one in rows[:at]:
            fresh.measure(one)
        old, new = fresh.line(before, width), fresh.line(row, width)
        assert kept.replaced(before, row, layout, width) == changed_cells(old, new)
        laid = kept.laid(row, layout, width)
        assert laid.line == new
        if paints:
            due = paint(APP, [*edge, *new], width + 2, ground)
            assert laid.painted(APP, edge, width + 2, ground) == due
            assert list(laid.painted(APP, edge, width + 2, ground)) == list(due)


def test_a_time_alone_leaves_the_other_cells_as_they_are() -> None:
    layout, kept = TableLayout(COLUMNS), LaidRows()
    rows = [
        Row("key", {"mark": Span("◐"), "get": "1.5 BTC", "state": "Waiting", "time": f"0:0{left}"})
        for left in (9, 8, 7)
    ]
    for row in rows:
        layout.measure(row)
    first = kept.laid(rows[0], layout, 40)
    assert kept.replaced(rows[0], rows[1], layout, 40) == (39, 40)
    second = kept.laid(rows[1], layout, 40)
    assert second is not first
    pairs = zip(first.pieces, second.pieces, strict=True)
    assert [one is other for one, other in pairs] == [True, True, True, False]
    assert second.since == 3


def test_rows_are_laid_out_anew_when_a_column_moves() -> None:
    layout, kept = TableLayout(COLUMNS), LaidRows()
    row, wider = Row("key", {"get": "1.5 BTC"}), Row("other", {"get": "1.123456789 BTC"})
    layout.measure(row)
    first = kept.laid(row, layout, 60)
    assert kept.laid(row, layout, 60) is first
    assert layout.measure(wider)
    assert kept.laid(row, layout, 60).line == layout.line(row, 60) != first.line
    assert kept.laid(row, layout, 59).line == layout.line(row, 59)
