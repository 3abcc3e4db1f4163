"""Only the cells that changed are written, and the picture is the whole update's."""

from __future__ import annotations

import io
from itertools import pairwise

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from swapdesk.tui.cell_updates import FEW, CellsUpdate, thrifty

WIDTH = 24
STYLES = [Style(color="red"), Style(color="green", bold=True), Style(bgcolor="blue")]
CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=WIDTH)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "bc", "○ ", "表", "  ", "1,2"]), st.sampled_from(STYLES)),
    min_size=30,
    max_size=30,
)


def strip_of(pieces: list[tuple[str, Style]]) -> Strip:
    return Strip([Segment(text, style) for text, style in pieces]).crop(0, WIDTH)


def picture(written: str) -> list[object]:
    screen = pyte.Screen(WIDTH, 3)
    pyte.Stream(screen).feed(written)
    return [screen.buffer[1][x] for x in range(WIDTH)]


def update(
    kind: type[ChopsUpdate], strip: Strip, cuts: list[int], first: int, last: int
) -> ChopsUpdate:
    """Row 1 of a screen whose widgets meet at ``cuts``."""
    edges = [0, *cuts, WIDTH]
    parts = {start: strip.crop(start, end) for start, end in pairwise(edges)}
    return kind([{}, parts], [(1, first, last)], [[], edges[1:]])


@given(ROWS, ROWS, st.integers(0, WIDTH - 1), st.integers(1, WIDTH), st.sampled_from([[], [9]]))
def test_the_picture_is_that_of_the_whole_row(
    before: list[tuple[str, Style]],
    after: list[tuple[str, Style]],
    first: int,
    size: int,
    cuts: list[int],
) -> None:
    old, new = strip_of(before), strip_of(after)
    last = min(WIDTH, first + size)
    whole = update(CellsUpdate, old, cuts, 0, WIDTH).render_segments(CONSOLE)
    written = update(CellsUpdate, new, cuts, first, last).render_segments(CONSOLE)
    wanted = update(ChopsUpdate, new, cuts, 0, WIDTH).render_segments(CONSOLE)
    assert picture(whole + written)[first:last] == picture(wanted)[first:last]


def test_one_digit_costs_its_place_and_itself() -> None:
    strip = strip_of([("a", STYLES[0]), ("bc", STYLES[1])] * 15)
    written = update(CellsUpdate, strip, [], 10, 11).render_segments(CONSOLE)
    assert written.startswith("\x1b[2;11H")
    assert Segment.get_line_length(list(strip.crop(10, 11))) == 1
    assert len(written) < len(update(ChopsUpdate, strip, [], 10, 11).render_segments(CONSOLE)) / 3


def test_a_row_of_few_colours_is_written_colour_by_colour() -> None:
    styles = [Style(color=colour, bgcolor="#101418") for colour in ("#d8dfe6", "#8d9aa7")]
    strip = strip_of([("12.5", styles[0]), (" BTC", styles[1])] * 3)
    written = thrifty(update(CellsUpdate, strip, [], 0, WIDTH).render_segments(CONSOLE))
    in_sequence = thrifty(update(ChopsUpdate, strip, [], 0, WIDTH).render_segments(CONSOLE))
    assert written.count("38;2;") == len(styles) < in_sequence.count("38;2;")
    assert len(written) < len(in_sequence)
    assert picture(written) == picture(in_sequence)


def test_links_and_single_pieces_are_written_in_their_sequence() -> None:
    linked = Style(color="red", link="https://example.com")
    for pieces in ([("a", linked), ("b", STYLES[1])] * 12, [("a" * WIDTH, STYLES[0])]):
        strip = strip_of(pieces)
        assert (
            update(CellsUpdate, strip, [], 0, WIDTH)
            .render_segments(CONSOLE)
            .endswith(strip.render(CONSOLE))
        )


def test_a_page_is_written_row_by_row_as_it_stands() -> None:
    styles = [Style(color=colour, bgcolor="#101418") for colour in ("#d8dfe6", "#8d9aa7")]
    strip = strip_of([("12.5", styles[0]), (" BTC", styles[1])] * 3)

    def written(rows: int) -> str:
        places = range(rows)
        return CellsUpdate(
            [{0: strip} for _ in places], [(y, 0, WIDTH) for y in places], [[WIDTH] for _ in places]
        ).render_segments(CONSOLE)

    assert strip.render(CONSOLE) not in written(FEW)
    assert written(FEW + 1).count(strip.render(CONSOLE)) == FEW + 1
