"""The comparison with every kind of row, its waterfall, its options, and tokens to choose."""

from __future__ import annotations

from swapdesk.tui.screens.quotes import MOVED_FOR
from tui.desk_run import DeskRun
from tui.picture import NORMAL, ROOMY
from tui.quote_rows import (
    BASALT,
    FATHOM,
    FIXED,
    ISTHMUS,
    MERIDIAN,
    SUNK,
    fixed_are,
    only_these,
    quotes_with,
)
from tui.scenes import scene, swap

TWO = {"amountIn": 0.069, "amountOut": 2, "netAmountOut": 2, "amountOutUsd": 6622.12}
"""A stated amount to arrive."""
GANTRY = {"type": "standard", "swap": "ga", "swapName": "Gantry", "error": "x", "min": 0.75}
ON_CHAIN = quotes_with(MERIDIAN, ISTHMUS, SUNK, FATHOM, BASALT)
TAKES_TWO = fixed_are(
    FIXED | TWO,
    FIXED | TWO | {"quoteId": "b" * 24, "swap": "bb", "swapName": "Birch", "amountIn": 0.0692},
)


@scene(
    "quotes-all-kinds", apart="quotes-all-kinds", answers=ON_CHAIN, fed=False, also=(NORMAL, ROOMY)
)
async def all_kinds(run: DeskRun) -> None:
    await run.to_quotes()
    await run.calm()


@scene("quotes-explained", after=all_kinds, fed=False, also=(NORMAL, ROOMY))
async def explained(run: DeskRun) -> None:
    await run.resize(120, 40)
    await run.press("down", "e", sees="Provider pays out")
    await run.calm()


@scene("waterfall", after=all_kinds, back=("escape", "up"), fed=False)
async def waterfall(run: DeskRun) -> None:
    await run.press("down", "e", sees="Provider pays out")


@scene("waterfall-private", after=all_kinds, back=("escape", "home"), fed=False)
async def private_waterfall(run: DeskRun) -> None:
    """Two legs, of which the quote does not say where they meet."""
    await run.press("e", sees="Provider pays out")
    for _ in range(20):
        if "Middle" in run.text:
            break
        await run.press("]")
    await run.see("the service chooses")


@scene("quotes-fixed-too", apart="quotes-fixed-too", answers=fixed_are(FIXED), fed=False)
async def fixed_too(run: DeskRun) -> None:
    await run.to_quotes()
    await run.press("f", sees="fixed and floating")
    # Former ranks stand for a second of the desk's clock.
    run.clock.advance(MOVED_FOR)
    await run.settle(lambda: "was 2" not in run.text, "the ranks to be settled")
    await run.calm()


@scene("quotes-reverse", apart="quotes-reverse", answers=TAKES_TWO, fed=False)
async def reverse(run: DeskRun) -> None:
    await run.to_quotes("=2 btc eth")
    await run.calm()


@scene(
    "quotes-nothing-usable",
    apart="quotes-nothing-usable",
    answers=only_these(GANTRY, FATHOM, BASALT),
    fed=False,
)
async def unusable(run: DeskRun) -> None:
    await run.to_quotes()
    await run.calm()


@scene("quote-options", after=swap.quotes, back=("escape",))
async def options(run: DeskRun) -> None:
    await run.press("f2", sees="How to ask for quotes")


@scene("swap-reverse")
async def swap_reverse(run: DeskRun) -> None:
    await run.ready()
    await run.type("=2 btc eth", sees="You get exactly")
    await run.see("limits")
