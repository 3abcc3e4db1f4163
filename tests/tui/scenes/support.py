"""Looking up orders for somebody else."""

from __future__ import annotations

from swapdesk.tui.screens.inspect import InspectScreen
from tui.desk_run import DeskRun
from tui.known_orders import HASH, REFUND
from tui.scenes import home, orders, scene

MESSAGE = f"My order {REFUND} is stuck. I sent 0.5 BTC, transaction {HASH}. Where is it?"


@scene("inspect", after=home.empty, back=("escape",))
async def page(run: DeskRun) -> None:
    await run.press("i")
    await run.settle(lambda: isinstance(run.app.screen, InspectScreen), "the page")
    await run.see("Paste whatever names the order")


@scene("inspect-read", after=home.empty, back=("escape",))
async def read(run: DeskRun) -> None:
    await page.step(run)
    await run.type(MESSAGE)
    await run.see("a transaction hash")


@scene("inspect-several", after=orders.orders)
async def several(run: DeskRun) -> None:
    await run.press("i")
    await run.settle(lambda: isinstance(run.app.screen, InspectScreen), "the page")
    await run.type(REFUND)
    await run.press("enter")
    await run.see("4 orders")


@scene("inspect-held", after=orders.OPENED["held"], back=("escape",))
async def found(run: DeskRun) -> None:
    await run.press("i")
    await run.settle(lambda: isinstance(run.app.screen, InspectScreen), "the page")
    await run.see("held")
