"""What a desk writes while nothing happens: nothing, or the cells of its countdowns."""

from __future__ import annotations

from typing import Any

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from tui.desk_run import DeskRun, Market
from tui.picture import settled
from tui.scenes import all_scenes

SECONDS = 10
MOST_A_SECOND = 1_000
SCENES = {one.name: one for one in all_scenes()}


async def bytes_of_ten_seconds(run: DeskRun) -> int:
    """Bytes for the terminal during ten ticks of the clock, as the driver would write them."""
    # The stream is refused once, while the scene is reached or after it; the frame says so.
    await run.see("polling")
    run.app.screen.clear_notice()
    await settled(run)
    written: list[str] = []

    class Counting(HeadlessDriver):
        """A terminal that is there, as far as the toolkit knows, and keeps what it is sent."""

        @property
        def is_headless(self) -> bool:
            return False

        def write(self, data: str) -> None:
            written.append(data)

    driver: Any = run.app._driver
    driver.__class__ = Counting
    for _ in range(SECONDS):
        run.advance(1)
        await run.pilot.pause()
    await settled(run)
    return sum(len(data.encode()) for data in written)


@pytest.mark.parametrize("name", ["tokens", "orders-empty"])
async def test_without_a_countdown_nothing_is_written(market: Market, name: str) -> None:
    async with market.desk((120, 40)) as run:
        await SCENES[name].reach(run)
        assert await bytes_of_ten_seconds(run) == 0


@pytest.mark.parametrize("name", ["deposit-tag", "quotes", "orders"])
async def test_a_countdown_costs_its_cells(market: Market, name: str) -> None:
    one = SCENES[name]
    one.begin(market)
    async with market.desk((120, 40)) as run:
        await one.reach(run)
        assert 0 < await bytes_of_ten_seconds(run) <= SECONDS * MOST_A_SECOND
