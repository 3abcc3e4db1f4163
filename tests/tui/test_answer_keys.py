"""From the journal to the copied reply in five keys, a paste counted as one."""

from __future__ import annotations

from textual.events import Paste

from tui.desk_run import DeskRun, Market
from tui.known_orders import held, prepare

UNKNOWN = "h8Kq2PdT5mXcVbN3wRtY7z"


async def pasted(run: DeskRun, text: str) -> None:
    await run.press("i")
    await run.see("Paste whatever names the order")
    run.app.screen.post_message(Paste(text))
    await run.see("look up")


async def test_five_keys_lead_from_the_journal_to_the_copied_reply(market: Market) -> None:
    known = held(market.clock)
    prepare(market, [known])
    async with market.ready_desk() as run:
        await run.press("o")
        await run.see("Orders")
        # i, paste, enter, y
        await pasted(run, f"Where is my order {known.id}?")
        await run.press("enter")
        await run.see("rule held")
        await run.press("y")
        assert run.app.clipboard.startswith(f"Order {known.id}\nYour payment arrived.")
        await run.press("escape", "escape")
        # i, paste, enter, enter, y
        await pasted(run, f"Where is my order {UNKNOWN}?")
        await run.press("enter")
        await run.see("2 reads by id")
        await run.press("enter")
        await run.settle(lambda: "belongs to another partner" in " ".join(run.text.split()))
        await run.press("y")
        assert run.app.clipboard.startswith(f"We do not find the order {UNKNOWN}:")
        await run.press("Y")
        assert f"  an order id: {UNKNOWN}" in run.app.clipboard.splitlines()
