"""The first screen and the token search."""

from __future__ import annotations

from tui.desk_run import DeskRun, Market
from tui.known_orders import exchanging, prepare, waiting
from tui.picture import NORMAL, ROOMY
from tui.scenes import scene


def some_orders(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock)])


@scene("swap-empty")
async def empty(run: DeskRun) -> None:
    await run.ready()
    await run.see("Nothing here is real money.")


@scene("swap-line", prepare=some_orders)
async def line(run: DeskRun) -> None:
    await run.ready()
    await run.type("0.5 btc eth", sees="limits")


@scene("swap-refused")
async def refused(run: DeskRun) -> None:
    await run.ready()
    await run.type("1,5 btc eth", sees="1.5")


@scene("swap-private", after=empty)
async def private(run: DeskRun) -> None:
    await run.press("p", sees="privately")


@scene("tokens", after=empty, back=("escape", "escape"))
async def tokens(run: DeskRun) -> None:
    await run.press("t")
    await run.type("usdc", sees="Contract")


@scene("tokens-none", after=empty, back=("escape", "escape"), fed=False, also=(NORMAL, ROOMY))
async def no_tokens(run: DeskRun) -> None:
    await run.press("t")
    await run.type("usdx", sees="usdx")
