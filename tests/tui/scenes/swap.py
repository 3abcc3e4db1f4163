"""From quotes to the deposit card."""

from __future__ import annotations

import re

from swapdesk.tui.screens.deposit import DepositPage, DepositScreen
from swapdesk.tui.widgets.overlay import TypedConfirm
from tui.desk_run import DeskRun, without_code, without_ids
from tui.picture import NORMAL, ROOMY
from tui.scenes import scene


@scene("quotes", apart="quotes", also=(NORMAL, ROOMY))
async def quotes(run: DeskRun) -> None:
    await run.to_quotes()
    await run.calm()


@scene("quotes-expired", apart="quotes-expired")
async def expired(run: DeskRun) -> None:
    await run.to_quotes()
    run.advance(65)
    await run.see("expired")
    await run.calm()


@scene("create-form", after=quotes, decides=True, also=(NORMAL, ROOMY))
async def form(run: DeskRun) -> None:
    await run.press("enter")
    await run.type("@bob")


BOB_AGAIN = ("ctrl+u", "at", "b", "o", "b")


@scene("create-refused", after=form, back=BOB_AGAIN, decides=True)
async def refused(run: DeskRun) -> None:
    await run.retype("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD")
    await run.press("enter", sees="checksum")


@scene("create-frozen", after=form, decides=True, also=(NORMAL, ROOMY))
async def frozen(run: DeskRun) -> None:
    await run.press("enter")
    await run.still()


def masked(run: DeskRun, text: str) -> str:
    """Without what is drawn at random: the order's id, its tag, its address and their code."""
    payment = run.screen(DepositPage).payment()
    text = without_ids(without_code(text))
    if payment is None:
        return text
    if payment.memo is not None:
        text = re.sub(
            re.escape(payment.memo).replace(r"\ ", " *") + " *",
            lambda found: "0123456789".ljust(len(found[0]))[: max(10, len(found[0]))],
            text,
        )
    for at in range(0, len(payment.address), 4):
        group = payment.address[at : at + 4]
        text = text.replace(f" {group}", " " + "r" * len(group))
    return text


async def to_card(run: DeskRun, line: str) -> None:
    """The deposit card; what the service warns of is agreed to on the way."""
    await run.to_frozen(line)
    await run.press("c")
    await run.settle(
        lambda: isinstance(run.app.screen, (DepositScreen, TypedConfirm)), "the card or a question"
    )
    if isinstance(run.app.screen, TypedConfirm):
        await run.enter("yes", to=DepositScreen)


@scene("deposit-tag", apart="deposit-tag", decides=True, mask=masked)
async def deposit_tag(run: DeskRun) -> None:
    await to_card(run, "2500 xrp eth")
    await run.calm()


@scene("deposit-over", after=deposit_tag, decides=True, mask=masked)
async def deposit_over(run: DeskRun) -> None:
    run.advance(31 * 60)
    await run.see("Do not send")
    await run.calm()
