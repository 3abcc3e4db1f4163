"""Fewer bytes, the same picture."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.tui.cell_updates import thrifty

COLOURS = ["31", "92", "38;2;1;2;3", "38;2;200;100;0", "38;5;7", "39"]
GROUNDS = ["", "41", "48;2;9;9;9", "48;5;3", "49"]
STYLES = st.tuples(
    st.sampled_from(["", "1", "2", "7"]), st.sampled_from(COLOURS), st.sampled_from(GROUNDS)
).map(lambda parts: ";".join(part for part in parts if part))
PIECES = st.lists(
    st.one_of(
        st.tuples(STYLES, st.text(alphabet="ab ○", min_size=1, max_size=6)).map(
            lambda piece: f"\x1b[{piece[0]}m{piece[1]}\x1b[0m"
        ),
        st.sampled_from(
            ["plain", "\x1b[3;4H", "\n\x1b[5;9H", "\x1b[1;1H", "\x1b[7G", "\n\x1b[7G", "\x1b[0m"]
        ),
    ),
    max_size=12,
)


ROWS = 20
"""More than the pieces reach: nothing is written whose line feed scrolls the screen."""


def picture(data: str) -> list[list[object]]:
    screen = pyte.Screen(80, ROWS)
    pyte.Stream(screen).feed(data)
    return [[screen.buffer[y][x] for x in range(80)] for y in range(ROWS)]


def test_a_line_feed_before_a_place_is_needless_once_more() -> None:
    red = "\x1b[31ma\x1b[0m"
    data = f"{red}\n\x1b[5;9H{red}\n\x1b[7G{red}\n\x1b[5;9H{red}"
    assert thrifty(data).count("\n") < data.count("\n")
    assert picture(thrifty(data)) == picture(data)


@given(PIECES)
def test_the_picture_stays_and_grows_no_byte(pieces: list[str]) -> None:
    data = "".join(pieces)
    short = thrifty(data)
    assert len(short) <= len(data)
    assert picture(short) == picture(data)


def test_only_what_differs_is_written() -> None:
    one, two = "\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[0m", "\x1b[1;38;2;4;5;6;48;2;9;9;9mB\x1b[0m"
    assert thrifty(one + two) == "\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[1;38;2;4;5;6mB\x1b[0m"
    assert thrifty(one + one) == "\x1b[38;2;1;2;3;48;2;9;9;9mAA\x1b[0m"


def test_a_style_goes_on_further_right() -> None:
    one, two = "\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[0m", "\x1b[38;2;4;5;6;48;2;9;9;9mB\x1b[0m"
    assert thrifty(f"{one}\x1b[5G{two}") == (
        "\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[5G\x1b[38;2;4;5;6mB\x1b[0m"
    )


def test_a_style_goes_on_in_the_next_row() -> None:
    one, two = "\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[0m", "\x1b[38;2;1;2;3;48;2;7;7;7mB\x1b[0m"
    data = f"{one}\n\x1b[2;1H{two}\x1b[1;1H"
    assert thrifty(data) == ("\x1b[38;2;1;2;3;48;2;9;9;9mA\x1b[2;1H\x1b[48;2;7;7;7mB\x1b[0m\x1b[H")
    assert picture(thrifty(data)) == picture(data)
