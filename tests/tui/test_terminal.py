"""The two private ends of Textual that are replaced, checked so that an update cannot undo it."""

from __future__ import annotations

import inspect

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import Static

from corpus import load
from flows.support.test_case_file import PHRASES, PLANTED
from swapdesk.tui.crash_report import REDACTED, crash_report, redacted
from swapdesk.tui.glyphs import GlyphSet, ascii_forms, automatic_set
from swapdesk.tui.terminal import ControlFilter, SafeApp, copied_notice
from swapdesk.tui.widgets.order_table import SIGNS
from tui.screen_text import screen_text


def test_textual_still_asks_for_line_filters_and_ends_in_fatal_error() -> None:
    assert "get_line_filters" in vars(App)
    assert "_fatal_error" in vars(App)
    assert "self._fatal_error()" in inspect.getsource(App._handle_exception)
    assert "_exit_renderables" in inspect.getsource(App._fatal_error)
    assert SafeApp._fatal_error is not App._fatal_error


class Raw(SafeApp[None]):
    """A foreign widget that shows a text without any care."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        from textual.content import Content

        yield Static(Content(self.text))


@pytest.mark.parametrize("case", load("text"), ids=lambda case: case.id)
async def test_the_filter_catches_what_a_foreign_widget_lets_through(case: object) -> None:
    app = Raw(case.text[:200].replace("\n", " "))  # type: ignore[attr-defined]
    async with app.run_test(size=(100, 10)) as pilot:
        await pilot.pause()
        from unicodedata import category

        for char in screen_text(app).replace("\n", ""):
            assert category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_the_filter_leaves_clean_lines_alone() -> None:
    line = [Segment("0.5 BTC → ETH")]
    assert ControlFilter().apply(line, Color.parse("black")) is line


class Breaking(SafeApp[None]):
    """Breaks with secrets in scope and in the text of the exception."""

    def on_mount(self) -> None:
        private_key = "4c0883a69102937d6231471b5dbb6204fe512961708279feb4a2d0e4b3e1a0d1"
        headers = {"Authorization": "partner-key:very-secret-value"}
        raise RuntimeError(f"answer was \x1b[2J {headers} for {private_key}")


async def test_a_crash_shows_where_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    app = Breaking()
    with pytest.raises(RuntimeError):
        async with app.run_test():
            pass
    report = capsys.readouterr().err
    assert "on_mount" in report
    assert "Orders go on without it" in report
    assert "very-secret-value" not in report
    assert "4c0883a6" not in report
    assert "\x1b[2J" not in report
    assert "locals" not in report


def test_redaction_names_what_it_took_out() -> None:
    said = redacted('{"apiSecret": "abc", "x": 1} Authorization: Bearer zzz password=hunter2')
    assert "abc" not in said
    assert "zzz" not in said
    assert "hunter2" not in said
    assert said.count(REDACTED) >= 3
    assert '"x": 1' in said


@pytest.mark.parametrize("secret", [*PLANTED.values(), *PHRASES])
def test_an_exception_that_quotes_a_key_or_a_phrase_is_named_alone(secret: str) -> None:
    report = crash_report(ValueError(f"no order is called {secret}"))
    assert f"ValueError: {REDACTED}" in report
    assert secret not in report


def test_a_long_exception_is_cut() -> None:
    assert len(crash_report(ValueError("x" * 100_000))) < 6_000


async def test_messages_of_the_toolkit_are_never_markup() -> None:
    app = Raw("x")
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        app.notify("A[/]B [@click=app.quit]x[/]")
        await pilot.pause()
        assert "A[/]B [@click=app.quit]x[/]" in screen_text(app)


async def test_nothing_moves_by_itself() -> None:
    app = Raw("x")
    async with app.run_test():
        assert app.animation_level == "none"
        assert not app.use_command_palette


def test_what_the_copy_notice_says() -> None:
    assert copied_notice("address", "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh") == (
        "Copied address rEb8 … uaLh"
    )
    assert copied_notice("tag", "104882716") == "Copied tag 104882716"


def test_states_look_different_in_ascii() -> None:
    signs = [sign for sign, _ in SIGNS.values()]
    assert len({*"".join(ascii_forms("".join(signs)))}) == len({*signs})


def test_ascii_keeps_the_place_of_every_column() -> None:
    text = "0.5 BTC → ETH     6m of ~14m  ●━━ Isthm…"
    forms = "".join(ascii_forms(text))
    assert forms == "0.5 BTC -> ETH    6m of ~14m  *== Isthm."
    assert len(forms) == len(text)


@pytest.mark.parametrize(
    ("environ", "encoding", "glyphs"),
    [
        ({}, "UTF-8", GlyphSet.UNICODE),
        ({}, "ANSI_X3.4-1968", GlyphSet.ASCII),
        ({"LANG": "en_US.UTF-8"}, "UTF-8", GlyphSet.UNICODE),
        ({"LANG": "C.UTF-8"}, "UTF-8", GlyphSet.UNICODE),
        # As a process has it that Python has begun: it writes UTF-8 there.
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "UTF-8", GlyphSet.ASCII),
        ({"LANG": "POSIX"}, "UTF-8", GlyphSet.ASCII),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "UTF-8", GlyphSet.ASCII),
        ({"LANG": "C", "LC_ALL": "en_US.UTF-8"}, "UTF-8", GlyphSet.UNICODE),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "UTF-8", GlyphSet.UNICODE),
    ],
)
def test_a_plain_locale_has_ascii_glyphs(
    environ: dict[str, str], encoding: str, glyphs: GlyphSet
) -> None:
    assert automatic_set(encoding, environ) is glyphs
