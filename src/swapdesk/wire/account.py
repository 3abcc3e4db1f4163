"""A partner's own account: limits, commissions, statistics (contract 12)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import QueryTime
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel, WireModel


class RateWindows(WireModel):
    """The number of requests that are allowed in one minute, hour and day."""

    per_minute: WireInteger
    per_hour: WireInteger
    per_day: WireInteger


class RateLimits(WireModel):
    """The rate limits of an account for quotes and exchanges. ``monthly_request_count`` counts the
    authenticated requests of this UTC month."""

    monthly_request_count: WireInteger
    quote: RateWindows
    exchange: RateWindows


class CommissionQuery(RequestModel):
    """Parameters of the commission summary. ``month`` is ``YYYY-MM``."""

    month: Annotated[str, Identity(7, pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")] | None = None


class CommissionSummary(WireModel):
    """The commissions of an account in US dollars. They are for the requested month, unless the
    field's name states another period. ``total_earnings`` is pending plus paid out."""

    total_earnings: Amount
    pending_commissions: Amount
    processed_commissions: Amount
    this_month_earnings: Amount
    last_month_earnings: Amount
    commission_count: WireInteger


class VolumeStatistics(WireModel):
    """The number of finished orders and the total sent for them in US dollars; ``total_orders``
    equals ``count``."""

    count: WireInteger
    total_transacted_usd: Amount = Field(alias="totalTransactedUSD")
    total_orders: WireInteger
    this_month_volume_usd: Amount
    last_month_volume_usd: Amount
    this_month_orders: WireInteger


class WeeklyVolume(WireModel):
    """The volume of an ISO week. ``anonymous`` counts private orders; amounts are in US dollars."""

    week: WireInteger
    year: WireInteger
    count: WireInteger
    anonymous: WireInteger
    volume: Amount
    commission: Amount


class ChartMetric(StrEnum):
    VOLUME = "volume"


class Granularity(StrEnum):
    DAY = "day"
    MONTH = "month"


class ChartQuery(RequestModel):
    """Parameters of the chart. The days or months of ``from`` and ``to`` are included as a whole.
    By default the chart covers the last 30 days."""

    metric: ChartMetric
    granularity: Granularity = Granularity.DAY
    from_: Annotated[QueryTime | None, Field(alias="from")] = None
    to: QueryTime | None = None


class ChartPoint(WireModel):
    """The volume of a day or month. ``date`` is ``YYYY-MM-DD`` or ``YYYY-MM``, UTC."""

    date: Annotated[str, Identity(10)]
    volume_usd: Amount
    count: WireInteger
