"""Copies: what leaves for the terminal, what a multiplexer is given, what is said of it."""

from __future__ import annotations

import base64

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from swapdesk.tui.spans import plain_text
from swapdesk.tui.terminal import Way, copied_notice, way_of, wrapped_copy
from swapdesk.tui.themes import INK, NoColorButInk
from swapdesk.tui.widgets.overlay import ExactText, exact_lines
from tui.desk_run import Market

XMR = "4" + "8" * 94


@pytest.mark.parametrize(
    ("environ", "way"),
    [
        ({"TERM": "xterm-256color"}, Way.DIRECT),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, Way.TMUX),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, Way.TMUX),
        ({"TERM": "screen.xterm-256color"}, Way.SCREEN),
        ({"TERM": "xterm", "STY": "1.pts-0"}, Way.SCREEN),
        ({"TERM": "linux"}, Way.NONE),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, Way.NONE),
    ],
)
def test_the_way_is_known_by_the_name_of_the_terminal(environ: dict[str, str], way: Way) -> None:
    assert way_of(environ) is way


def test_tmux_gets_every_escape_twice_and_screen_gets_pieces() -> None:
    bare = f"\x1b]52;c;{base64.b64encode(XMR.encode()).decode()}\x07"
    tmux = wrapped_copy(XMR, Way.TMUX)
    assert tmux.startswith("\x1bPtmux;\x1b\x1b]52;c;")
    assert tmux.endswith("\x1b\\")
    assert tmux[len("\x1bPtmux;") : -2].replace("\x1b\x1b", "\x1b") == bare
    pieces = wrapped_copy(XMR, Way.SCREEN).split("\x1bP")[1:]
    assert len(pieces) > 1
    assert all(len(piece) <= 78 and piece.endswith("\x1b\\") for piece in pieces)
    assert "".join(piece[:-2] for piece in pieces) == bare
    assert wrapped_copy(XMR, Way.DIRECT) == ""


def test_the_notice_claims_no_more_than_is_known() -> None:
    assert copied_notice("address", XMR) == "Copied address 4888 … 8888"
    said = copied_notice("tag", "7", Way.TMUX)
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
        assert isinstance(run.app.screen, ExactText)
        order = next(run.app.session.desk.journal.orders.each()).order
        assert f"\n  {order.deposit_address}\n" in run.text + "\n"
        assert run.app.clipboard == ""
        await run.press("escape")
        assert not isinstance(run.app.screen, ExactText)


def test_a_code_stays_black_on_white_without_colours() -> None:
    red = Style(color="red")
    kept, bare = NoColorButInk().apply(
        [Segment("█", INK), Segment("x", red)], Color.parse("#000000")
    )
    assert kept.style == INK
    assert bare.style.color.is_default
