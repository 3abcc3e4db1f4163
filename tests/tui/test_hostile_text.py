"""Text from outside is drawn as it is: no markup, no control byte, no exception."""

from __future__ import annotations

import re

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from corpus import load
from corpus.texts import control_texts, markup_texts, sample
from swapdesk.tui.spans import plain_text
from swapdesk.tui.terminal import ControlFilter
from swapdesk.wire.encoding.text import safe_text
from tui.examples import ALL

CASES = load("markup", "text")


def test_there_is_a_corpus() -> None:
    assert len(CASES) >= 10


@pytest.mark.parametrize("name", ALL)
def test_no_widget_breaks_on_raw_text(name: str) -> None:
    for case in CASES:
        for width in (56, 96):
            for line in ALL[name](width, case.text[:400]):
                assert plain_text(line).isprintable(), case.id


def test_a_sample_of_texts_in_every_widget() -> None:
    for payload in sample(control_texts() + markup_texts(), 24):
        draws_only_text(payload)


@pytest.mark.long
def test_every_text_in_every_widget() -> None:
    for payload in control_texts() + markup_texts():
        draws_only_text(payload)


def draws_only_text(payload: str) -> None:
    """Raw, as no boundary has seen it: no control leaves a widget, markup stays text, and what
    is written to a terminal holds no sequence but those of its own colours."""
    console = Console(color_system="truecolor", force_terminal=True, width=200)
    for name, draw in ALL.items():
        for width in (56, 156):
            for line in draw(width, payload):
                text = plain_text(line)
                assert text.isprintable(), (name, ascii(text))
                strip = Strip([Segment(span.text, Style(bold=span.bold)) for span in line])
                filtered = Strip(ControlFilter().apply(list(strip), Color(0, 0, 0)))
                assert printable_after(filtered.render(console)), (name, ascii(text))


def printable_after(written: str) -> bool:
    return _OWN.sub("", written).isprintable()


_OWN = re.compile("\x1b\\[[0-9;]*m")


@pytest.mark.parametrize("payload", markup_texts())
def test_markup_is_literal_in_every_widget_that_takes_text(payload: str) -> None:
    takes = ["header", "keys", "sections", "quotes", "readings", "checks", "facts", "help_text"]
    for name in takes:
        assert payload in "\n".join(map(plain_text, ALL[name](156, payload))), name


def test_text_of_the_wire_is_shown_as_the_wire_room_rewrote_it() -> None:
    said = safe_text("pay\u202ehere\x1b[0m", 80)
    shown = "\n".join(map(plain_text, ALL["facts"](96, said)))
    assert "<U+202E>" in shown
    assert "<U+001B>" in shown
