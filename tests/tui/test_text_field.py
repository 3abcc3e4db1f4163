"""Typing and pasting: nothing is dropped silently, letters of an empty line stay keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding

from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.text_field import Edit, TextField, pasted
from tui.screen_text import screen_text
from tui.test_widgets import ME


class Form(SafeApp[None]):
    BINDINGS = [Binding("n", "count", "count")]  # noqa: RUF012

    def __init__(self, **options: object) -> None:
        super().__init__()
        self.field = TextField(**options)  # type: ignore[arg-type]
        self.counted = 0
        self.refused: list[str] = []
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.field

    def on_mount(self) -> None:
        self.field.focus()

    def action_count(self) -> None:
        self.counted += 1

    def on_text_field_refused(self, event: TextField.Refused) -> None:
        self.refused.append(event.reason)

    def on_text_field_submitted(self, event: TextField.Submitted) -> None:
        self.sent.append(event.value)


async def test_letters_type_once_the_line_began() -> None:
    app = Form(leaves=lambda key: key == "n")
    async with app.run_test() as pilot:
        await pilot.press("n")
        assert (app.field.value, app.counted) == ("", 1)
        await pilot.press("minus", "space", "n", "enter")
        await pilot.pause()
        assert (app.field.value, app.counted, app.sent) == ("- n", 1, ["- n"])


async def test_an_address_shows_groups_and_keeps_its_value() -> None:
    app = Form(grouped=True)
    async with app.run_test(size=(60, 20)) as pilot:
        app.field.post_message(events.Paste(f"  {ME[:20]} {ME[20:]}\n"))
        await pilot.pause()
        assert app.field.value == ME
        shown = screen_text(app).split("\n")
        assert "0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed" in shown[0]
        await pilot.press("backspace", "left", "x")
        assert app.field.value == ME[:-2] + "x" + ME[-2]
        assert not app.refused


async def test_a_long_address_wraps_and_is_never_cut() -> None:
    app = Form(grouped=True)
    async with app.run_test(size=(40, 20)) as pilot:
        app.field.set_value(ME * 2)
        await pilot.pause()
        shown = screen_text(app)
        assert "…" not in shown
        assert "".join(shown.replace("▌", "").split()) == ME * 2


async def test_what_a_paste_leaves_out_is_said() -> None:
    app = Form(limit=20)
    async with app.run_test() as pilot:
        app.field.post_message(events.Paste("ab\u200bc\x1b[31md"))
        await pilot.pause()
        assert app.field.value == "abc[31md"
        assert "2 invisible characters" in app.refused[-1]
        app.field.post_message(events.Paste("x" * 30))
        await pilot.pause()
        assert app.field.value == "abc[31md"
        assert "at most 20" in app.refused[-1]


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("  0.5 btc eth\n", "0.5 btc eth", ""),
        ("one\ntwo", "one two", "2 lines were joined into one."),
        ("\u200b", "", "The paste had nothing to insert."),
        ("a\tb", "a b", ""),
    ],
)
def test_pastes(text: str, value: str, said: str) -> None:
    assert pasted(text) == (value, said)


@given(st.text(max_size=200), st.booleans())
def test_a_paste_never_brings_an_invisible_character(text: str, grouped: bool) -> None:
    value, said = pasted(text, grouped=grouped)
    assert value.isprintable()
    visible = [char for char in text if char.isprintable() and not char.isspace()]
    assert [char for char in value if not char.isspace()] == visible
    dropped = [char for char in text.strip() if not char.isprintable() and not char.isspace()]
    assert said or not dropped


ACTS = ["left", "right", "home", "end", "backspace", "delete", "word", "to_start", "to_end"]


@given(st.text(alphabet="ab ", max_size=12), st.lists(st.sampled_from(ACTS), max_size=20))
def test_the_cursor_stays_in_the_value(value: str, acts: list[str]) -> None:
    edit = Edit(value, len(value))
    for act in acts:
        edit = edit.after(act)
        assert 0 <= edit.cursor <= len(edit.value)
        assert len(edit.value) <= len(value)


def test_words_are_deleted_with_their_spaces() -> None:
    assert Edit("0.5 btc eth", 11).after("word") == Edit("0.5 btc ", 8)
    assert Edit("0.5 btc ", 8).after("word") == Edit("0.5 ", 4)
    assert Edit("0.5 btc", 0).after("word_right") == Edit("0.5 btc", 4)
