"""What the page of the account shows, read from the service and kept for a minute; and as CSV."""

from __future__ import annotations

import asyncio
import csv
import io
from datetime import datetime, timedelta

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.flows.account.chart import days_query, stepped
from swapdesk.wire.account import ChartPoint, CommissionQuery, CommissionSummary, WeeklyVolume

KEPT = timedelta(seconds=60)
READS = 3


class AccountReading(Struct, frozen=True):
    """``days`` are those of ``month`` and of the month before it, oldest first; ``weeks`` newest
    first."""

    month: str
    read_at: datetime
    commissions: CommissionSummary
    weeks: tuple[WeeklyVolume, ...]
    days: tuple[ChartPoint, ...]

    def days_of(self, month: str) -> tuple[ChartPoint, ...]:
        return tuple(day for day in self.days if day.date.startswith(month))


class AccountReader:
    """Reads of one account. What was read less than a minute ago costs nothing."""

    def __init__(self, api: PartnerApi) -> None:
        self._api = api
        self._kept: dict[str, AccountReading] = {}

    def kept(self, month: str) -> AccountReading | None:
        """What was read of a month, while it is fresh."""
        found = self._kept.get(month)
        fresh = found is not None and self._api.server_now() - found.read_at < KEPT
        return found if fresh else None

    async def read(self, month: str, *, anew: bool = False) -> AccountReading:
        """Three reads at most. Raises ClientError."""
        if not anew and (found := self.kept(month)) is not None:
            return found
        now = self._api.server_now()
        before = stepped(month, -1, now)
        asked = days_query(month, now)
        query = asked.model_copy(update={"from_": days_query(before, now).from_})
        commissions, weeks, days = await asyncio.gather(
            self._api.get_commissions(CommissionQuery(month=month)),
            self._api.get_weekly_volume(),
            self._api.get_chart(query),
        )
        read = AccountReading(month, now, commissions, tuple(reversed(weeks)), tuple(days))
        self._kept[month] = read
        return read


COLUMNS = ("date", "orders", "volumeUsd")


def account_export_name(reading: AccountReading) -> str:
    """``swapdesk-account-2026-11.csv``."""
    return f"swapdesk-account-{reading.month}.csv"


def account_csv(reading: AccountReading) -> str:
    """A row for each day of the month that was read, and a head."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for day in reading.days_of(reading.month):
        rows.writerow((day.date, day.count, f"{day.volume_usd:f}"))
    return written.getvalue()
