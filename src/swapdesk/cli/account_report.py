"""Limits, commissions and volume as commands print them."""

from __future__ import annotations

import shutil
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from msgspec import Struct

from swapdesk.cli.command_error import Exit
from swapdesk.cli.output import Form
from swapdesk.cli.session import CommandSession
from swapdesk.flows.account.reading import (
    OF_PAYER,
    LimitGauge,
    begins_late,
    forecast,
    limit_gauges,
    month_name,
    over,
    text_chart,
)
from swapdesk.flows.notation import duration, usd
from swapdesk.wire.account import (
    ChartMetric,
    ChartPoint,
    ChartQuery,
    CommissionQuery,
    CommissionSummary,
    Granularity,
    VolumeStatistics,
    WeeklyVolume,
)


class LimitFacts(Struct, frozen=True):
    """One window of one class of calls. ``endsAt``: when it is used up at this pace."""

    MERGED: ClassVar = "gauge"

    gauge: LimitGauge
    exceeded: bool


class LimitsDocument(Struct, frozen=True, rename="camel"):
    """``limits`` are minute, hour and day of quotes and of exchanges."""

    monthly_request_count: int
    limits: tuple[LimitFacts, ...]


class CommissionsDocument(Struct, frozen=True):
    """``month`` is ``YYYY-MM``, None for all of them."""

    month: str | None
    commissions: CommissionSummary


class VolumeDocument(Struct, frozen=True):
    """Of all finished orders."""

    volume: VolumeStatistics


class WeeksDocument(Struct, frozen=True):
    """Oldest first."""

    weeks: tuple[WeeklyVolume, ...]


class ChartDocument(Struct, frozen=True):
    """A point for each day or month, oldest first."""

    granularity: Granularity
    points: tuple[ChartPoint, ...]


async def report_limits(session: CommandSession, fail_over: int | None) -> int:
    """Exit 3 when more than ``fail_over`` percent of a limit is used."""
    output, api = session.call.output, session.link.api
    told = await api.get_rate_limits()
    gauges = limit_gauges(api.budget)
    exceeded = over(gauges, fail_over) if fail_over is not None else ()
    output.table(
        ("calls", "window", "used", "limit", "percent", "resets in"),
        [
            (
                gauge.name,
                gauge.window_name,
                f"{gauge.used:,}",
                f"{gauge.limit:,}",
                f"{gauge.percent}%",
                duration(gauge.resets_in),
            )
            for gauge in gauges
        ],
        numbers=(2, 3, 4),
        document=LimitsDocument(
            told.monthly_request_count,
            tuple(LimitFacts(gauge, gauge in exceeded) for gauge in gauges),
        ),
    )
    if not output.json:
        if session.link.connection.credentials.pays:
            output.say(OF_PAYER)
        if (said := forecast(gauges)) is not None:
            output.say(said)
        output.say(f"Requests of every kind in this month: {told.monthly_request_count:,}.")
    for gauge in exceeded:
        what = f"{gauge.name} of this {gauge.window_name}"
        output.talk(f"{gauge.percent}% of the {what} are used, over {fail_over}%.")
    return Exit.THRESHOLD if exceeded else Exit.DONE


async def report_commissions(session: CommandSession, month: str | None) -> None:
    """In all, or of one month."""
    output, api = session.call.output, session.link.api
    found = await api.get_commissions(CommissionQuery(month=month))
    of = "in all" if month is None else f"in {month_name(month, api.server_now())}"
    output.facts(
        [
            ("this month", usd(found.this_month_earnings)),
            ("last month", usd(found.last_month_earnings)),
            (f"earned {of}", usd(found.total_earnings)),
            ("paid out", usd(found.processed_commissions)),
            ("not paid yet", usd(found.pending_commissions)),
            ("entries", f"{found.commission_count:,}"),
        ],
        document=CommissionsDocument(month, found),
    )


async def report_volume(session: CommandSession) -> None:
    """Of all finished orders."""
    output = session.call.output
    found = await session.link.api.get_volume()
    output.facts(
        [
            ("orders", f"{found.count:,}"),
            ("orders this month", f"{found.this_month_orders:,}"),
            ("volume", usd(found.total_transacted_usd)),
            ("this month", usd(found.this_month_volume_usd)),
            ("last month", usd(found.last_month_volume_usd)),
        ],
        document=VolumeDocument(found),
    )


async def report_weeks(session: CommandSession) -> None:
    """Newest first, except as JSON, which keeps the sequence of the service."""
    output = session.call.output
    found = await session.link.api.get_weekly_volume()
    if not (found or output.json):
        output.talk("No order was finished yet.")
    output.table(
        ("week", "orders", "private", "volume", "commission"),
        [
            (
                f"{week.year} W{week.week:02}",
                f"{week.count:,}",
                f"{week.anonymous:,}",
                usd(week.volume),
                usd(week.commission),
            )
            for week in reversed(found)
        ],
        numbers=(1, 2, 3, 4),
        document=WeeksDocument(tuple(found)),
    )


async def report_chart(
    session: CommandSession, granularity: str, since: datetime | None, until: datetime | None
) -> None:
    """A drawing, rows as sentences, points as JSON. The service gives so many points at most, the
    last ones (contract 12.5)."""
    output = session.call.output
    asked = ChartQuery(
        metric=ChartMetric.VOLUME, granularity=Granularity(granularity), from_=since, to=until
    )
    found = await session.link.api.get_chart(asked)
    late = begins_late(found[0].date, since) if found and since is not None else None
    if late is not None:
        output.talk(
            f"The chart begins with {found[0].date}, not with {late}: the service gives only so"
            f" many {granularity}s at once. Add --to for earlier ones."
        )
    if output.form is not Form.TABLE:
        output.say(
            *(f"{one.date}: orders {one.count:,}, volume {usd(one.volume_usd)}." for one in found),
            document=ChartDocument(asked.granularity, tuple(found)),
        )
        return
    values = [one.volume_usd for one in found]
    output.say(
        *text_chart(
            [one.date for one in found],
            values,
            columns=shutil.get_terminal_size().columns,
            ascii_only=session.settings.glyphs.value == "ascii",
        )
    )
    orders = sum(one.count for one in found)
    of = f"From {found[0].date} on: orders" if late is not None else "Orders"
    output.say(f"{of} {orders:,}, volume {usd(sum(values, Decimal(0)))}.")
