"""The tracker, one order in its states, and the raw view."""

from __future__ import annotations

import re
from collections.abc import Callable

from swapdesk.clock import ManualClock
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.raw_order import RawOrderScreen
from tui.desk_run import DeskRun, Market
from tui.known_orders import (
    Known,
    every_state,
    exchanging,
    foreign,
    held,
    lower,
    prepare,
    private,
    waiting,
    withheld,
)
from tui.picture import NORMAL, ROOMY
from tui.scenes import Scene, home, scene

ONES: dict[str, Callable[[ManualClock], Known]] = {
    "waiting": waiting,
    "exchanging": exchanging,
    "private": private,
    "held": held,
    "withheld": withheld,
    "lower": lower,
    "foreign": foreign,
}


def all_states(market: Market) -> None:
    prepare(market, every_state(market.clock))


@scene("orders", prepare=all_states, also=(NORMAL, ROOMY))
async def orders(run: DeskRun) -> None:
    await run.ready()
    await run.press("o", sees="Open")


@scene("orders-empty", after=home.empty, back=("escape",))
async def empty(run: DeskRun) -> None:
    await run.press("o", sees="No orders yet.")


def without_route(run: DeskRun, text: str) -> str:
    """On a narrow screen what stands beside the id depends on the room the budget leaves."""
    if "╌" * NORMAL[0] in text:
        return text
    return re.sub(r"^( SANDBOX  Order  \w+).*", r"\1", text)


def one_order(name: str, make: Callable[[ManualClock], Known]) -> Scene:
    also = (NORMAL,) if make is held else ()

    @scene(f"order-{name}", prepare=all_states, mask=without_route, also=also)
    async def opened(run: DeskRun) -> None:
        await run.ready()
        run.app.navigation.open_order(make(ManualClock()).id)
        await run.on(OrderScreen)
        await run.see("Order id")

    return opened


OPENED = {name: one_order(name, make) for name, make in ONES.items()}


@scene("order-raw", after=OPENED["exchanging"])
async def raw(run: DeskRun) -> None:
    await run.press("J", to=RawOrderScreen)
