"""The page of faults: what can go wrong, and what it shall meet."""

from __future__ import annotations

from swapdesk.client.sandbox_control import SandboxControl
from tui.desk_run import DeskRun, Market
from tui.near_control import near_control
from tui.picture import NORMAL, ROOMY
from tui.scenes import scene
from tui.scenes.home import some_orders

_near: list[SandboxControl] = []
"""The control of the market that was prepared last."""


def with_control(market: Market) -> None:
    some_orders(market)
    _near[:] = [near_control(market.parts)]


@scene("faults", prepare=with_control, fed=False, also=(NORMAL, ROOMY))
async def faults(run: DeskRun) -> None:
    await run.ready()
    control = run.app.session.desk.link.control = _near[0]
    await control.clear_faults()
    await control.set_fault("http_503", operation="get_quotes", times=3)
    await run.press("F", sees="lost_response")


@scene("faults-targets", after=faults, back=("escape",))
async def targets(run: DeskRun) -> None:
    await run.press("enter", sees="what it meets")
