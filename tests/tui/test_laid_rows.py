"""A row of which a part is kept is laid out as one that is all new."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from swapdesk.tui.spans import Span
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


@settings(max_examples=300)
@given(histories(), st.integers(18, 60))
def test_a_row_after_another_is_that_row(rows: list[Row], width: int) -> None:
    layout = TableLayout(COLUMNS)
    for at, row in enumerate(rows, start=1):
        layout.measure(row)
        fresh = TableLayout(COLUMNS)
        for one in rows[:at]:
            fresh.measure(one)
        assert layout.line(row, width) == fresh.line(row, width)


def test_a_time_alone_leaves_the_other_cells_as_they_are() -> None:
    layout = TableLayout(COLUMNS)
    rows = [
        Row("key", {"mark": Span("◐"), "get": "1.5 BTC", "state": "Waiting", "time": f"0:0{left}"})
        for left in (9, 8)
    ]
    for row in rows:
        layout.measure(row)
    first, second = (layout.line(row, 40) for row in rows)
    pairs = list(zip(first, second, strict=True))
    assert [one is other for one, other in pairs] == [True] * (len(pairs) - 3) + [False] * 3


def test_rows_are_laid_out_anew_when_a_column_moves() -> None:
    layout = TableLayout(COLUMNS)
    row, wider = Row("key", {"get": "1.5 BTC"}), Row("other", {"get": "1.123456789 BTC"})
    layout.measure(row)
    first = layout.line(row, 60)
    assert layout.line(row, 60) is first
    assert layout.measure(wider)
    fresh = TableLayout(COLUMNS)
    fresh.measure(wider)
    for width in (60, 59):
        assert layout.line(row, width) == fresh.line(row, width) != first
