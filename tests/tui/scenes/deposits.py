"""A deposit from the wallet: its card, the review, what goes on, what is missing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from flows.deposits import (
    PAYLOAD,
    deposit_intent,
    deposit_order,
    deposit_review,
    refused_deposit,
    signed,
)
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.funding import not_paid, payment_open
from swapdesk.flows.deposits.wallet_funding import (
    DepositSession,
    begin_deposit,
    lack_of,
    on_screen,
)
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from tui.desk_run import DeskRun, Market
from tui.known_orders import HALF_HOUR, Known, ago, prepare
from tui.picture import NORMAL, ROOMY
from tui.scenes import scene
from tui.scenes.sign import asked_in_a_worker

ORDER = "q5Zt8JxKcVbNmAsDfGhJkL"
NODE = {
    "shortName": "ethereum",
    "kind": "evm",
    "chainId": 1_337_000_001,
    "rpc": "http://127.0.0.1:9/evm/ethereum",
}


def known(clock: ManualClock) -> Known:
    """1,000 USDC to bitcoin, two minutes after it was created."""
    confirmed = deposit_intent(id="6e" * 16)
    created = ago(clock, minutes=2)
    made = deposit_order(confirmed, service_id=ORDER, created=created, expires=created + HALF_HOUR)
    return Known([made], confirmed)


def embedded(market: Market) -> None:
    """The order, in a sandbox that runs its chain."""
    market.chains.append(NODE)
    prepare(market, [known(market.clock)])


async def begun(run: DeskRun) -> DepositSession:
    """The payment as ``f`` begins it; what the wallet says is put beside it."""
    await run.ready()
    desk: Any = run.app.session.desk
    app = run.app
    # Nothing of another scene goes on.
    app.signing._begun = None
    tracked = desk.link.tracker.get(ORDER)
    return begin_deposit(app.signing.running, tracked)


@scene("deposit-wallet", prepare=embedded, decides=True, also=(NORMAL, ROOMY))
async def card(run: DeskRun) -> None:
    await run.ready()
    run.app.push_screen(DepositScreen(run.app.session, ORDER))
    await run.see("Send this, once, on Ethereum")


@scene("sign-deposit", prepare=embedded, decides=True, also=(NORMAL,))
async def review(run: DeskRun) -> None:
    signing = await begun(run)
    signing.says("", wallet="trading")
    signing.reviewed(PAYLOAD, deposit_review())
    await asked_in_a_worker(run, signing, deposit_review())
    run.app.signing.open(signing)
    await run.see("sign or refuse in")


@scene("sign-deposit-refused", prepare=embedded, decides=True, also=(NORMAL,))
async def refused(run: DeskRun) -> None:
    signing = await begun(run)
    signing.says("", wallet="trading")
    signing.reviewed(PAYLOAD, refused_deposit())
    said = " ".join(f"{one.words} Rule {one.code}." for one in refused_deposit().findings)
    signing.finish(on_screen(not_paid("GATE", said), ORDER, faucet=True))
    run.app.signing.open(signing)
    await run.see("Your wallet refuses")


@scene("sign-deposit-lacking", prepare=embedded)
async def lacking(run: DeskRun) -> None:
    """f on the card pays from the faucet from here on."""
    signing = await begun(run)
    signing.says("", wallet="trading")
    trader = Account(
        "0x" + "7" * 40, Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, run_now(run)
    )
    held = SwapAccount(
        trader, trader, (trader,), read_only=False, balance=Decimal("412.5"), coin=Decimal(1)
    )
    lack = lack_of(held, signing.about, "ETH")
    signing.finish(on_screen(not_paid("NOT_ENOUGH", lack), ORDER, faucet=True))
    run.app.signing.open(signing)
    await run.see("is short of")


def run_now(run: DeskRun) -> Any:
    return run.app.session.now_clock.now()


@scene("sign-deposit-sent", prepare=embedded)
async def sent(run: DeskRun) -> None:
    signing = await begun(run)
    signing.says("", wallet="trading")
    signing.reviewed(PAYLOAD, deposit_review())
    signing.seen(signed("mined", 1))
    run.app.signing.open(signing)
    await run.see("1 of 2 confirmations")


@scene("sign-deposit-stopped", prepare=embedded)
async def stopped(run: DeskRun) -> None:
    signing = await begun(run)
    signing.says("", wallet="trading")
    signing.reviewed(PAYLOAD, deposit_review())
    signing.seen(signed("sent"))
    hash_ = signed("sent").hash
    stopped = payment_open("AGENT_GONE", "The wallet agent ended.", hash_)
    signing.finish(on_screen(stopped, ORDER, faucet=True))
    run.app.signing.open(signing)
    await run.see("r go on")
