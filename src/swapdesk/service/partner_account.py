"""Commissions and volume of a partner (contract 12.2 to 12.9), by the UTC day on which orders were
finished, from :mod:`swapdesk.service.store.books`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import TypeVar

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Partner
from swapdesk.service.errors import invalid
from swapdesk.service.store.records import DaySum, StoredOrder, Sums
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.account import (
    ChartPoint,
    ChartQuery,
    CommissionQuery,
    CommissionSummary,
    Granularity,
    VolumeStatistics,
    WeeklyVolume,
)
from swapdesk.wire.encoding.numbers import ROUGH, short
from swapdesk.wire.encoding.time_range import EARLIEST, LATEST
from swapdesk.wire.encoding.timestamps import rfc3339

_PLACES = Decimal("0.00000001")
"""The precision of every sum that the API shows (contract 12.8)."""

USUAL_DAYS = 30
MOST_POINTS = 400
"""Largest number of points of a chart, the last ones (contract 12.5)."""

_FIRST_DAY, _LAST_DAY = EARLIEST.toordinal(), LATEST.toordinal() - 1
"""The first and the last day of a chart, 1970-01-01 and 2199-12-31, as ordinals."""

_WEEK = timedelta(days=7)

Name = TypeVar("Name", str, date)


def commission_of(order: StoredOrder, partner: Partner | None, venues: Venues) -> Decimal:
    """Returns the dollars that a finished order earns its partner (contract 12.7); 0 if the order's
    value is unknown. If ``partner`` is None, only the markup counts."""
    if order.amount_in_usd is None:
        return Decimal(0)
    fee = order.fee_usd or Decimal(0)
    if order.route != "dex":
        rates = (_rate(venues, code, fixed=order.fixed) for code in order.legs)
        fee = _percent(order.amount_in_usd, sum(rates, Decimal(0)))
    share = Decimal(0) if partner is None else partner.earns_of_fees
    return short(ROUGH.add(_percent(order.amount_in_usd, order.markup), _percent(fee, share)))


def _rate(venues: Venues, code: str, *, fixed: bool) -> Decimal:
    venue = venues.by_code(code)
    if venue is None:
        return Decimal(0)
    return venue.traits.fixed_fee if fixed else venue.traits.fee


def _percent(amount: Decimal, percent: Decimal) -> Decimal:
    return ROUGH.multiply(amount, percent).scaleb(-2, ROUGH)


def _plus(left: Sums, other: Sums) -> Sums:
    return Sums(
        orders=left.orders + other.orders,
        private=left.private + other.private,
        volume=ROUGH.add(left.volume, other.volume),
        commission=ROUGH.add(left.commission, other.commission),
        entries=left.entries + other.entries,
    )


def _by_name(days: Iterable[tuple[Name, DaySum]]) -> dict[Name, Sums]:
    sums: dict[Name, Sums] = {}
    for name, day in days:
        sums[name] = _plus(sums.get(name, Sums()), day)
    return sums


def _months(days: Iterable[DaySum]) -> dict[str, Sums]:
    return _by_name((_month(day.day), day) for day in days)


def _month(day: date) -> str:
    return day.isoformat()[:7]


def _last_month(day: date) -> str:
    return _month(day.replace(day=1) - timedelta(days=1))


def _wire(amount: Decimal) -> Decimal:
    return short(amount.quantize(_PLACES, context=ROUGH))


class PartnerAccount:
    """Answers questions about the caller's own commissions and volume."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def _today(self) -> date:
        return self._clock.now().astimezone(UTC).date()

    async def commissions(self, caller: Caller, query: CommissionQuery) -> CommissionSummary:
        """Returns the commissions of the query's month, or of all months (contract 12.2). A payout
        counts in the month in which it was earned."""
        days, payouts = await self._store.books.of(caller.partner.partner_id)
        months, today = _months(days), self._today()
        if query.month is None:
            asked = reduce(_plus, days, Sums())
            paid = sum(payouts.values(), Decimal(0))
        else:
            asked = months.get(query.month, Sums())
            paid = payouts.get(query.month, Decimal(0))
        return CommissionSummary(
            total_earnings=_wire(asked.commission),
            pending_commissions=_wire(ROUGH.subtract(asked.commission, paid)),
            processed_commissions=_wire(paid),
            this_month_earnings=_wire(months.get(_month(today), Sums()).commission),
            last_month_earnings=_wire(months.get(_last_month(today), Sums()).commission),
            commission_count=asked.entries,
        )

    async def volume(self, caller: Caller) -> VolumeStatistics:
        days, _ = await self._store.books.of(caller.partner.partner_id)
        months, today = _months(days), self._today()
        total = reduce(_plus, days, Sums())
        this_month = months.get(_month(today), Sums())
        return VolumeStatistics(
            count=total.orders,
            total_transacted_usd=_wire(total.volume),
            total_orders=total.orders,
            this_month_volume_usd=_wire(this_month.volume),
            last_month_volume_usd=_wire(months.get(_last_month(today), Sums()).volume),
            this_month_orders=this_month.orders,
        )

    async def weeks(self, caller: Caller) -> list[WeeklyVolume]:
        """Returns the volume of every week from the account's first finished order until now
        (contract 12.4)."""
        days, _ = await self._store.books.of(caller.partner.partner_id)
        if not days:
            return []
        weeks = _by_name((_monday(day.day), day) for day in days)
        monday, last = min(weeks), max(max(weeks), _monday(self._today()))
        rows = []
        while monday <= last:
            sums, iso = weeks.get(monday, Sums()), monday.isocalendar()
            rows.append(
                WeeklyVolume(
                    week=iso.week,
                    year=iso.year,
                    count=sums.orders,
                    anonymous=sums.private,
                    volume=_wire(sums.volume),
                    commission=_wire(sums.commission),
                )
            )
            monday += _WEEK
        return rows

    async def chart(self, caller: Caller, query: ChartQuery) -> list[ChartPoint]:
        """Returns the points of a chart by day or month (contract 12.5).

        Raises VALIDATION_ERROR if ``from`` is after ``to``.
        """
        dates = self._dates(query)
        days, _ = await self._store.books.of(caller.partner.partner_id)
        length = len("YYYY-MM") if query.granularity is Granularity.MONTH else len("YYYY-MM-DD")
        sums = _by_name((day.day.isoformat()[:length], day) for day in days)
        points = ((name, sums.get(name, Sums())) for name in dates)
        return [
            ChartPoint(date=name, volume_usd=_wire(point.volume), count=point.orders)
            for name, point in points
        ]

    def _dates(self, query: ChartQuery) -> list[str]:
        end = query.to or self._clock.now()
        if query.from_ is not None and query.from_ > end:
            raise invalid("from", "'from' must not be after 'to'", rfc3339(query.from_))
        last = _ordinal(end)
        first = last - (USUAL_DAYS - 1) if query.from_ is None else _ordinal(query.from_)
        days = range(max(first, _FIRST_DAY), min(last, _LAST_DAY) + 1)
        if days and query.granularity is Granularity.MONTH:
            begin, final = date.fromordinal(days[0]), date.fromordinal(days[-1])
            months = range(12 * begin.year + begin.month - 1, 12 * final.year + final.month)
            return [f"{n // 12:04}-{n % 12 + 1:02}" for n in months[-MOST_POINTS:]]
        return [date.fromordinal(number).isoformat() for number in days[-MOST_POINTS:]]


def _ordinal(moment: datetime) -> int:
    return moment.astimezone(UTC).toordinal()


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
