"""Only cells that changed are written, of a style what differs, and the picture is Textual's."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import TypeVar

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from swapdesk.tui.cell_updates import FEW, CellsUpdate, PageUpdate

U = TypeVar("U", bound=ChopsUpdate)

WIDTH, ROWS = 24, 4
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
    screen = pyte.Screen(WIDTH, ROWS)
    pyte.Stream(screen).feed(written)
    return [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(ROWS)]


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
    region = Region(0, 0, WIDTH, ROWS)
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
