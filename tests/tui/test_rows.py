"""Rows of spans: laid out in columns, wrapped, cut, compared cell by cell, written."""

from __future__ import annotations

import io
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TypeVar

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from flows.orders import NOW, intent, order
from sampling import examples
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.orders.order_status import order_status, time_at
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.cell_updates import FEW, CellsUpdate, PageUpdate
from swapdesk.tui.spans import Line, Span, cut, plain_text, wrapped
from swapdesk.tui.widgets.lines_view import changed_cells
from swapdesk.tui.widgets.order_table import order_row, row_at
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout
from swapdesk.wire.orders import DisplayStatus, LegStatus

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


@settings(max_examples=examples(300))
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


SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
PERMIT = "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)"


@pytest.mark.parametrize("signature", [SWAP, PERMIT])
@pytest.mark.parametrize("width", [26, 40, 52])
def test_the_types_of_a_call_stay_whole(signature: str, width: int) -> None:
    rows = [plain_text(row) for row in wrapped(Span(signature), width)]
    assert "".join(rows) == signature
    assert len(rows) > 1
    assert all(cell_len(row) <= width for row in rows)
    assert all(row.endswith((",", "(")) for row in rows[:-1])


def test_what_has_no_comma_fills_its_rows() -> None:
    rows = [plain_text(row) for row in wrapped("x" * 25, 10)]
    assert rows == ["x" * 10, "x" * 10, "x" * 5]


@given(st.text(st.sampled_from("ab,( 💰"), max_size=60), st.integers(2, 12))
def test_no_row_is_too_wide_and_no_character_is_lost(text: str, width: int) -> None:
    rows = [plain_text(row) for row in wrapped(text, width)]
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("It breaks in the middle of the answer.", 34, "It breaks in the middle of the…"),
        ("a friend with an Ethereum wallet", 22, "a friend with an…"),
        ("is it here, or there", 12, "is it here…"),
        ("Other (TELEPORTING)", 18, "Other (TELEPORTIN…"),
        ("pays 0 signatures", 11, "pays 0 sig…"),
        ("x" * 30, 12, "x" * 11 + "…"),
        ("it fits", 7, "it fits"),
    ],
)  # fmt: skip
def test_a_sentence_ends_behind_a_word_and_a_name_where_its_room_does(
    text: str, width: int, shown: str
) -> None:
    assert plain_text(cut(text, width)) == shown


@given(st.lists(st.text("abcdefgh", min_size=2, max_size=7), min_size=4), st.integers(24, 60))
def test_no_sentence_of_short_words_is_cut_within_one(words: list[str], width: int) -> None:
    shown = plain_text(cut(" ".join(words), width))
    assert cell_len(shown) <= width
    assert shown == " ".join(words) or shown[:-1].split() == words[: len(shown[:-1].split())]


def cells_of(line: Line) -> list[tuple[str, str, bool]]:
    cells: list[tuple[str, str, bool]] = []
    for span in line:
        for char in span.text:
            if not cell_len(char) and cells:
                text, role, bold = cells.pop()
                cells.append((text + char, role, bold))
            cells.extend([(char, span.role, span.bold)] * cell_len(char))
    return cells


PIECES_OF_TEXT = st.builds(
    Span,
    st.text(alphabet="ab 1○━漢e\u0301\u0308", max_size=4),
    st.sampled_from(["muted", "foreground"]),
    st.booleans(),
)
LINES = st.lists(PIECES_OF_TEXT, max_size=5)


def by_cells(old: Line, new: Line) -> tuple[int, int] | None:
    """The same, cell by cell over the whole row."""
    before, after = cells_of(old), cells_of(new)
    longest = max(len(before), len(after))
    before += [(" ", "", False)] * (longest - len(before))
    after += [(" ", "", False)] * (longest - len(after))
    places = [at for at in range(longest) if before[at] != after[at]]
    return (places[0], places[-1] + 1) if places else None


@given(LINES, LINES, LINES, LINES)
@example([Span("1"), Span("")], [], [Span("1")], [Span("\u0301")])
def test_it_is_what_a_comparison_of_all_cells_finds(
    head: Line, one: Line, other: Line, tail: Line
) -> None:
    old, new = [*head, *one, *tail], [*head, *other, *tail]
    found, wanted = changed_cells(old, new), by_cells(old, new)
    if all(cell_len(char) for char in plain_text([*old, *new])):
        assert found == wanted
    elif wanted is not None:
        assert found[0] <= wanted[0] < wanted[1] <= found[1]


def test_one_figure_between_equal_cells_is_its_place() -> None:
    left, right = Span("✓ 0.5 BTC "), Span(" left", "muted")
    assert changed_cells([left, Span("27:12"), right], [left, Span("27:09"), right]) == (13, 15)
    assert changed_cells([left, right], [left, right]) is None


U = TypeVar("U", bound=ChopsUpdate)

WIDTH, HEIGHT = 24, 4
STYLES = [
    Style(color="red"),
    Style(color="green", bold=True),
    Style(bgcolor="blue"),
    Style(bgcolor="blue", bold=True, italic=True),
    Style(color="#010203", bgcolor="#090909"),
    Style(color="#c86400", bgcolor="#090909", bold=True),
    Style(color="color(7)", reverse=True),
    Style(color="#c86400", underline=True),
    Style(color="default", bgcolor="default"),
    Style.null(),
]
GREYS = [Style(color=colour, bgcolor="#101418") for colour in ("#d8dfe6", "#8d9aa7")]
CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=WIDTH)
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["a", "bc", "○ ", "表", "e\u0301", "  ", "1,2"]), st.sampled_from(STYLES)
    ),
    min_size=30,
    max_size=30,
)


def strip_of(pieces: list[tuple[str, Style]]) -> Strip:
    return Strip([Segment(text, style) for text, style in pieces]).crop(0, WIDTH)


def picture(written: str) -> list[list[object]]:
    screen = pyte.Screen(WIDTH, HEIGHT)
    pyte.Stream(screen).feed(written)
    return [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


def update(kind: type[U], strip: Strip, cuts: list[int], first: int, last: int) -> U:
    """Row 1 of a screen whose widgets meet at ``cuts``."""
    edges = [0, *cuts, WIDTH]
    parts = {start: strip.crop(start, end) for start, end in pairwise(edges)}
    return kind([{}, parts], [(1, first, last)], [[], edges[1:]])


def data_of(one: CompositorUpdate) -> str:
    return one.render_segments(CONSOLE)


@given(PIECES, PIECES, st.integers(0, WIDTH - 1), st.integers(1, WIDTH), st.sampled_from([[], [9]]))
def test_the_picture_is_that_of_the_whole_row(
    before: list[tuple[str, Style]],
    after: list[tuple[str, Style]],
    first: int,
    size: int,
    cuts: list[int],
) -> None:
    old, new = strip_of(before), strip_of(after)
    last = min(WIDTH, first + size)
    whole = data_of(update(CellsUpdate, old, cuts, 0, WIDTH))
    written = data_of(update(CellsUpdate, new, cuts, first, last))
    wanted = data_of(update(ChopsUpdate, new, cuts, 0, WIDTH))
    assert picture(whole + written)[1][first:last] == picture(wanted)[1][first:last]


@given(st.tuples(PIECES, PIECES))
def test_a_page_is_the_same_in_fewer_bytes(rows: tuple[list[tuple[str, Style]], ...]) -> None:
    strips = [[strip.crop(0, 9), strip.crop(9, WIDTH)] for strip in map(strip_of, rows)]
    region = Region(0, 0, WIDTH, HEIGHT)
    page, wanted = data_of(PageUpdate(strips, region)), data_of(LayoutUpdate(strips, region))
    assert picture(page) == picture(wanted)
    assert len(page) <= len(wanted)


def test_one_digit_costs_its_place_and_itself() -> None:
    strip = strip_of([("a", STYLES[0]), ("bc", STYLES[1])] * 15)
    written = data_of(update(CellsUpdate, strip, [], 10, 11))
    assert written == "\x1b[2;11H\x1b[1;32mb\x1b[0m"


@pytest.mark.parametrize(
    ("one", "other", "change"),
    [
        (STYLES[4], STYLES[4], ""),
        (STYLES[4], STYLES[5], "\x1b[1;38;2;200;100;0m"),
        (STYLES[5], STYLES[4], "\x1b[22;38;2;1;2;3m"),
        (STYLES[0], STYLES[2], "\x1b[39;44m"),
        (STYLES[7], STYLES[0], "\x1b[0;31m"),
    ],
)
def test_of_a_style_only_what_differs_is_written(one: Style, other: Style, change: str) -> None:
    strip = strip_of([("a" * 12, one), ("b" * 12, other)])
    written = data_of(update(CellsUpdate, strip, [], 0, WIDTH))
    assert written.partition("a" * 12)[2] == f"{change}{'b' * 12}\x1b[0m"


def test_a_row_of_few_colours_is_written_colour_by_colour() -> None:
    strip = strip_of([("12.5", GREYS[0]), (" BTC", GREYS[1])] * 3)
    written = data_of(update(CellsUpdate, strip, [], 0, WIDTH))
    in_sequence = data_of(update(ChopsUpdate, strip, [], 0, WIDTH))
    assert written.count("38;2;") == len(GREYS) < in_sequence.count("38;2;")
    assert picture(written) == picture(in_sequence)


def test_a_link_is_written_by_itself() -> None:
    linked = Style(color="red", link="https://example.com")
    strip = strip_of([("ab", linked), ("cd", STYLES[1])] * 6)
    written = data_of(update(CellsUpdate, strip, [], 0, WIDTH))
    assert written.count(strip_of([("ab", linked)]).render(CONSOLE)) == 6


def test_a_page_is_written_row_by_row_as_it_stands() -> None:
    strip = strip_of([("12.5", GREYS[0]), (" BTC", GREYS[1])] * 3)

    def moves(rows: int) -> int:
        places = range(rows)
        return data_of(
            CellsUpdate(
                [{0: strip} for _ in places],
                [(y, 0, WIDTH) for y in places],
                [[WIDTH] for _ in places],
            )
        ).count("G")

    assert moves(FEW) > 0
    assert moves(FEW + 1) == 0


SECONDS = st.one_of(
    st.integers(-120, 4_000).map(float),
    st.floats(-120, 4_000, allow_nan=False),
    st.integers(0, 60 * 80).map(lambda minutes: minutes * 60.0),
    st.sampled_from([1799.9, 1800.0, 1800.1, 839.9, 840.0, 840.1, 3599.9, 3600.0]),
)


@st.composite
def orders(draw: st.DrawFn) -> TrackedOrder:
    created = draw(st.sampled_from([None, NOW]))
    of = draw(st.sampled_from([None, intent()]))
    leg = st.sampled_from([None, *LegStatus])
    return TrackedOrder(
        order(
            of,
            created=created,
            display_status=draw(st.sampled_from([None, *DisplayStatus, "A_NEW_WORD"])),
            status=None,
            in_status=draw(leg),
            out_status=draw(leg),
            expires=draw(st.sampled_from([None, NOW + timedelta(minutes=30)])),
            eta=draw(st.sampled_from([None, Decimal(14), Decimal("0.5")])),
            anonymous=draw(st.booleans()),
            action_required=draw(st.sampled_from([None, True])),
        ),
        of,
        draw(st.sampled_from([None, "hidden"])),
        ended=False,
        seen_at=NOW,
        source="stream",
        standing=draw(st.sampled_from(list(DepositRelease))),
        in_batch=draw(st.booleans()),
    )


@settings(max_examples=examples(500))
@given(orders(), SECONDS, st.one_of(SECONDS, st.floats(0, 90)), st.booleans(), st.booleans())
def test_a_row_with_its_time_is_the_row_of_that_time(
    one: TrackedOrder, first: float, second: float, later: bool, wide: bool
) -> None:
    before = NOW + timedelta(seconds=first)
    after = before + timedelta(seconds=abs(second)) if later else NOW + timedelta(seconds=second)
    drawn = order_status(one, before)
    row = order_row(one, drawn, wide=wide)
    time = time_at(drawn, one, after)
    if time is not None:
        due = order_row(one, order_status(one, after), wide=wide)
        assert row_at(row, drawn, time, wide=wide) == due
    assert time_at(drawn, one, before) == drawn.time


def moved(one: TrackedOrder, before: datetime, after: datetime) -> bool:
    drawn = order_status(one, before)
    return time_at(drawn, one, after) != drawn.time


def test_with_the_deadline_more_than_the_time_is_another() -> None:
    one = TrackedOrder(order(), None, None, ended=False, seen_at=NOW, source="stream")
    before = one.order.expires - timedelta(seconds=1)
    drawn = order_status(one, before)
    assert time_at(drawn, one, before) == drawn.time
    assert time_at(drawn, one, one.order.expires) is None
    assert time_at(order_status(one, one.order.expires), one, before) is None


def test_a_countdown_moves_every_second_and_minutes_every_minute() -> None:
    waiting = TrackedOrder(order(), None, None, ended=False, seen_at=NOW, source="stream")
    under_way = TrackedOrder(
        order(display_status="EXCHANGE_IN_PROGRESS", status=2, in_status=3),
        None,
        None,
        ended=False,
        seen_at=NOW,
        source="stream",
    )
    seconds = [NOW + timedelta(seconds=each) for each in range(130)]
    assert all(moved(waiting, one, two) for one, two in pairwise(seconds))
    steps = [moved(under_way, one, two) for one, two in pairwise(seconds)]
    assert 1 <= sum(steps) <= 63
    assert not any(steps[60:118])
