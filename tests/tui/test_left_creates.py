"""Creates without an answer whose screen was left: told where the funds are, and at their end."""

from __future__ import annotations

import httpx2

from swapdesk.tui.screens.swap import SwapScreen
from tui.desk_run import DeskRun, Market

LOOKS = "An order may exist: the desk looks."


async def left(run: DeskRun) -> None:
    """Create, hear nothing, and go back to the first screen."""
    await run.press("c")
    await run.see("The service did not answer.")
    await run.press("escape", "escape", "escape")
    await run.settle(lambda: isinstance(run.app.screen, SwapScreen), "the first screen")
    await run.see(LOOKS)


async def test_what_created_nothing_is_told_where_the_desk_is(market: Market) -> None:
    def fail(request: httpx2.Request) -> None:
        if request.method == "POST":
            raise httpx2.ReadError("reset", request=request)

    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.before = fail
        await left(run)
        market.network.before = None
        await run.press("o")
        await run.see(LOOKS)
        await run.press("escape")
        await run.later("0.5 BTC to ETH", 2)
        await run.see("nothing was paid.")
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert "in your wallet." in run.text


async def test_what_is_found_later_is_told_where_the_desk_is(market: Market) -> None:
    def silent(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.url.path.startswith(("/v2/exchanges", "/v2/orders")):
            raise httpx2.RemoteProtocolError("gone", request=request)
        return response

    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.after = silent
        await left(run)

        def over() -> bool:
            market.clock.advance(2.0)
            return run.app.creates.creating is None

        await run.settle(over, "the end of the look")
        await run.see("It may have created the order. Nothing was paid.")
        assert LOOKS in run.text
        market.network.after = None
        await run.later("The order exists:", 1)
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert market.network.posts() == 1
