"""What every screen shares: help, palette, the request log."""

from __future__ import annotations

import re

from tui.desk_run import DeskRun
from tui.picture import NORMAL, ROOMY
from tui.scenes import home, scene, swap


def times_and_ids(run: DeskRun, text: str) -> str:
    """Without milliseconds and request ids, which no clock and no seed decides."""
    text = re.sub(r"\b[0-9A-Za-z-]{20,}\b", lambda found: "x" * len(found[0]), text)
    text = re.sub(r"content-length: \d+", "content-length: 0", text)
    return re.sub(r"in \d+ ms|\b\d+(?=  x{20,}|$)", lambda found: found[0][:-1] + "0", text,
                  flags=re.MULTILINE)  # fmt: skip


async def to_the_quotes_call(run: DeskRun) -> None:
    """The log with one call alone: what the desk asks by itself has no fixed order."""
    await run.to_quotes()
    await run.press("g", sees="GET")
    await run.press("slash")
    await run.enter("/quotes?")
    await run.settle(lambda: "/rateLimits" not in run.text, "the filtered log")
    # The footer follows the focus with the next second at the latest.
    run.app.screen.refresh_keys()
    await run.see("enter show all")


@scene("requests", apart="requests", mask=times_and_ids, also=(NORMAL,))
async def requests(run: DeskRun) -> None:
    await to_the_quotes_call(run)


@scene("requests-whole", after=requests, mask=times_and_ids)
async def one_request(run: DeskRun) -> None:
    await run.press("enter", sees="authorization: «redacted»")


@scene("help-quotes", after=swap.quotes, back=("escape",), also=(NORMAL, ROOMY))
async def help_of_quotes(run: DeskRun) -> None:
    await run.press("question_mark", sees="This screen")


@scene("palette", prepare=home.some_orders, also=(NORMAL,))
async def palette(run: DeskRun) -> None:
    await run.ready()
    await run.press("o", sees="Open")
    await run.press("ctrl+p")
    await run.type("theme", sees="Theme iris")
