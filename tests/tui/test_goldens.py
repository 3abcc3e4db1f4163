"""Every widget as text at 80 columns, those that say more at 120 also there, and in ASCII."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from swapdesk.tui.spans import ascii_line, plain_text
from tui.examples import ALL, WIDE
from tui.screen_text import lines_text

Golden = Callable[[str, str], None]


ROOMY = ("header", "help_text", "keys", "money", "quotes", "track")


@pytest.mark.parametrize(
    ("name", "columns"), [*((name, 80) for name in ALL), *((name, 120) for name in ROOMY)]
)
def test_widget(name: str, columns: int, golden: Golden) -> None:
    width = columns if name in WIDE else columns - 4
    golden(f"widgets/{name}-{columns}", lines_text(ALL[name](columns - 4, ""), width))


@pytest.mark.parametrize("name", ALL)
def test_ascii_has_no_other_character(name: str) -> None:
    text = "\n".join(plain_text(ascii_line(line)) for line in ALL[name](96, ""))
    assert text.isascii(), sorted({char for char in text if not char.isascii()})


@pytest.mark.parametrize("width", [56, 76, 96, 116, 156])
@pytest.mark.parametrize("name", ALL)
def test_no_row_is_longer_than_the_screen(name: str, width: int) -> None:
    lines_text(ALL[name](width, ""), width + 4 if name in WIDE else width)
