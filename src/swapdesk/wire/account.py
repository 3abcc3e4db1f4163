"""Effective rate limits of a partner (contract 12.1)."""

from swapdesk.wire.encoding.numbers import WireInteger
from swapdesk.wire.model import WireModel


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
