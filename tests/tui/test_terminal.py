"""What passes between the desk and a terminal: control bytes, crashes, copies, pastes, links."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Static

from corpus import load
from corpus.texts import control_texts
from flows.support.test_case_file import PHRASES, PLANTED
from swapdesk.chain.addresses.display import KNOWN, known_page
from swapdesk.flows.notation.hidden_amounts import unknown
from swapdesk.tui.cell_updates import written as cells_written
from swapdesk.tui.crash_report import REDACTED, crash_report, redacted
from swapdesk.tui.glyphs import GlyphSet, ascii_forms, automatic_set
from swapdesk.tui.painting import paint
from swapdesk.tui.spans import Line, Span, plain_text
from swapdesk.tui.terminal import (
    END,
    START,
    ControlFilter,
    GuardedParser,
    PasteGuard,
    SafeApp,
    Way,
    copied_notice,
    draws_links,
    guarded_driver,
    way_of,
    wrapped_copy,
)
from swapdesk.tui.themes import INK, NoColorButInk
from swapdesk.tui.widgets.detail_rows import Fact, fact_lines
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.overlay import ReadingOverlay, exact_lines
from tui.desk_run import Market
from tui.screen_text import screen_text


def test_textual_still_asks_for_line_filters_and_ends_in_fatal_error() -> None:
    assert "self._filters" in inspect.getsource(App.get_line_filters)
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


async def test_the_filter_catches_what_a_foreign_widget_lets_through() -> None:
    app = Raw("\n".join(case.text[:200].replace("\n", " ") for case in load("text")))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        rows = screen_text(app).rstrip("\n").split("\n")
        assert len(load("text")) <= len(rows) < 60, "each of them is in view"
        let_through = [
            ascii(row)
            for row in rows
            if any(category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in row)
        ]
        assert let_through == []


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


def test_an_exception_that_quotes_a_key_or_a_phrase_is_named_alone() -> None:
    for secret in (*PLANTED.values(), *PHRASES):
        report = crash_report(ValueError(f"no order is called {secret}"))
        assert f"ValueError: {REDACTED}" in report, secret
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


XMR = "4" + "8" * 94


WAYS: list[tuple[Mapping[str, str], Way]] = [
    ({"TERM": "xterm-256color"}, "direct"),
    ({"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, "tmux"),
    ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, "tmux"),
    ({"TERM": "screen.xterm-256color"}, "screen"),
    ({"TERM": "xterm", "STY": "1.pts-0"}, "screen"),
    ({"TERM": "linux"}, "none"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "none"),
]


def test_the_way_is_known_by_the_name_of_the_terminal() -> None:
    assert [(environ, way_of(environ)) for environ, _ in WAYS] == WAYS


def test_tmux_gets_every_escape_twice_and_screen_gets_pieces() -> None:
    bare = f"\x1b]52;c;{base64.b64encode(XMR.encode()).decode()}\x07"
    tmux = wrapped_copy(XMR, "tmux")
    assert tmux.startswith("\x1bPtmux;\x1b\x1b]52;c;")
    assert tmux.endswith("\x1b\\")
    assert tmux[len("\x1bPtmux;") : -2].replace("\x1b\x1b", "\x1b") == bare
    pieces = wrapped_copy(XMR, "screen").split("\x1bP")[1:]
    assert len(pieces) > 1
    assert all(len(piece) <= 78 and piece.endswith("\x1b\\") for piece in pieces)
    assert "".join(piece[:-2] for piece in pieces) == bare
    assert wrapped_copy(XMR, "direct") == ""


def test_the_notice_claims_no_more_than_is_known() -> None:
    assert copied_notice("address", XMR) == "Copied address 4888 … 8888"
    assert copied_notice("tag", "104882716") == "Copied tag 104882716"
    said = copied_notice("tag", "7", "tmux")
    assert said == "Copied tag 7. tmux may keep it to itself: compare what you paste."


def test_the_exact_text_stands_unbroken_from_the_left_edge() -> None:
    rows = [plain_text(row) for row in exact_lines("address", XMR, 76)]
    assert rows[0] == "Address"
    assert "".join(rows[2:4]) == XMR
    assert "shift held down" in " ".join(rows)


async def test_a_terminal_without_a_clipboard_shows_the_text_to_select(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STY", raising=False)
    monkeypatch.setenv("TERM", "linux")
    async with market.desk() as run:
        await run.to_deposit()
        await run.press("y")
        assert isinstance(run.app.screen, ReadingOverlay)
        order = next(run.app.session.desk.journal.orders.each()).order
        assert f"\n  {order.deposit_address}\n" in run.text + "\n"
        assert run.app.clipboard == ""
        await run.press("escape")
        assert not isinstance(run.app.screen, ReadingOverlay)


def test_a_code_stays_black_on_white_without_colours() -> None:
    red = Style(color="red")
    kept, bare = NoColorButInk().apply(
        [Segment("█", INK), Segment("x", red)], Color.parse("#000000")
    )
    assert kept.style == INK
    assert bare.style.color.is_default


PIECES = st.lists(
    st.sampled_from(["a", "c", "\x1b", "\x1b[", "\x1b[2J", "\x1b[20", "\x1b]0;x\x07", "~", "\r"]),
    max_size=12,
).map("".join)


def parsed(*chunks: str) -> list[events.Event]:
    parser = GuardedParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return [event for event in found if isinstance(event, (events.Key, events.Paste))]


@given(PIECES.filter(lambda text: END not in text and bool(text)), st.integers(1, 9))
def test_a_paste_is_one_event_and_never_a_key(text: str, size: int) -> None:
    data = f"{START}{text}{END}"
    found = parsed(*[data[at : at + size] for at in range(0, len(data), size)])
    assert [type(event) for event in found] == [events.Paste]


@given(st.text(alphabet="abc\x1b[200~1m", max_size=40), st.integers(1, 9))
def test_outside_a_paste_nothing_changes(text: str, size: int) -> None:
    if START in text:
        return
    guard = PasteGuard()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(guard.take(chunk) for chunk in chunks) == text


def test_an_end_within_a_paste_does_not_end_it() -> None:
    found = parsed(f"{START}0.5 btc{END}\rc{END}")
    assert [type(event) for event in found] == [events.Paste]


def test_keys_around_a_paste_stay_keys() -> None:
    found = parsed(f"n{START}x{END}\r")
    assert [type(event) for event in found] == [events.Key, events.Paste, events.Key]


@pytest.mark.parametrize("key", ["\x1b", "\x1b[A", "\x1bOP", "\x1b[3~"])
def test_keys_are_passed_at_once(key: str) -> None:
    assert PasteGuard().take(key) == key


def test_the_driver_of_a_terminal_uses_the_guard() -> None:
    driver = guarded_driver(LinuxDriver)
    assert driver is not LinuxDriver
    assert driver.run_input_thread.__globals__["XTermParser"] is GuardedParser


HASH = "0x" + "8f2c91d04b1e77ab" * 4
PAGE = f"https://etherscan.io/tx/{HASH}"
OPEN, CLOSE = "\x1b]8;", "\x1b]8;;\x1b\\"


LINKS: list[tuple[Mapping[str, str], bool]] = [
    ({}, False),
    ({"TERM": "xterm-256color"}, False),
    ({"TERM": "dumb", "WT_SESSION": "1"}, False),
    ({"TERM": "linux", "VTE_VERSION": "7600"}, False),
    ({"TERM": "xterm-kitty"}, True),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ({"TERM": "xterm-256color", "VTE_VERSION": "5000"}, False),
    ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
    ({"TERM": "xterm-256color", "VTE_VERSION": "７６００"}, False),
    ({"TERM": "screen-256color", "STY": "1.a", "WT_SESSION": "1"}, False),
    ({"TERM": "tmux-256color", "TMUX": "/t", "VTE_VERSION": "7600"}, False),
    (_tmux := {"TERM": "tmux-256color", "TMUX": "/t", "TERM_PROGRAM": "tmux"}, False),
    ({**_tmux, "TERM_PROGRAM_VERSION": "3.3a"}, False),
    ({**_tmux, "TERM_PROGRAM_VERSION": "3.4"}, True),
    ({**_tmux, "TERM_PROGRAM_VERSION": "next-3.5"}, False),
    ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
    ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
]


def test_which_terminals_get_links() -> None:
    assert [(environ, draws_links(environ)) for environ, _ in LINKS] == LINKS


def test_only_pages_of_explorers_of_the_table() -> None:
    assert known_page(PAGE) == PAGE
    others = [
        None,
        "",
        PAGE.replace("https", "http"),
        PAGE.replace("etherscan.io", "evil.example"),
        PAGE.replace("etherscan.io", "etherscan.io.evil.example"),
        PAGE.replace("etherscan.io", "etherscan.io:8443"),
        PAGE.replace("etherscan.io", "me@etherscan.io"),
        PAGE.replace("etherscan.io", "ETHERSCAN.io"),
        PAGE.replace("etherscan.io", "еtherscan.io"),
        PAGE + "é",
        PAGE + "a" * 2000,
        "https://[etherscan.io/tx",
    ]
    assert [known_page(one) for one in others] == [None] * len(others)


def test_no_text_that_steers_a_terminal_is_a_link() -> None:
    for payload in control_texts():
        assert known_page(f"{PAGE}{payload}") is None, ascii(payload)
        assert known_page(payload) is None, ascii(payload)


def test_every_host_of_the_table_is_a_plain_name() -> None:
    for host in KNOWN:
        assert known_page(f"https://{host}/tx/1"), host


class OneApp(SafeApp[None]):
    """An application whose terminal takes links or does not."""

    def __init__(self, *, links: bool) -> None:
        super().__init__()
        self.draws_links = links

    def compose(self) -> ComposeResult:
        yield from ()


def written(app: OneApp, line: Line, width: int = 90) -> str:
    strip = paint(app, line, width, Style())
    assert strip.cell_length == width
    console = Console(color_system="truecolor", force_terminal=True)
    return cells_written([(0, 0, strip)], console)


def fact(link: str) -> Line:
    return fact_lines(Fact("Payout tx", address=HASH, link=link), 90, 12)[0]


async def test_the_hash_leads_to_its_page_and_nothing_else_does() -> None:
    app = OneApp(links=True)
    async with app.run_test():
        said = written(app, [*fact(PAGE), Span("   "), Span("on Ethereum", "muted")], 120)
        start, rest = said.split(OPEN, 1)
        inside, after = rest.split(CLOSE)
        assert f";{PAGE}\x1b\\" in inside
        assert "Payout tx" in start
        # The blanks behind the hash and the note are no part of it.
        assert inside.removesuffix("\x1b[0m").endswith(" 4b1e")
        assert "on Ethereum" in after


async def test_no_link_where_it_may_not_be_drawn() -> None:
    line = fact(PAGE)
    for app in (OneApp(links=False), hidden := OneApp(links=True)):
        async with app.run_test():
            hidden.privacy = SimpleNamespace(hides_amounts=True, known_symbol=unknown)  # type: ignore[attr-defined]
            assert OPEN not in written(app, line)
    shown = OneApp(links=True)
    async with shown.run_test():
        assert OPEN not in written(shown, fact("https://evil.example/tx/1"))
