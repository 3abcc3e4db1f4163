"""The batch: nothing loaded, a file with problems, a cell that is put right, created, in part."""

from __future__ import annotations

import re
from decimal import Decimal

import httpx

from swapdesk.tui.screens.batch import BatchScreen
from tui.desk_run import DeskRun, Market
from tui.scenes import scene

HEAD = "to;amount;token;chain;memo;route;sell\n"
CLEAN = HEAD + "@bob;100;ETH;base;;;USDC.ethereum\n@rita;2000;XRP;xrp;;private;USDC.ethereum\n"
FAULTY = (
    HEAD
    + "@bob;100;ETH;base;;;USDC.ethereum\n"
    + "@cold;0.5;BTC;bitcoin;;;USDC.ethereum\n"
    + "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD;1150;ETH;base;;;USDC.ethereum\n"
    + "@rita;2000;XRP;xrp;;private;USDC.ethereum\n"
    + "@bob;100;ETH;base;;;USDC.ethereum\n"
    + "@bob;1,5;ETH;base;;;USDC.ethereum\n"
)


async def opened(run: DeskRun) -> BatchScreen:
    await run.ready()
    await run.press("b")
    await run.see("l load a file")
    return run.screen(BatchScreen)


async def loaded(run: DeskRun, content: str) -> BatchScreen:
    screen = await opened(run)
    path = run.app.session.settings.home.data / "payout.csv"
    path.write_text(content)
    before = screen.plan
    await run.press("l")
    await run.type(str(path))
    await run.press("enter")

    def planned() -> bool:
        plan = screen.plan
        return plan is not None and plan is not before and plan.limits_known

    await run.settle(planned, "the plan")
    return screen


@scene("batch-empty")
async def empty(run: DeskRun) -> None:
    await opened(run)


@scene("batch-problems")
async def problems(run: DeskRun) -> None:
    await loaded(run, FAULTY)
    await run.press("right_square_bracket")
    await run.see("3 problems")


@scene("batch-edit")
async def edit(run: DeskRun) -> None:
    await loaded(run, FAULTY)
    await run.press("right_square_bracket", "enter")
    await run.see("Row 2, amount")


def without_ids(run: DeskRun, text: str) -> str:
    return re.sub(r"batch [0-9a-f]{8}", "batch xxxxxxxx", text)


@scene("batch-created", mask=without_ids)
async def created(run: DeskRun) -> None:
    await loaded(run, CLEAN)
    await run.still()
    await run.press("c")
    await run.see("created, not funded")


def dearer_soon(market: Market) -> None:
    """Exchanges take less than 1,000 dollars no more, as soon as a group is asked for."""

    def raised(request: httpx.Request) -> None:
        if request.method == "POST":
            for venue in market.venues:
                venue._bounds_usd = (Decimal(1_000), Decimal(1_000_000))

    market.network.before = raised


@scene("batch-partial", prepare=dearer_soon, mask=without_ids, fed=False)
async def partial(run: DeskRun) -> None:
    await loaded(run, CLEAN)
    await run.still()
    await run.press("c")
    await run.see("failed")
