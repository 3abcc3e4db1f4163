"""The page of the account costs three reads, once a minute."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from swapdesk.client.api import PartnerApi
from swapdesk.client.budget import Window
from swapdesk.clock import ManualClock
from swapdesk.flows.account.reading import READS, AccountReader, AccountReading, account_csv
from swapdesk.wire.account import ChartPoint, CommissionSummary
from swapdesk.wire.operation import RateClass

ZERO = CommissionSummary(
    total_earnings=Decimal(0),
    pending_commissions=Decimal(0),
    processed_commissions=Decimal(0),
    this_month_earnings=Decimal(0),
    last_month_earnings=Decimal(0),
    commission_count=0,
)


def test_csv_has_the_days_of_the_month_alone() -> None:
    days = tuple(
        ChartPoint(date=date, volume_usd=Decimal(volume), count=count)
        for date, volume, count in (
            ("2026-10-31", "5", 1),
            ("2026-11-01", "0", 0),
            ("2026-11-02", "1234.50000001", 3),
        )
    )
    read = AccountReading("2026-11", datetime(2026, 11, 2, tzinfo=UTC), ZERO, (), days)
    assert account_csv(read).splitlines() == [
        "date,orders,volumeUsd",
        "2026-11-01,0,0",
        "2026-11-02,3,1234.50000001",
    ]


async def test_a_minute_long_nothing_is_read_again(api: PartnerApi, clock: ManualClock) -> None:
    reader = AccountReader(api)

    def spent() -> int:
        return api.budget.used(RateClass.READ, Window.DAY)

    await api.health()
    assert reader.kept("2026-11") is None
    before = spent()
    first = await reader.read("2026-11")
    assert spent() - before == READS
    assert await reader.read("2026-11") is first
    assert reader.kept("2026-11") is first
    assert spent() - before == READS
    assert [day.date for day in first.days][:1] == ["2026-10-01"]
    assert len(first.days_of("2026-11")) == clock.now().day
    other = await reader.read("2026-10")
    assert (other.month, spent() - before) == ("2026-10", 2 * READS)
    clock.advance(61)
    assert reader.kept("2026-11") is None
    assert await reader.read("2026-11") is not first
    assert await reader.read("2026-11", anew=True) is not first
    assert spent() - before == 4 * READS
