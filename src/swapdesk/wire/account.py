"""What a partner asks about its own account: limits, commissions, statistics (contract 12)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import QueryTime
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel, WireModel


class RateWindows(WireModel):
    """Requests allowed in one minute, hour and day."""

    per_minute: WireInteger
    per_hour: WireInteger
    per_day: WireInteger


class RateLimits(WireModel):
    """``monthly_request_count`` counts all authenticated requests of the UTC month."""

    monthly_request_count: WireInteger
    quote: RateWindows
    exchange: RateWindows


class CommissionQuery(RequestModel):
    """``month`` is ``YYYY-MM``."""

    month: Annotated[str, Identity(7, pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")] | None = None


class CommissionSummary(WireModel):
    """US dollars. The month that was asked for scopes all but ``this_month_earnings`` and
    ``last_month_earnings``; ``total_earnings`` is what is pending and what was paid out."""

    total_earnings: Amount
    pending_commissions: Amount
    processed_commissions: Amount
    this_month_earnings: Amount
    last_month_earnings: Amount
    commission_count: WireInteger


class VolumeStatistics(WireModel):
    """Finished orders and the US dollars that were sent; ``total_orders`` is ``count``."""

    count: WireInteger
    total_transacted_usd: Amount = Field(alias="totalTransactedUSD")
    total_orders: WireInteger
    this_month_volume_usd: Amount
    last_month_volume_usd: Amount
    this_month_orders: WireInteger


class WeeklyVolume(WireModel):
    """An ISO week; ``anonymous`` counts private orders, money is in US dollars."""

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
    """``from`` and ``to`` name the first and the last day or month, each of them counted whole;
    the 30 days up to now by default."""

    metric: ChartMetric
    granularity: Granularity = Granularity.DAY
    from_: Annotated[QueryTime | None, Field(alias="from")] = None
    to: QueryTime | None = None


class ChartPoint(WireModel):
    """``date`` is ``YYYY-MM-DD`` or ``YYYY-MM``, UTC."""

    date: Annotated[str, Identity(10)]
    volume_usd: Amount
    count: WireInteger
