"""The batch planner: nothing loaded, a file with problems, a cell that is put right, created."""

from __future__ import annotations

import re

from swapdesk.tui.screens.batch import BatchScreen
from tui.desk_run import DeskRun
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
