"""The wallets: a wallet with money and allowances, and one that knows no chain."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from swapdesk.flows.wallet.local_wallet import ChainAllowances, ChainHoldings, Holding
from swapdesk.flows.wallet.wallet_reading import WalletSnapshot
from swapdesk.tui.screens.wallets import WalletsScreen
from swapdesk.tui.widgets.overlay import TextOverlay
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.spending import (
    Limit,
    LimitUse,
    PolicyChain,
    PolicyStatus,
    PolicyToken,
    SpendingPolicy,
    SpendWindow,
)
from tui.desk_run import DeskRun
from tui.picture import NORMAL
from tui.scenes import scene
from wallet.agents import CHEAP

MADE = datetime(2025, 6, 1, tzinfo=UTC)
TRADING = Account(
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", Kind.EVM, "trading", "sandbox",
    KeyOrigin.CREATED, None, MADE,
)  # fmt: skip
SOLANA = Account(
    "9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g", Kind.SOLANA, "solana", "sandbox",
    KeyOrigin.CREATED, None, MADE,
)  # fmt: skip
ETH = Asset("ETH", 18, None)
SOL = Asset("SOL", 9, None)
USDC = Asset("USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
DOLLAR = PolicyToken(1_337_008_453, USDC.contract, 6, "USDC", "base")
DAY = Limit(SpendWindow.DAY, Decimal(1_000), DOLLAR)
POLICY = SpendingPolicy((DAY,), chains=(PolicyChain(1_337_008_453, "base"),))
TOLD = WalletSnapshot(
    (TRADING, SOLANA),
    (
        ChainHoldings(
            TRADING, "ethereum", "Ethereum",
            (Holding(ETH, Decimal("9.98712"), Decimal("33067.95")), Holding(USDC, Decimal(12))),
        ),
        ChainHoldings(
            TRADING, "base", "Base",
            (Holding(ETH, Decimal(0)), Holding(USDC, Decimal(10_000), Decimal(10_001))),
        ),
        ChainHoldings(
            TRADING, "bsc", "BNB Chain", problem="bsc: the node cannot be reached: ConnectError"
        ),
        ChainHoldings(SOLANA, "solana", "Solana", (Holding(SOL, Decimal(100), Decimal(13_894)),)),
    ),
    (
        ChainAllowances(
            TRADING, "ethereum", "Ethereum",
            (
                Allowance(
                    USDC, "0x568ba20066d0503329631401d74238b25Fbe8E4a", 100 * 10**6, False, "hy"
                ),
            ),
        ),
        ChainAllowances(
            TRADING, "base", "Base",
            (
                Allowance(
                    USDC, "0xcA11bde05977b3631167028862bE2a173976CA11", (1 << 256) - 1, True
                ),
            ),
            complete=False,
        ),
        ChainAllowances(TRADING, "bsc", "BNB Chain", (), complete=False, problem="down"),
    ),
    smart=(
        ChainHoldings(
            TRADING, "base", "Base", (Holding(USDC, Decimal(243), Decimal(243)),),
            smart="0x6F9B3e2d4C21E1b4Bc7B6F9e92c6Da8eA75c6F11",
        ),
    ),
    policy=PolicyStatus(POLICY, (LimitUse(DAY, Decimal(120), Decimal(880)),)),
)  # fmt: skip


async def opened(run: DeskRun) -> WalletsScreen:
    """The page, once its own reading is over: the market in process runs no chain."""
    await run.ready()
    wallet = run.app.session.desk.wallet
    wallet._program = CHEAP
    wallet.links = ()
    await run.press("w", to=WalletsScreen)
    screen = run.app.screen
    assert isinstance(screen, WalletsScreen)
    await run.settle(lambda: screen.told is not None and not screen.busy, "the accounts")
    # Whether keys are open, and for how long, is the agent's: it starts locked in a picture.
    await wallet.lock()
    screen.clear_notice()
    screen.refresh_frame()
    return screen


@scene("wallets", apart="wallets", decides=True)
async def wallets(run: DeskRun) -> None:
    screen = await opened(run)
    screen.take(TOLD)
    await run.see("10,000")
    screen._table.action_move(2)
    await run.see("locked")


@scene("wallets-allowance", after=wallets, decides=True)
async def allowance(run: DeskRun) -> None:
    screen = run.screen(WalletsScreen)
    screen._table.action_move(99)
    screen._table.action_move(-1)
    await run.see("revoke")


@scene("wallets-smart", after=allowance, decides=True)
async def smart(run: DeskRun) -> None:
    screen = run.screen(WalletsScreen)
    screen._table.action_move(-2)
    await run.see("takes it back")


@scene("wallets-limits", after=smart, decides=True, also=(NORMAL,))
async def limits(run: DeskRun) -> None:
    await run.press("m", sees="at most")
    await run.on(TextOverlay)


@scene("wallets-empty", after=limits)
async def nothing(run: DeskRun) -> None:
    await run.press("escape")
    screen = run.screen(WalletsScreen)
    screen.take(WalletSnapshot())
    await run.see("no account")
