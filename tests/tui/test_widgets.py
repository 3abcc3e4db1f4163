"""Every widget as text: its goldens, hostile text in it, and the rows of frame and money line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from corpus import load
from corpus.texts import control_texts, markup_texts, sample
from swapdesk.flows.check_line import CheckLine
from swapdesk.tui.commands.command import CommandState
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.screens.swap import IntentReading, reading_lines
from swapdesk.tui.spans import Line, Span, ascii_line, plain_text, width_of
from swapdesk.tui.terminal import ControlFilter
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import alike_lines, check_lines
from swapdesk.tui.widgets.frame import (
    BudgetFigure,
    FrameState,
    MoneyState,
    NoticeRow,
    NoticeState,
    World,
    frame_lines,
    key_line,
    money_line,
    whole_sentences,
)
from swapdesk.tui.widgets.gauge import countdown_spans, gauge_line
from swapdesk.tui.widgets.help_overlay import HelpGroup, help_lines
from swapdesk.tui.widgets.lines_view import section_line
from swapdesk.tui.widgets.stage_line import (
    StageMark,
    StageState,
    stage_spans,
)
from swapdesk.tui.widgets.text_field import Edit, TextField
from swapdesk.wire.encoding.text import safe_text
from tui.screen_text import lines_text

ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB = "0x5aAe71c0D28b03Aa5512e9F407bE6c3dEf1BeAed"
XRP = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"

Draw = Callable[[int, str], list[Line]]


def header(width: int, text: str) -> list[Line]:
    """Rows over the whole width: two cells of margin are part of the frame."""
    return frame_lines(
        FrameState(
            "Order",
            context=text or "r3Tz9W8mLq · private",
            account="alice",
            stream="live",
            age=1,
            budget=BudgetFigure("reads", 480, 500, "37m"),
        ),
        width + 4,
    )


def live_header(width: int, text: str) -> list[Line]:
    return frame_lines(
        FrameState(
            "Orders",
            "LIVE",
            context=text or "last 48 h",
            account="alice",
            stream="polling",
            age=12,
            budget=BudgetFigure("reads", 40, 500, "37m"),
            read_only=True,
        ),
        width + 4,
    )


def money(width: int, text: str) -> list[Line]:
    where = text or "with the second exchange, on the way to @bob, since 14:26:58."
    state = MoneyState(where, "you: send the deposit within 27:12", "with the second exchange.")
    return [money_line(state, width)]


def keys(width: int, text: str) -> list[Line]:
    hints = [
        CommandState("enter", text or "review"),
        CommandState("e", "explain"),
        CommandState("s", "sort"),
        CommandState("r", "refresh", "1 quote"),
        CommandState("c", "create", locked="3 problems"),
        CommandState("esc", "back"),
        CommandState("x", "export"),
    ]
    return [key_line(hints, width)]


def sections(width: int, text: str) -> list[Line]:
    return [
        section_line(text or "Open", "5", width),
        section_line("Orders", "", width, "41s old, polling"),
    ]


def stages(width: int, text: str) -> list[Line]:
    return [
        stage_spans(StageState(2, 5, StageMark.MOVING)),
        stage_spans(StageState(6, 9, StageMark.MOVING)),
        stage_spans(StageState(2, 5, StageMark.TROUBLE)),
        stage_spans(StageState(0, 5, StageMark.EXPIRED)),
        stage_spans(StageState(8, 9, StageMark.DONE)),
    ]


def gauges(width: int, text: str) -> list[Line]:
    return [
        gauge_line(2, 20, width, reset="41s", label="minute"),
        gauge_line(450, 500, width, reset="37m", label="hour"),
        gauge_line(5000, 5000, width, reset="9h57m", label="day"),
        countdown_spans(48, 60, 12),
        countdown_spans(0),
    ]


def fields(width: int, text: str) -> list[Line]:
    wide = width + 4
    typed = text or "0.5 btc eth"
    long = "what a long line this is " * 6
    shown = [
        TextField(typed, hint="amount   you sell"),
        TextField(ME, grouped=True),
        TextField(XRP * 3, grouped=True),
        TextField(long),
        TextField(prompt=text or "name"),
        TextField("0.5", tall=True),
    ]
    for field in (shown[0], shown[1], shown[3], shown[5]):
        field.has_focus = True
    shown[3]._edit = Edit(long, 100)
    return [row for field in shown for row in field.lines(wide)]


def readings(width: int, text: str) -> list[Line]:
    said = text or "Sell 0.5 BTC on Bitcoin, buy ETH on Ethereum"
    return [
        *reading_lines(IntentReading("valid", said, "≈ $48,210.00", "limits 0.8"), width),
        *reading_lines(IntentReading("refused", text or '"1,5": write 1.5'), width),
        *reading_lines(IntentReading(), width),
    ]


def checks(width: int, text: str) -> list[Line]:
    said = text or 'Not a Bitcoin address: character 23 is "o", which bech32 never uses.'
    again = "Copy it again from its source."
    return [
        *check_lines(CheckLine("ok", text or "Ethereum address, checksum correct"), width),
        *check_lines(CheckLine("refuse", said, again), width),
        *(alike_lines(ME, "@bob", BOB) if width > 60 else []),
    ]


def facts(width: int, text: str) -> list[Line]:
    return facts_lines(
        [
            Fact("Deposit to", address=ME, note="on Ethereum"),
            Fact("Payout tx", text or "not sent yet"),
            Fact(),
            Fact("You get", "14.310 ETH", was="14.498 ETH", below=["on Ethereum"], bold=True),
            Fact("Pays", address=text or XRP * 4),
        ],
        width,
    )


def help_text(width: int, text: str) -> list[Line]:
    return help_lines(
        [
            HelpGroup("This screen", [("enter", text or "Review the chosen route.")]),
            HelpGroup("Everywhere", [("n", "Start a swap."), ("q", "Leave.")]),
        ],
        width,
    )


ALL: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        header, live_header, money, keys, sections, stages, gauges, fields, readings, checks, facts,
        help_text,
    )
}  # fmt: skip
WIDE = {"header", "live_header", "fields"}
"""These draw the margin themselves."""


Golden = Callable[[str, str], None]


ROOMY = ("header", "help_text", "keys", "money")


@pytest.mark.parametrize(
    ("name", "columns"), [*((name, 80) for name in ALL), *((name, 120) for name in ROOMY)]
)
def test_widget(name: str, columns: int, golden: Golden) -> None:
    width = columns if name in WIDE else columns - 4
    golden(f"widgets/{name}-{columns}", lines_text(ALL[name](columns - 4, ""), width))


def test_ascii_has_no_other_character() -> None:
    for name, draw in ALL.items():
        text = "\n".join(plain_text(ascii_line(line)) for line in draw(96, ""))
        assert text.isascii(), (name, sorted({char for char in text if not char.isascii()}))


def test_no_row_is_longer_than_the_screen() -> None:
    for name, draw in ALL.items():
        for width in (56, 76, 96, 116, 156):
            lines_text(draw(width, ""), width + 4 if name in WIDE else width)


def test_no_widget_breaks_on_raw_text() -> None:
    cases = load("markup", "text")
    assert len(cases) >= 10
    for name, draw in ALL.items():
        for case in cases:
            for width in (56, 96):
                for line in draw(width, case.text[:400]):
                    assert plain_text(line).isprintable(), (name, case.id)


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
                assert _OWN.sub("", filtered.render(console)).isprintable(), (name, ascii(text))


_OWN = re.compile("\x1b\\[[0-9;]*m")


def test_markup_is_literal_in_every_widget_that_takes_text() -> None:
    takes = ["header", "keys", "sections", "readings", "checks", "facts", "help_text"]
    for payload in markup_texts():
        for name in takes:
            assert payload in "\n".join(map(plain_text, ALL[name](156, payload))), (name, payload)


def test_text_of_the_wire_is_shown_as_the_wire_room_rewrote_it() -> None:
    said = safe_text("pay\u202ehere\x1b[0m", 80)
    shown = "\n".join(map(plain_text, ALL["facts"](96, said)))
    assert "<U+202E>" in shown
    assert "<U+001B>" in shown


def frame_of(world: World, glyphs: GlyphSet, width: int) -> list[str]:
    """The header, the rule under it and the bottom rule, as a screen without colours shows."""
    rows = frame_lines(FrameState("Quotes", world, account="alice"), width)
    rows += NoticeRow(NoticeState(world=world)).lines(width)
    return [plain_text(ascii_line(row) if glyphs is GlyphSet.ASCII else row) for row in rows]


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("glyphs", GlyphSet)
def test_the_two_worlds_differ_in_three_places(glyphs: GlyphSet, width: int) -> None:
    sandbox, live = frame_of("SANDBOX", glyphs, width), frame_of("LIVE", glyphs, width)
    assert "SANDBOX" in sandbox[0]
    assert "LIVE" in live[0]
    assert "LIVE" not in sandbox[0]
    # Light and broken above and below, against heavy and whole.
    assert all(one != other for one, other in zip(sandbox, live, strict=True))
    assert len(set(sandbox[1])) == len(set(live[1])) == 1
    assert set(sandbox[1]).isdisjoint(live[1])
    assert set(sandbox[2]).isdisjoint(live[2])


def test_the_word_of_the_frame_stands_for_nothing_else() -> None:
    """The stream of orders is called stream, and never live."""
    for world in get_args(World):
        rows = frame_of(world, GlyphSet.UNICODE, 120)
        assert "\n".join(rows).lower().count("live") == (1 if world == "LIVE" else 0)


SAID = "34 usable routes, 1 not. Nothing has moved."
STATE = MoneyState("in your wallet.", "you: choose a route in 0:58")


@pytest.mark.parametrize(
    ("width", "shown"),
    [(80, SAID), (77, SAID), (76, "34 usable routes, 1 not. …"), (50, "34 usable route…")],
)
def test_what_does_not_fit_ends_with_a_sentence(width: int, shown: str) -> None:
    line = plain_text(money_line(STATE, width, SAID))
    assert line.startswith(f"{shown}  ")
    assert line.endswith("Next you: choose a route in 0:58")


def test_sentences_are_left_out_from_the_end() -> None:
    said = [Span("One is said. Two is said. Three is said.", "status-waiting")]
    shown = {plain_text(whole_sentences(said, width)) for width in range(2, 45)}
    assert {"One is said. …", "One is said. Two is said. …", plain_text(said)} < shown
    for width in range(1, 45):
        assert width < 14 or not plain_text(whole_sentences(said, width)).endswith("d…")
        assert width_of(whole_sentences(said, width)) <= width
    assert whole_sentences(said, 20)[0].role == "status-waiting"


def test_a_notice_takes_the_short_step_beside_it() -> None:
    state = MoneyState(
        "on its way.", "the exchanges: they pay; o shows", next_short="the exchanges"
    )
    line = plain_text(money_line(state, 63, SAID))
    assert line == f"{SAID}  Next the exchanges"


def test_without_room_the_next_step_is_what_is_left() -> None:
    assert plain_text(money_line(STATE, 20, SAID)).startswith("Next you: choose")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, ("Funds with Cobalt, after its payout began.", "Next Cobalt: it pays out")),
        (60, ("Funds with Cobalt.", "Next Cobalt: it pays out")),
        (40, ("Funds with Cobalt.", "Next Cobalt")),
    ],
)
def test_the_place_is_shortened_before_the_step_and_neither_is_cut(
    width: int, shown: tuple[str, str]
) -> None:
    state = MoneyState(
        "with Cobalt, after its payout began.", "Cobalt: it pays out", "with Cobalt.",
        next_short="Cobalt",
    )  # fmt: skip
    line = plain_text(money_line(state, width))
    assert (line.startswith(f"{shown[0]}  "), line.endswith(f"  {shown[1]}")) == (True, True)


def test_the_place_is_never_cut_where_who_acts_can_be_said_beside_it() -> None:
    next_ = "the desk: it goes on where it stopped when it is started again"
    state = MoneyState(
        "in your wallet; nothing was swapped.", next_, "1,000 USDC in wallet trading."
    )
    line = plain_text(money_line(state, 76))
    assert line.startswith("Funds in your wallet; nothing was swapped.  ")
    assert line.endswith("  Next the desk")


@pytest.mark.parametrize("width", [40, 76, 80])
def test_the_longest_step_leaves_the_word_for_the_place(width: int) -> None:
    state = MoneyState("with " + "Cobalt" * 20, "Cobalt" * 40 + ": it pays out", "with Cobalt.")
    line = plain_text(money_line(state, width))
    assert line.startswith("Funds …  Next Cobalt")
    assert len(line) == width


def test_a_step_alone_has_the_whole_row() -> None:
    said = "Next you: " + "x" * 30
    assert plain_text(money_line(MoneyState("", said[5:]), 40)) == said
