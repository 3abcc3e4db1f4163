"""The places of a screen at every size, its keys, notices, overlays and the money rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.widget import Widget

from swapdesk.clock import ManualClock
from swapdesk.tui import base_screen
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands.command import READY, CommandState, Verb
from swapdesk.tui.commands.orders import ORDERS
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.frame import Badge, BudgetFigure, FrameState, Stream
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.overlay import Question, TypedConfirm
from swapdesk.tui.widgets.table_layout import Column, Row, Section
from tui.screen_text import screen_text

REFRESH = Verb("refresh", "r", "refresh", "Ask for quotes again.")
CREATE = Verb("create", "c", "create", "Create the order.", money=True)
SIGN = Verb("sign", "s", "sign", "Sign it.")
EXPLAIN = Verb("explain", "e", "explain", "Explain the row under the cursor.")


class Quotes(DeskScreen):
    VERBS = (CREATE, EXPLAIN, REFRESH, SIGN)

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(
            FrameState(
                "Quotes",
                account="alice",
                badge=Badge(Stream.LIVE, 2),
                budget=BudgetFigure("quotes", 450, 500, "37m"),
            ),
            clock,
        )
        self.created = 0
        self.problems = ""
        self.table = LineTable(
            [
                Column("n", "#", 3),
                Column("route", "Route", 8, role="route-standard"),
                Column("net", "You get", 16, "point", unit=4),
                Column("eta", "ETA", 6, "right", priority=1),
            ]
        )

    def compose_body(self) -> list[Widget]:
        rows = [
            Row(str(n), {"n": str(n), "route": "standard", "net": f"{n}.5 ETH", "eta": "~14m"})
            for n in range(1, 6)
        ]
        self.table.set_rows([Section("usable", "Usable", "5"), *rows])
        return [self.table]

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is SIGN:
            return CommandState(hidden=True)
        if verb is REFRESH:
            return CommandState(cost="1 quote")
        return CommandState(locked=self.problems) if verb is CREATE and self.problems else READY

    def on_mount(self) -> None:
        self.set_money("in your wallet.", "you: choose a route in 0:48")
        self.table.focus()

    def do_create(self) -> None:
        self.created += 1

    async def do_refresh(self) -> None:
        self.show_notice("9 usable routes, 4 not. Nothing has moved.")

    def do_explain(self) -> None:
        self.app.push_screen(TypedConfirm(Question("Sure?", ["It happens."], "yes")), self.answer)

    def answer(self, agreed: bool | None) -> None:
        self.show_notice("agreed" if agreed else "left")


class Desk(SafeApp[None]):
    def __init__(self, glyph_set: GlyphSet = GlyphSet.UNICODE) -> None:
        super().__init__(glyph_set=glyph_set)
        self.clock = ManualClock()
        self.quotes = Quotes(self.clock)
        self.went: list[Verb] = []

    def on_mount(self) -> None:
        self.push_screen(self.quotes)

    def on_desk_screen_go(self, event: DeskScreen.Go) -> None:
        self.went.append(event.verb)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("glyph_set", GlyphSet)
async def test_the_places(
    size: tuple[int, int], glyph_set: GlyphSet, golden: Callable[[str, str], None]
) -> None:
    app = Desk(glyph_set)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = screen_text(app)
        rows = shown.split("\n")
        assert rows[-2].startswith("  Funds in your wallet.")
        assert rows[-1].endswith("? keys")
        if glyph_set is GlyphSet.ASCII:
            assert shown.isascii()
        else:
            golden(f"screen-{size[0]}", shown)


async def test_a_hidden_verb_has_no_key_and_no_place() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        keys = screen_text(app).split("\n")[-1]
        assert "c create   e explain   r refresh, 1 quote" in keys
        assert "sign" not in keys
        await pilot.press("s")


async def test_money_keys_wait_for_a_still_screen() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.quotes.step_changed("create with Halyard")
        await pilot.press("c")
        await pilot.pause()
        assert app.quotes.created == 0
        assert "The screen just changed." in screen_text(app)
        app.clock.advance(0.5)
        await pilot.press("c")
        assert app.quotes.created == 1
        # The step changes but the footer was not drawn for it yet.
        app.quotes.guard.changed("create with Cobalt")
        app.clock.advance(0.5)
        await pilot.press("c")
        assert app.quotes.created == 1


async def test_a_locked_verb_says_why() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        app.quotes.problems = "3 problems"
        app.quotes.refresh_keys()
        await pilot.press("c")
        await pilot.pause()
        assert app.quotes.created == 0
        assert "Create: 3 problems." in screen_text(app)
        assert "c create, 3 problems" in screen_text(app)


async def test_a_notice_takes_the_rule_and_on_short_screens_the_left_half() -> None:
    for size in ((100, 30), (80, 24)):
        app = Desk()
        async with app.run_test(size=size) as pilot:
            await pilot.press("r")
            await pilot.pause()
            rows = screen_text(app).split("\n")
            place = rows[-3] if size[1] >= 28 else rows[-2]
            assert place.startswith("  9 usable routes, 4 not.")
            assert rows[-2].endswith("Next you: choose a route in 0:48")
            app.quotes.clear_notice()
            await pilot.pause()
            assert "9 usable" not in screen_text(app)


async def test_a_notice_stands_for_its_time_of_the_desks_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long a busy machine takes to draw it."""
    monkeypatch.setattr(base_screen, "NOTICE_SECONDS", 0.01)
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("r")
        await pilot.pause(0.05)
        assert "9 usable" in screen_text(app)
        app.clock.advance(1)
        for _ in range(1000):
            if "9 usable" not in screen_text(app):
                break
            await pilot.pause(0.01)
        assert "9 usable" not in screen_text(app)


async def test_overlays_leave_the_money_line_in_sight() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        before = screen_text(app).split("\n")
        await pilot.press("question_mark")
        await pilot.pause()
        rows = screen_text(app).split("\n")
        assert rows[-2] == before[-2]
        assert rows[:8] == before[:8]
        assert "Ask for quotes again; 1 quote." in screen_text(app)
        await pilot.press("escape", "ctrl+p", *"ord", "enter")
        await pilot.pause()
        assert app.went == [ORDERS]


async def test_a_phrase_must_be_typed_exactly() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("e", *"no", "enter")
        await pilot.pause()
        assert 'Not the same: type "yes".' in screen_text(app)
        await pilot.press("backspace", "backspace", *"yes", "enter")
        await pilot.pause()
        assert "agreed" in screen_text(app)


async def test_a_theme_is_chosen_in_the_palette() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+p", *"theme paper", "enter")
        await pilot.pause()
        assert app.theme == "paper"


async def test_too_small_says_so_and_recovers() -> None:
    app = Desk()
    async with app.run_test(size=(52, 14)) as pilot:
        await pilot.pause()
        assert screen_text(app).strip() == "This desk needs 60 x 15. You have 52 x 14."
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "Funds in your wallet." in screen_text(app)


async def test_escape_and_quit_reach_the_application() -> None:
    app = Desk()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("escape", "q", "o")
        await pilot.pause()
        assert [verb.id for verb in app.went] == ["back", "quit", "orders"]
