"""The batch: nothing loaded, a file with problems, a cell that is put right, created, in part; a
group that was built, signed, submitted, and one whose bundle failed."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import httpx2

from swapdesk.flows.batch.batches import newest_batches
from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleDeposit,
    BundleItem,
    accept_bundle,
    add_bundle,
    begin_transaction,
    move_bundle,
    newest_bundle,
    sign_bundle,
)
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.payments import Sum, end_transaction
from swapdesk.tui.screens.batch import BatchScreen
from swapdesk.tui.widgets.overlay import TypedConfirm
from tui.desk_run import DeskRun, Market
from tui.picture import NORMAL, ROOMY
from tui.scenes import home, scene

HEAD = "to;sell_amount;buy;chain;memo;route;sell\n"
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
COMMAS = (
    "to;amount;token;chain;sell\n"
    "@bob;100,5;ETH;base;USDC.ethereum\n"
    "@rita;1,250;XRP;xrp;USDC.ethereum\n"
    "@bob;250;ETH;base;USDC.ethereum\n"
)


async def opened(run: DeskRun) -> BatchScreen:
    await run.ready()
    if not isinstance(run.app.screen, BatchScreen):
        await run.press("b")
    screen: BatchScreen | None = None

    def stands() -> bool:
        nonlocal screen
        shown = run.app.screen
        screen = shown if isinstance(shown, BatchScreen) else None
        return screen is not None and (screen.writing or screen.plan is not None)

    await run.settle(stands, "the field or an earlier batch")
    return screen


async def loaded(run: DeskRun, content: str) -> BatchScreen:
    screen = await opened(run)
    path = run.app.session.settings.home.data / "payout.csv"
    path.write_text(content)
    before = screen.plan
    if not screen.writing:
        await run.press("l")
    await run.enter(str(path))

    def planned() -> bool:
        plan = screen.plan
        return plan is not None and plan is not before and plan.limits_known

    await run.settle(planned, "the plan")
    return screen


@scene("batch-empty", after=home.empty, back=("escape",), also=(ROOMY,))
async def empty(run: DeskRun) -> None:
    await opened(run)


@scene("batch-problems", also=(NORMAL, ROOMY))
async def problems(run: DeskRun) -> None:
    await loaded(run, FAULTY)
    await run.press("right_square_bracket", sees="3 problems")


@scene("batch-commas")
async def commas(run: DeskRun) -> None:
    """Heads of before, and nothing wrong but decimal commas."""
    await loaded(run, COMMAS)
    await run.see("read 100,5 as 100.5")


@scene("batch-below")
async def below(run: DeskRun) -> None:
    """More rows than there is room for, and a problem among those that are not seen."""
    rows = [f"@bob;{100 + at};ETH;base;;;USDC.ethereum\n" for at in range(44)]
    rows[40] = "@bob;1,5;ETH;base;;;USDC.ethereum\n"
    await loaded(run, HEAD + "".join(rows))
    await run.see("1 problem")


@scene("batch-skipped", after=problems, back=("minus",), also=(ROOMY,))
async def skipped(run: DeskRun) -> None:
    await run.press("minus", sees="1 skipped")


@scene("batch-edit", after=problems)
async def edit(run: DeskRun) -> None:
    await run.press("enter", sees="Row 2, sell_amount")


def without_ids(run: DeskRun, text: str) -> str:
    return re.sub(r"batch [0-9a-f]{8}", "batch xxxxxxxx", text)


async def agreed(run: DeskRun, words: str) -> None:
    """Create the rows. What a service says of a token in warning is agreed to first."""
    await loaded(run, CLEAN)
    await run.press_still("c")
    await run.settle(
        lambda: isinstance(run.app.screen, TypedConfirm) or words in run.text, "the question"
    )
    if isinstance(run.app.screen, TypedConfirm):
        await run.enter(run.screen(TypedConfirm).question.phrase)
    await run.see(words)


@scene("batch-created", apart="batch-created", mask=without_ids)
async def created(run: DeskRun) -> None:
    await agreed(run, "created, not funded")


def dearer_soon(market: Market) -> None:
    """Exchanges take less than 1,000 dollars no more, as soon as a group is asked for."""

    def raised(request: httpx2.Request) -> None:
        if request.method == "POST":
            for venue in market.venues:
                venue._bounds_usd = (Decimal(1_000), Decimal(1_000_000))

    market.network.before = raised


OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SMART = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
PAID = "0x4f1c22ab90d73e5581c0aa176b2ef904d3c811705b9a02fe7c41e6d538b79a20"


async def bundled(run: DeskRun) -> Bundle:
    """The group as the journal has it once its bundle is built."""
    await created.reach(run)
    return built_bundle(run)


def built_bundle(run: DeskRun) -> Bundle:
    """The bundle of the group that was created."""
    desk = run.app.session.desk
    (batch,) = newest_batches(desk.journal.ledger, 9)
    (group,) = batch.groups
    deposits = tuple(
        BundleDeposit(
            row.number, row.service_id or "", SMART, units, desk.clock.now() + timedelta(minutes=20)
        )
        for row, units in zip(group.rows, (100_000_000, 2_000_000_000), strict=True)
    )
    contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    item = BundleItem("usdc", "USDC", 6, contract, 0, deposits, 2_100_000_000, {})
    needs = (
        Sum("ETH", 18, None, 4_100_000_000_000_000),
        Sum("USDC", 6, contract, 2_100_000_000),
    )
    built = Bundle("evm", group.chain, OWNER, SMART, (item,), needs, 4_100_000_000_000_000)
    return add_bundle(desk.journal.ledger, group.act.id, built)


def fund(run: DeskRun, bundle: Bundle) -> None:
    ledger, group = run.app.session.desk.journal.ledger, str(bundle.operation.parent)
    for need in bundle.needs:
        intent = f"group fund 1 {need.contract or 'coin'}"
        act = begin_transaction(ledger, "fund", group, need, intent)
        end_transaction(ledger, act, State.DONE, hash_=PAID)


def bundle_of(run: DeskRun) -> Bundle:
    """The newest bundle of the newest batch."""
    journal = run.app.session.desk.journal
    (group,) = newest_batches(journal.ledger, 1)[0].groups
    bundle = newest_bundle(journal.ledger, group.act.id)
    assert bundle is not None
    return bundle


async def shown(run: DeskRun, words: str) -> None:
    """The screen once more, which reads the journal anew."""
    await run.press("escape")
    await run.press("b", sees=words)


@scene("batch-built", after=created, mask=without_ids)
async def built(run: DeskRun) -> None:
    built_bundle(run)
    await shown(run, "1 bundle of 2 transfers")


@scene("batch-signed", after=built, mask=without_ids)
async def signed(run: DeskRun) -> None:
    bundle = bundle_of(run)
    fund(run, bundle)
    sign_bundle(run.app.session.desk.journal.ledger, bundle, ("0x01",))
    await shown(run, "c submit")


@scene("batch-submitted", after=signed, mask=without_ids)
async def submitted(run: DeskRun) -> None:
    bundle, desk = bundle_of(run), run.app.session.desk
    move_bundle(desk.journal.ledger, bundle, State.SENT, server_at=desk.clock.now())
    accept_bundle(desk.journal.ledger, bundle)
    await shown(run, "submitted")


@scene("batch-failed", after=submitted, mask=without_ids, also=(NORMAL,))
async def failed(run: DeskRun) -> None:
    ledger, why = run.app.session.desk.journal.ledger, "AA23 reverted"
    move_bundle(ledger, bundle_of(run), State.REFUSED, code="FAILED", hash=PAID, reason=why)
    await shown(run, "take it back")


@scene("batch-partial", prepare=dearer_soon, mask=without_ids, fed=False)
async def partial(run: DeskRun) -> None:
    await agreed(run, "failed")
