"""The wallets on a real sandbox: made and filled at the first look, an allowance ended by keys."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from harness import Sandbox
from patience import PATIENCE
from swapdesk.chain.smart_account import account_address
from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleDeposit,
    BundleItem,
    add_bundle,
    move_bundle,
    sign_bundle,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.wallet.local_wallet import ChainAllowances, ChainHoldings, Holding
from swapdesk.flows.wallet.wallet_reading import WalletSnapshot
from swapdesk.tui.commands.wallets import WALLETS
from swapdesk.tui.screens.sign import SignScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.wallets import MAKING, WalletsScreen, wallet_pane, wallet_rows
from swapdesk.tui.spans import line_of, plain_text
from swapdesk.tui.widgets.table_layout import Prose, Section
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.promise import Asset
from tui.desk_run import DeskRun, sandbox_desk
from wallet.agents import CHEAP
from wallet.approving import approve

ROUTER = "0x568ba20066d0503329631401d74238b25Fbe8E4a"


def whole(run: DeskRun) -> bool:
    """Whether all chains were read."""
    screen = run.screen(WalletsScreen)
    return screen.told is not None and not screen.told.reading and not screen.busy


def left_by_bundle(journal: Journal, owner: str, smart: str, token: Asset) -> None:
    """A bundle of this account that failed once it was filled."""
    deposit = BundleDeposit(1, "order", ROUTER, 1_000, datetime.now(UTC))
    item = BundleItem(
        "usdc", token.symbol, token.decimals, token.contract, 0, (deposit,), 1_000, {}
    )
    built = Bundle("evm", "base", owner, smart, (item,))
    bundle = add_bundle(journal.ledger, "batch/1", built)
    sign_bundle(journal.ledger, bundle, ("0x01",))
    move_bundle(journal.ledger, bundle, State.REFUSED, code="FAILED")


MADE = datetime(2026, 6, 1, tzinfo=UTC)
TRADING = Account("0x1", Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, MADE)
COIN = Holding(Asset("ETH", 18, None), Decimal(2))


def test_what_smart_accounts_hold_is_listed_with_the_way_back() -> None:
    smart = "0x" + "6f" * 20
    own = ChainHoldings(TRADING, "base", "Base", (COIN,))
    dollars = Holding(Asset("USDC", 6, "0xdd"), Decimal(243))
    there = ChainHoldings(TRADING, "base", "Base", (dollars,), smart=smart)
    rows, subjects = wallet_rows(WalletSnapshot((TRADING,), (own,), smart=(there,)))
    assert [one.label for one in rows if isinstance(one, Section)] == ["In smart accounts"]
    last: Any = rows[-1]
    cells = [last.cells[name] for name in ("account", "chain", "amount", "token")]
    assert cells == ["trading", "Base", "243", "USDC"]
    subject = subjects[last.key]
    assert subject.address == smart
    said = "".join(plain_text(line_of(line)) for line in wallet_pane(subject, "T"))
    assert "T takes it back to trading" in said
    assert len({one.key for one in rows}) == len(rows)


async def test_an_allowance_is_ended_by_keys(sandbox: Sandbox, tmp_path: Path) -> None:
    # On each chain it has, every reading asks for each token and everybody who may take some.
    few = [chain for chain in sandbox.ready["chains"] if chain["shortName"] in ("base", "solana")]
    async with sandbox_desk(sandbox, tmp_path, (120, 40), chains=few) as run:
        await run.ready()
        desk = run.app.session.desk
        wallet = desk.wallet
        wallet._program = CHEAP
        first = run.screen(SwapScreen)
        await run.type("500 usdc.base eth")
        await run.settle(lambda: first.held, "what no wallet has")
        async with wallet._starting:
            run.app.navigation.open(WALLETS)
            await run.see(MAKING)
            await run.see("no accounts yet")
        await run.on(WalletsScreen)
        await run.settle(lambda: whole(run), "the chains")
        # The line was read before there was a wallet: what it says of one is read anew.
        await run.press("escape", sees="you have 10,000 USDC")
        await run.press("escape", "w", to=WalletsScreen)
        await run.settle(lambda: whole(run), "the chains again")
        link = wallet.link("base")
        told = run.screen(WalletsScreen).told
        (account,) = [one for one in told.accounts if one.kind is Kind.EVM]
        assert wallet.locks_in is not None

        (usdc,) = await wallet.tokens.called("base", ["USDC"])
        client = await wallet.client()
        async with asyncio.timeout(PATIENCE):
            while not (await client.balances(account.address, "base", [usdc])).balances[0].units:
                await desk.clock.sleep(0.1)
        await approve(wallet, desk.clock, account, link, usdc, ROUTER, 5_000_000)
        async with asyncio.timeout(PATIENCE):
            while not (await client.allowances(account.address, "base", [usdc])).allowances:
                await desk.clock.sleep(0.1)

        await run.settle(lambda: whole(run), "the first reading")
        await run.press("r", sees="May take")
        await run.see("to Fathom AMM")
        await run.press("end", sees="0x 568b a200 66d0")
        # A money key counts on a still screen only.
        await run.press_still("x", to=SignScreen)
        await run.see("sign and send")
        assert "USDC allowance of Fathom AMM" in run.text
        await run.press_still("s", to=WalletsScreen)
        await run.see(
            "USDC allowance of Fathom AMM on Base is over: nobody may take this any more."
        )
        assert (await client.allowances(account.address, "base", [usdc])).allowances == ()

        await run.settle(lambda: whole(run), "what is left to take")
        assert "No spending policy" in run.text
        await run.press("m", sees="What the wallet may sign at most")
        await run.enter(
            "per-day usdc.base=15, per-payment usd=50 price usdc.base=1", sees="The limits are set."
        )
        await run.settle(lambda: whole(run), "the limits")
        await run.press("end")
        # What was approved counts.
        await run.see("10 left")
        limits = (await client.policy()).uses
        assert sorted(str(one.limit.most) for one in limits) == ["15", "50"]
        await run.press("m")
        await run.enter("anew")
        await run.settle(lambda: whole(run), "no limits")
        await run.see("No spending policy")

        # What a bundle left in the smart account comes back to its owner.
        control = run.app.session.desk.link.control
        mine = account_address(account.address)
        left_by_bundle(desk.journal, account.address, mine, usdc)
        await control.give("base", mine, Decimal(25), usdc.contract)
        await run.press("r", sees="In smart accounts")
        await run.settle(lambda: whole(run), "the smart account")
        at = next(
            key for key, one in run.screen(WalletsScreen)._subjects.items() if one.smart == mine
        )
        run.screen(WalletsScreen)._table.move_to(at)
        await run.see("d takes it back to trading")
        await run.press_still("d")
        signed: list[str] = []

        def asks() -> bool:
            screen = run.app.screen
            review = screen.signing.review if isinstance(screen, SignScreen) else None
            return review is not None and review.id not in signed

        for what in ("the account is made", "it pays back"):
            await run.settle(asks, what)
            await run.see("sign and send")
            await run.still()
            review = run.screen(SignScreen).signing.review
            signed.append(review.id)
            await run.press("s")
        await run.see("smart account on Base is paid back: 25 USDC.")
        await run.press("l", sees="Locked.")
        assert wallet.locks_in is None

        # What it has is told where it is asked for, by its addresses alone.
        held = "10,025 USDC"
        await run.press("escape")
        await run.type("20 usdc.base btc", sees=f"you have {held} ·")
        await run.retype("20000 usdc.base btc")
        await run.see(f"you have {held}, too little")
        await run.press("f9", sees="you have ••• USDC, too little")
        await run.press("f9")
        await run.retype("200 usdc.base btc")
        await run.press("enter")
        await run.settle(lambda: getattr(run.app.screen, "result", None) is not None, "quotes")
        await run.press("enter", sees=f"You have   {held}")
        assert wallet.locks_in is None

        # Once a transaction that the desk waited for is in a block the total is read anew.
        await control.give("base", account.address, Decimal(5), usdc.contract)
        async with asyncio.timeout(PATIENCE):
            while (await client.balances(account.address, "base", [usdc])).balances[
                0
            ].units != 10_030 * 10**6:
                await desk.clock.sleep(0.1)
        run.app.signing._sent = {"s1": ("0x12", "sent")}
        run.app.call_later(run.app.signing.moved, "s1")
        await run.see("You have   10,030 USDC")


def test_a_chain_that_has_not_answered_has_a_row_that_stays_under_the_cursor() -> None:
    waits = ChainHoldings(TRADING, "base", "Base", reading=True)
    (before,), subjects = wallet_rows(WalletSnapshot((TRADING,), (waits,), reading=True))
    (after,), _ = wallet_rows(
        WalletSnapshot((TRADING,), (replace(waits, reading=False, holdings=(COIN,)),))
    )
    assert before.tail.text == "reading…"
    assert before.key == after.key
    assert subjects[before.key].chain == "base"


def test_a_chain_that_fails_says_where_the_money_is_and_what_to_do() -> None:
    failed = ChainHoldings(TRADING, "base", "Base", problem="it does not answer", next="you: wait")
    rows, subjects = wallet_rows(WalletSnapshot((TRADING,), (failed,)))
    said = [plain_text(line_of(line)) for line in wallet_pane(subjects[rows[0].key], "d")]
    assert [line.split(maxsplit=1) for line in said[-2:]] == [
        ["Funds", "where they are; only the reading failed"],
        ["Next", "you: wait"],
    ]


def test_what_may_be_taken_and_was_not_read_is_not_called_nothing() -> None:
    held = ChainHoldings(TRADING, "base", "Base", (COIN,))
    silent = ChainAllowances(
        TRADING, "base", "Base", complete=False, problem="no logs", next="you: wait"
    )
    rows, _ = wallet_rows(WalletSnapshot((TRADING,), (held,), (silent,)))
    assert rows[0].cells["note"] == "?"
    said = [plain_text(line_of(row.text)) for row in rows if isinstance(row, Prose)]
    assert said == ["Who may take on Base could not be read: no logs.", "Next you: wait."]
    # Where nothing at all was read the chain's own row says so.
    down = replace(held, holdings=(), problem="down")
    assert not [row for row in wallet_rows(WalletSnapshot((TRADING,), (down,), (silent,)))[0]
                if isinstance(row, Prose)]  # fmt: skip
    doubtful = replace(silent, problem=None, next="")
    rows, _ = wallet_rows(WalletSnapshot((TRADING,), (held,), (doubtful,)))
    assert rows[0].cells["note"] == "none known"
