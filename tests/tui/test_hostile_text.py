"""Text from outside is drawn as it is: no markup, no control byte, no exception."""

from __future__ import annotations

import re

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from corpus import load
from corpus.texts import control_texts, markup_texts, sample
from swapdesk.clock import ManualClock
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.screens.swap_line import IntentField, IntentReading, Reading
from swapdesk.tui.spans import plain_text
from swapdesk.tui.terminal import ControlFilter, SafeApp
from swapdesk.tui.widgets.detail_rows import DetailRows, Fact
from swapdesk.tui.widgets.form_fields import AddressInput, Check, CheckMark, MemoField, MemoNeed
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Column, Prose, Row, Section
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wire.encoding.text import safe_text
from tui.examples import ALL
from tui.screen_text import screen_text

CASES = load("markup", "text")
MARKUP = ["[red]x[/]", "[@click=app.quit]x[/]", "A[/]B", "[type=x, v={'a[0]'}]", "\\[red]"]


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


class Everything(DeskScreen):
    """All widgets with text in one body."""

    def __init__(self, text: str) -> None:
        super().__init__(FrameState("Orders", context=text), ManualClock())
        self.text = text
        self.table = LineTable([Column("a", text, 20), Column("b", "b", 20, "point", unit=5)])

    def compose_body(self) -> list[Widget]:
        text = self.text
        self.table.set_rows(
            [
                Section("s", text, text),
                Row("1", {"a": text, "b": text}),
                Row("2", {"a": "x"}, tail=text, tail_from="b"),
                Prose("p", text),
            ]
        )
        line = IntentField(text)
        line.show(IntentReading(Reading.REFUSED, text, text, text))
        address = AddressInput(text, note=text, value=text)
        address.show_checks([Check(CheckMark.REFUSED, text, text)])
        return [
            line,
            address,
            MemoField(text, MemoNeed.REQUIRED, chain=text),
            DetailRows([Fact(text, text, note=text), Fact("a", address=text)], selectable=True),
            TextField(text, placeholder=text, hint=text),
            self.table,
        ]

    def on_mount(self) -> None:
        self.set_money(self.text, self.text)


class Hostile(SafeApp[None]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield from ()

    def on_mount(self) -> None:
        self.push_screen(Everything(self.text))


@pytest.mark.parametrize(
    "payload", [*MARKUP, "a\x1b[2Jb\x07", "\u202ey\u200b\x9b6n", "漢字e\u0301"]
)
async def test_a_whole_screen_of_it(payload: str) -> None:
    app = Hostile(payload)
    async with app.run_test(size=(120, 60)) as pilot:
        app.notify(payload)
        await pilot.pause()
        shown = screen_text(app)
        assert all(row.isprintable() for row in shown.split("\n"))
        if payload.isascii() and payload.isprintable():
            assert shown.count(payload) >= 8
        await pilot.press("tab", "down", "end")
        await pilot.pause()


def test_text_of_the_wire_is_shown_as_the_wire_room_rewrote_it() -> None:
    said = safe_text("pay\u202ehere\x1b[0m", 80)
    shown = "\n".join(map(plain_text, ALL["facts"](96, said)))
    assert "<U+202E>" in shown
    assert "<U+001B>" in shown
