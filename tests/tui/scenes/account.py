"""The account: a month with orders, and one without."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from swapdesk.flows.account.reading import AccountReading
from swapdesk.tui.screens.account import AccountScreen
from swapdesk.wire.account import ChartPoint, CommissionSummary, WeeklyVolume
from tui.desk_run import DeskRun
from tui.scenes import home, scene

_HEIGHTS = (22, 31, 30, 11, 9, 0, 37, 41, 39, 45, 31, 14, 10, 53, 48, 60, 58, 51, 17, 11)


def reading(now: datetime) -> AccountReading:
    """Twenty days of November and all of October."""
    first = datetime(2026, 10, 1, tzinfo=UTC)
    heights = (*(5 for _ in range(31)), *_HEIGHTS)
    return AccountReading(
        "2026-11",
        now,
        CommissionSummary(
            total_earnings=Decimal("18442.05"),
            pending_commissions=Decimal("1204.18"),
            processed_commissions=Decimal("17237.87"),
            this_month_earnings=Decimal("1381.40"),
            last_month_earnings=Decimal("2960.77"),
            commission_count=2316,
        ),
        tuple(
            WeeklyVolume(
                week=week,
                year=2026,
                count=count,
                anonymous=count // 4,
                volume=Decimal(count) * 1961,
                commission=Decimal(count) * 4,
            )
            for week, count in ((47, 118), (46, 164), (45, 151), (44, 0), (43, 12))
        ),
        tuple(
            ChartPoint(
                date=f"{first + timedelta(days=at):%Y-%m-%d}",
                volume_usd=Decimal(height * 1_000),
                count=height,
            )
            for at, height in enumerate(heights)
        ),
    )


@scene("account-empty", after=home.empty, back=("escape",), fed=False)
async def empty(run: DeskRun) -> None:
    await run.press("a", sees="No order was finished yet.")


@scene("account", after=home.empty, back=("escape",), fed=False)
async def account(run: DeskRun) -> None:
    await run.press("a", to=AccountScreen)
    await run.see("No order was finished yet.")
    screen = run.screen(AccountScreen)
    screen.take(reading(screen.now()))
    await run.see("2026 W47")
