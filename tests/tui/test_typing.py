"""Typing and pasting: nothing is dropped silently, letters of an empty line stay keys, and keys
that are typed faster than the desk acts on them do nothing on a page that nobody has seen."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Event, Key, Paste

from swapdesk.tui import keys_in_turn
from swapdesk.tui.keys_in_turn import KeyInProgress
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.help_overlay import HelpOverlay
from swapdesk.tui.widgets.text_field import Edit, TextField, pasted
from tui.desk_run import DeskRun, Market
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
        self.refused.append(event.value)

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


def by_hand(desk: DeskRun, key: str | Event) -> Event:
    event = key if isinstance(key, Event) else Key(key, key if len(key) == 1 else None)
    event.set_sender(desk.app)
    return event


async def burst(desk: DeskRun, *keys: str | Event, turns: int = 0) -> None:
    """Give all keys with so many turns of the loop between them, then wait for their effect."""
    for key in keys:
        desk.app.post_message(by_hand(desk, key))
        for _ in range(turns):
            await asyncio.sleep(0)
    taken = asyncio.Event()
    # Behind the keys in the same queue: before it comes they may all be on their way still.
    desk.app.call_later(taken.set)
    await desk.settle(lambda: taken.is_set() and desk.app.keys.at_rest)


async def start(desk: DeskRun) -> None:
    """Back to the first screen, with nothing on its line."""
    await desk.pilot.pause()
    for _ in range(4):
        await burst(desk, "escape")
    assert desk.screen(SwapScreen).line.value == ""


def searched(desk: DeskRun) -> str:
    return desk.screen(TokensScreen)._field.value


async def test_what_is_typed_or_pasted_behind_the_key_of_a_page_reaches_its_field(
    market: Market, subtests: pytest.Subtests
) -> None:
    async with market.desk() as desk:
        for turns in (0, 1, 2, 3, 5, 8, 13, 40):
            with subtests.test(turns=turns):
                await burst(desk, *"tusdc", turns=turns)
                assert searched(desk) == "usdc"
                await desk.see("USD Coin")
            await start(desk)
        await burst(desk, "t", Paste("usdc"))
        assert searched(desk) == "usdc"


async def test_a_line_typed_at_once_stands_as_it_was_typed(market: Market) -> None:
    async with market.desk() as desk:
        await burst(desk, *"0.5 btcc", "backspace", *" eth")
        assert desk.screen(SwapScreen).line.value == "0.5 btc eth"


async def test_a_key_for_a_page_nobody_has_seen_does_nothing(market: Market) -> None:
    """With it what was typed behind it is dropped: it was meant for what it would have opened."""
    async with market.desk() as desk:
        await burst(desk, *"tu", "escape", *"sdc")
        assert searched(desk) == "u"
        await burst(desk, "escape")
        await burst(desk, "escape")
        await desk.ready()
        await burst(desk, "o", "q", "q")
        desk.screen(OrdersScreen)
        assert desk.app.is_running


async def test_a_key_pressed_as_soon_as_a_page_is_there_is_not_dropped(market: Market) -> None:
    async with market.ready_desk() as desk:
        desk.app.post_message(by_hand(desk, "o"))
        for _ in range(2_000):
            if isinstance(desk.app.screen, OrdersScreen):
                break
            await asyncio.sleep(0)
        await burst(desk, "escape")
        desk.screen(SwapScreen)


async def test_what_is_pressed_once_a_page_or_overlay_is_there_works_on_it(
    market: Market,
) -> None:
    async with market.desk() as desk:
        for _ in range(3):
            await burst(desk, "t")
            await burst(desk, "u")
            assert searched(desk) == "u"
            await burst(desk, "escape")
            await burst(desk, "escape")
            desk.screen(SwapScreen)
        # An overlay that closes takes no later key with it.
        await burst(desk, "f1")
        desk.screen(HelpOverlay)
        await burst(desk, "escape")
        await burst(desk, *"0.5 btc eth")
        assert desk.screen(SwapScreen).line.value == "0.5 btc eth"


async def test_a_key_that_nobody_answers_holds_back_no_other(market: Market) -> None:
    """Its widget went with it, and said nothing."""
    async with market.desk() as desk:
        app, lost = desk.app, Key("5", "5")
        field = TextField(prompt=">", limit=9)
        app.keys._given = KeyInProgress(
            app.keys._turn, lost, app.screen, field, market.clock.monotonic()
        )
        assert app.keys.at_rest
        await burst(desk, "t", "u")
        assert searched(desk) == "u"


async def test_a_key_that_is_answered_late_is_waited_for_by_the_clock_of_the_desk(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine changes nothing; time of the clock does."""
    monkeypatch.setattr(keys_in_turn, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(keys_in_turn, "PATIENCE_SECONDS", 0.01)
    async with market.ready_desk() as desk:
        app, late = desk.app, Key("5", "5")
        now = market.clock.monotonic()
        app.keys._given = KeyInProgress(app.keys._turn, late, app.screen, app.screen, now)
        app.post_message(by_hand(desk, "t"))
        for _ in range(50):
            await asyncio.sleep(0.001)
        desk.screen(SwapScreen)
        market.clock.advance(0.1)
        await desk.settle(lambda: app.keys.at_rest)
        desk.screen(TokensScreen)


async def test_letters_of_a_word_on_the_empty_line_are_no_keys(
    market: Market, subtests: pytest.Subtests
) -> None:
    # A route takes these amounts: the screen says the same before and after the limits are known.
    lines = {
        "btc eth": "0.5",
        "op usdc.base": "500",
        "qnt btc": "50",
        "trx btc": "900",
        "near sol": "50",
    }
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        for (line, amount), turns in zip(lines.items(), (0, 3, 40, 0, 3), strict=True):
            with subtests.test(line=line, turns=turns):
                await burst(desk, *line, turns=turns)
                assert desk.screen(SwapScreen).line.value == line
                await desk.see("Type the amount before it.")
                await burst(desk, "enter", *amount)
                assert desk.screen(SwapScreen).line.value == f"{amount} {line}"
                await desk.see(f"Sell  {amount} ")
            await start(desk)


async def test_a_letter_that_begins_no_word_is_a_key(market: Market) -> None:
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        await burst(desk, *"tusdc")
        assert searched(desk) == "usdc", "no token is called so"
        await burst(desk, "escape", "escape")
        await burst(desk, *"p0.5 eth")
        assert desk.screen(SwapScreen).private
        assert desk.screen(SwapScreen).line.value == "0.5 eth"
        await burst(desk, "escape", "escape")
        desk.app.keys.word_seconds = 0.01
        await burst(desk, "o")
        desk.screen(OrdersScreen)


async def test_a_word_that_is_typed_slowly_stays_on_the_line(market: Market) -> None:
    """The letter says what it does while it waits, and enter waits no longer."""
    assert keys_in_turn.WORD_SECONDS >= 1, "whoever looks for each key needs a second"
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        for letter, said in zip("btc", ("b: batch in a moment", "", ""), strict=True):
            desk.app.post_message(by_hand(desk, letter))
            await desk.see(said or "Type the amount before it.")
        assert desk.screen(SwapScreen).line.value == "btc"
        await burst(desk, "escape")
        desk.app.post_message(by_hand(desk, "o"))
        await desk.see("o: orders in a moment")
        await burst(desk, "enter")
        desk.screen(OrdersScreen)
