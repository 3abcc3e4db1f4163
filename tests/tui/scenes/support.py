"""Looking up orders for somebody else."""

from __future__ import annotations

import re

from swapdesk.tui.screens.inspect import BundleScreen, InspectScreen
from swapdesk.tui.screens.order_history import OrderHistoryScreen
from tui.desk_run import DeskRun
from tui.known_orders import HASH, REFUND, held
from tui.picture import NORMAL, ROOMY
from tui.scenes import home, orders, scene

MESSAGE = f"My order {REFUND} is stuck. I sent 0.5 BTC, transaction {HASH}. Where is it?"


@scene("inspect", after=home.empty, back=("escape",))
async def page(run: DeskRun) -> None:
    await run.press("i", to=InspectScreen)
    await run.see("Paste whatever names the order")


@scene("inspect-read", after=home.empty, back=("escape",))
async def read(run: DeskRun) -> None:
    await page.step(run)
    await run.type(MESSAGE, sees="a transaction hash")


@scene("inspect-several", after=orders.orders)
async def several(run: DeskRun) -> None:
    await run.press("i", to=InspectScreen)
    await run.enter(REFUND, sees="4 orders")


@scene("inspect-held", prepare=orders.all_states, also=(NORMAL, ROOMY))
async def found(run: DeskRun) -> None:
    await run.ready()
    name = held(run.app.session.clock).id
    # How often it was asked for differs from run to run.
    log = run.app.session.desk.exchange_log
    await run.settle(lambda: any(name in call.target for call in log), "the order is asked for")
    log._ring.clear()
    run.app.push_screen(InspectScreen(run.app.session, name))
    await run.on(InspectScreen)
    await run.see("rule held")


def without_request(run: DeskRun, text: str) -> str:
    return re.sub(r"request [0-9a-f-]{36}", f"request {'x' * 36}", text)


@scene("inspect-history", after=found, back=("escape",), mask=without_request, also=(NORMAL, ROOMY))
async def history(run: DeskRun) -> None:
    await run.press("h", to=OrderHistoryScreen)
    await run.press("left_square_bracket", sees="1 of 2")


@scene("inspect-bundle", after=found, back=("escape",))
async def bundle(run: DeskRun) -> None:
    await run.press("B", to=BundleScreen)
    await run.see("may be posted publicly")
