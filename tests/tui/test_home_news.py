"""The third column of the first screen, from 160 cells on."""

from __future__ import annotations

from tui.desk_run import Market
from tui.known_orders import exchanging, prepare, waiting


async def test_events_and_markets_from_160_cells(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock)])
    async with market.desk((120, 40)) as run:
        await run.ready()
        assert "Last events" not in run.text
        await run.pilot.resize_terminal(200, 60)
        await run.see("Last events")
        assert "Markets of your tokens" in run.text
        await run.pilot.resize_terminal(100, 30)
        await run.settle(lambda: "Last events" not in run.text, "two columns")
