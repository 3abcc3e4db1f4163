"""The table keeps its cursor on a key, writes only what changed and does not mind 50,000 rows."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from textual.app import ComposeResult
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from swapdesk.clock import ManualClock
from swapdesk.flows.orders.order_listing import Group
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.cell_updates import CellCompositor
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_table import Drawn, OrderList, Shown
from swapdesk.tui.widgets.table_layout import Column, Prose, Row, Section, TableRow
from tui.known_orders import waiting
from tui.screen_text import screen_text

COLUMNS = (
    Column("id", "Order", 8),
    Column("amount", "You get", 16, "point", unit=4),
    Column("state", "State", 18, priority=2),
    Column("time", "Time", 8, "right", priority=1),
)


class Watched(LineTable):
    """Remembers which regions were asked to be painted."""

    def __init__(self) -> None:
        super().__init__(COLUMNS, empty="No orders yet.")
        self.painted: list[Region | None] = []

    def refresh(self, *regions: Region, **options: bool) -> Watched:
        self.painted.extend(regions or (None,))
        super().refresh(*regions, **options)
        return self


class Desk(SafeApp[None]):
    def __init__(self, rows: Iterable[TableRow] = ()) -> None:
        super().__init__()
        self.table = Watched()
        self.table.set_rows(rows)
        self.seen: list[str] = []
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        self.table.focus()

    def on_line_table_highlighted(self, event: LineTable.Highlighted) -> None:
        self.seen.append(event.key)

    def on_line_table_chosen(self, event: LineTable.Chosen) -> None:
        self.chosen.append(event.key)


def order(key: str, state: str = "Exchanging", amount: str = "14.524108 ETH") -> Row:
    return Row(key, {"id": key, "amount": amount, "state": state, "time": "6m"})


def group(*keys: str) -> list[TableRow]:
    return [Section("open", "Open", str(len(keys))), *map(order, keys)]


async def test_the_cursor_follows_its_order_when_rows_come_and_go() -> None:
    app = Desk(group("a", "b", "c"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j")
        assert app.table.cursor_key == "b"
        app.table.set_rows(group("new", "a", "b", "c"))
        assert app.table.cursor_key == "b"
        app.table.set_rows(group("c", "b", "a"))
        assert app.table.cursor_key == "b"
        app.table.set_rows(group("c", "a"))
        assert app.table.cursor_key == "a"
        app.table.set_rows([])
        assert app.table.cursor_key == ""
        await pilot.pause()
        assert "No orders yet." in screen_text(app)


async def test_keys_move_over_sections_and_enter_chooses() -> None:
    rows = [*group("a", "b"), Prose("gap"), Section("done", "Finished"), order("z")]
    app = Desk(rows)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "down")
        assert app.table.cursor_key == "z"
        await pilot.press("k")
        assert app.table.cursor_key == "b"
        await pilot.press("home", "up")
        assert app.table.cursor_key == "a"
        await pilot.press("end", "enter")
        await pilot.pause()
        assert app.chosen == ["z"]
        assert app.seen[-1] == "z"


async def test_the_only_cells_painted_are_those_that_changed() -> None:
    app = Desk(group("a", "b", "c"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.table.painted.clear()
        app.table.update_rows([order("c", state="Sending to you")])
        # Row c is line 5: heads, rule, label, a, b. The state starts after order and amount.
        assert app.table.painted == [Region(2 + 8 + 2 + 16 + 2, 5, 14, 1)]
        app.table.painted.clear()
        app.table.set_rows(group("a", "b", "c"))
        assert [region.y for region in app.table.painted if region] == [5]
        app.table.painted.clear()
        app.table.update_rows([order("a")])
        assert app.table.painted == []


async def test_an_empty_table_that_stays_empty_paints_nothing() -> None:
    app = Desk()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.table.painted.clear()
        app.table.set_empty("No orders yet.")
        app.table.set_rows([])
        assert app.table.painted == []
        app.table.set_empty("The desk is connecting.")
        await pilot.pause()
        assert "The desk is connecting." in screen_text(app)
        app.table.set_rows(group("a"))
        await pilot.pause()
        assert "▌ a" in screen_text(app)
        app.table.set_rows([])
        await pilot.pause()
        assert "The desk is connecting." in screen_text(app)


async def test_an_update_of_an_unknown_row_is_an_error() -> None:
    app = Desk(group("a"))
    async with app.run_test():
        with pytest.raises(KeyError):
            app.table.update_rows([order("b")])
        with pytest.raises(ValueError, match="same key"):
            app.table.set_rows([order("a"), order("a")])


async def test_fifty_thousand_rows() -> None:
    app = Desk(order(f"o{number:05}") for number in range(50_000))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        assert app.table.cursor_key == "o49999"
        assert "▌ o49999" in screen_text(app)
        await pilot.press("pageup", "ctrl+u", "ctrl+d", "pagedown", "home")
        await pilot.pause()
        assert "▌ o00000" in screen_text(app)


async def test_a_table_that_shrinks_under_a_scrolled_cursor_shows_its_rows() -> None:
    app = Desk(order(f"o{number:03}") for number in range(200))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        app.table.set_rows([order("o001"), order("o002")])
        await pilot.pause()
        shown = screen_text(app)
        assert "o001" in shown
        assert "▌ o002" in shown


class Moving(Screen[None]):
    """A table drawn as the screens of the desk are."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = CellCompositor()
        self.table = LineTable(COLUMNS)
        self.table.set_rows(group("a", "b"))

    def compose(self) -> ComposeResult:
        yield self.table


async def test_a_changed_row_alone_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    app, moving = Desk(), Moving()
    rendered: list[Region] = []
    render = LineTable.render_lines

    def noted(table: LineTable, crop: Region) -> list[Strip]:
        rendered.append(crop)
        return render(table, crop)

    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(moving)
        await pilot.pause()
        monkeypatch.setattr(LineTable, "render_lines", noted)
        moving.table.update_rows([order("b", state="Sending to you")])
        await pilot.pause()
    at = moving.table.view.row(2).y
    assert {crop.line_range for crop in rendered} == {range(at, at + 1)}


async def test_what_a_row_was_is_freed_without_a_collection_of_garbage() -> None:
    app, moving = Desk(), Moving()

    def strips() -> int:
        return sum(type(one) is Strip for one in gc.get_objects())

    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(moving)
        moving.table.update_rows([order("a", amount="0 ETH")])
        await pilot.pause()
        # What was there before is not looked at again.
        gc.freeze()
        gc.disable()
        try:
            before = strips()
            for amount in range(1, 31):
                moving.table.update_rows([order("a", amount=f"{amount} ETH")])
                await pilot.pause()
            assert "30 " in screen_text(app)
            assert strips() < before + 10
        finally:
            gc.enable()


async def test_what_an_order_was_is_freed_without_a_collection_of_garbage() -> None:
    """In view and out of it: while somebody presses keys the oldest garbage is not collected."""
    clock = ManualClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    names = [f"order{number:017d}" for number in range(60)]

    def tracked(name: str) -> TrackedOrder:
        known = waiting(clock, name)
        return TrackedOrder(known.states[-1], None, None, False, clock.now(), known.source)

    app, orders = Desk(), OrderList(clock.now)

    def drawn() -> int:
        return sum(type(one) is Drawn for one in gc.get_objects())

    async with app.run_test(size=(100, 24)) as pilot:
        await app.mount(orders)
        orders.fill(Shown([tracked(name) for name in names], counts={Group.OPEN: len(names)}))
        await pilot.pause()
        seen = orders.visible_keys()
        assert names[0] in seen
        assert names[-1] not in seen
        gc.freeze()
        gc.disable()
        try:
            for _ in range(30):
                assert orders.redraw([tracked(names[0]), tracked(names[-1])])
            await pilot.pause()
            assert drawn() <= 2
        finally:
            gc.enable()
            gc.unfreeze()
