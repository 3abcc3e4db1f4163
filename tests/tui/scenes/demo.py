"""A demonstration, with the stages of one that was carried out."""

from __future__ import annotations

from recorded_demo import recorded
from swapdesk.flows.demo.demonstration import DemoChoice
from swapdesk.tui.screens.demo import DemoScreen
from tui.desk_run import DeskRun
from tui.picture import NORMAL, ROOMY
from tui.scenes import home, scene


async def show(run: DeskRun, name: str) -> None:
    """The page, to which the stages come as its worker tells them. The desk of the scenes has no
    sandbox, so that its own work ends first."""
    screen = DemoScreen(run.app.session, DemoChoice(name))
    run.app.push_screen(screen)
    await run.settle(lambda: run.app.screen is screen, "the page")
    await run.settle(lambda: "press" in run.text or "sandbox" in run.text, "its own work is over")
    for stage in recorded(name).stages:
        screen.reached(stage)
    await run.see("Waiting for the deposit")
    last = f"{len(recorded(name).stages) - 1} later stage"
    await run.see(last)


async def forward(run: DeskRun, title: str) -> None:
    for _ in recorded("private").stages:
        if title not in run.text:
            await run.press("space")
    await run.see(title)


@scene("demo-begins", after=home.empty, back=("escape",), fed=False, also=(NORMAL,))
async def begins(run: DeskRun) -> None:
    await show(run, "private")


@scene("demo-private", after=begins, back=("b",) * 6, fed=False, also=(NORMAL,))
async def private(run: DeskRun) -> None:
    await forward(run, "Second exchange in progress")


@scene("demo-done", after=private, back=("b",) * 2, fed=False, also=(NORMAL, ROOMY))
async def done(run: DeskRun) -> None:
    await forward(run, "Bob is paid")


@scene("demo-link", after=done, back=("l",), fed=False, also=(NORMAL,))
async def link(run: DeskRun) -> None:
    await run.press("l", sees="no path")


@scene("demo-explained", after=done, back=("e",), fed=False, also=(NORMAL, ROOMY))
async def explained(run: DeskRun) -> None:
    await run.press("e", sees="Privacy here is a crowd")


@scene("demo-stuck", after=home.empty, back=("escape",), fed=False, also=(NORMAL, ROOMY))
async def stuck(run: DeskRun) -> None:
    await show(run, "stuck")
    await forward(run, "Support finds the order")


@scene("demo-answered", after=stuck, back=("b",), fed=False, also=(NORMAL, ROOMY))
async def answered(run: DeskRun) -> None:
    await forward(run, "Support answers")
