"""The first moments of a desk: tokens are searched while the rest of it is still being loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from flows.test_background import kill
from swapdesk.tui.app import DeskApp
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.session import KeyRest
from tui.desk_run import DeskRun, Market, open_desk


class Gate(KeyRest):
    """Nothing is loaded until :attr:`open` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def wait(self) -> None:
        await self.open.wait()


async def filled(market: Market) -> None:
    """A desk ran once, so that its cache has the list of tokens."""
    market.known = b""
    async with market.ready_desk():
        pass


async def held_desk(desk: DeskRun) -> Gate:
    gate = Gate()
    desk.app.session.rest = gate
    await desk.settle(lambda: desk.app.session.catalog, "the catalogue")
    return gate


async def test_tokens_are_searched_while_the_desk_is_loaded(market: Market) -> None:
    await filled(market)
    app_of_market = open_desk(
        market.settings, market.start, clock=market.clock, transport=market.network
    )
    async with app_of_market as desk:
        gate = await held_desk(desk)
        await desk.press("t")
        await desk.type("usdc")
        await desk.see("USD Coin")
        assert "Its checks come once the desk is open." in desk.text
        assert ", scanned" not in desk.text
        assert not desk.app.session.opened
        await desk.press("enter")
        await desk.see("Not yet: the desk is opening.")
        assert isinstance(desk.app.screen, TokensScreen)
        await desk.press("tab")
        await desk.see("the desk is opening")
        assert "by rank" in desk.text
        gate.open.set()
        await desk.see(", scanned")
        assert "Its checks follow" not in desk.text
        await desk.ready()
        await desk.press("enter")
        await desk.settle(lambda: not isinstance(desk.app.screen, TokensScreen), "the first page")
        assert "usdc" in desk.text


async def test_a_first_page_that_is_never_drawn_keeps_no_desk_from_starting(
    market: Market,
) -> None:
    """A key that opens a page before the first frame leaves its callback with the page below."""
    toolkit: Any = DeskApp(
        market.settings, market.start, clock=market.clock, transport=market.network
    )
    kept: list[Callable[[], None]] = []
    toolkit.call_after_refresh = kept.append
    app: DeskApp = toolkit
    async with app.run_test(size=(100, 30)) as pilot:
        desk = DeskRun(app, pilot, market.clock)
        await desk.press("t")
        assert isinstance(app.screen, TokensScreen)
        assert len(kept) == 1
        app.tick()
        await desk.ready()
        await desk.see("Bitcoin")
        # The first page is drawn at last: what runs is not started anew.
        kept[0]()
        await pilot.pause()
        assert app.session.ready
        assert market.started == 1


async def test_a_sandbox_that_was_put_aside_is_named(market: Market) -> None:
    async def started() -> Mapping[str, Any]:
        return {**await market.start(), "putAside": "sandbox was put aside as sandbox.old-1"}

    app_of_market = open_desk(
        market.settings, started, clock=market.clock, transport=market.network
    )
    async with app_of_market as desk:
        await desk.see("put aside as sandbox.old-1.")


async def test_other_pages_open_with_the_desk(market: Market) -> None:
    market.known = b""
    async with market.desk() as desk:
        gate = await held_desk(desk)
        await desk.press("o")
        await desk.see("The desk is starting. This is open in a moment.")
        await desk.press("t")
        await desk.see("The list of tokens is not here yet.")
        gate.open.set()
        await desk.ready()
        await desk.see("Bitcoin")


async def test_a_list_that_cannot_be_read_is_said_and_tried_again(market: Market) -> None:
    await filled(market)
    places = market.settings.places
    places.root.chmod(0o777)
    async with market.desk() as desk:
        await desk.see("r tries the sandbox again")
        assert desk.app.session.catalog is None
        await desk.press("o")
        await desk.see("This page needs the desk, whose start failed.")
        await desk.press("i")
        await desk.type("h8Kq2PdT5mXcVbN3wRtY7z")
        await desk.see("Next you: connect again on the first page")
        await desk.press("escape")
        await desk.see("r tries the sandbox again")
        places.root.chmod(0o700)
        await desk.press("r")
        await desk.ready()
        assert desk.app.session.catalog is desk.app.session.desk.catalog


def ends_at_once(waiting: Coroutine[None, None, None]) -> None:
    """The coroutine returns without giving way once."""
    with pytest.raises(StopIteration):
        waiting.send(None)


async def test_nothing_waits_where_no_key_came() -> None:
    ends_at_once(KeyRest().wait())


async def test_a_module_waits_for_a_pause_and_never_for_ever() -> None:
    rest = KeyRest(rest=30.0, patience=0.02)
    rest.key()
    waiting = asyncio.ensure_future(rest.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    while not waiting.done():
        rest.key()
        await asyncio.sleep(0.001)
    rest.key()
    ends_at_once(rest.wait())


async def test_work_that_a_defect_stopped_goes_on(market: Market) -> None:
    async with market.ready_desk() as desk:
        for group in ("session", "orders"):
            (worker,) = [one for one in desk.app.workers if one.group == group]
            task: Any = worker._task

            def killed(task: Any = task, group: str = group) -> bool:
                return kill(task, group)

            await desk.settle(killed, group)
            await desk.see("A defect stopped")
            await desk.later("started again")
            await desk.press("o")
            await desk.settle(lambda task=task: not task.done() and task._fut_waiter, "the work")
            await desk.ready()
            assert not worker.is_finished
