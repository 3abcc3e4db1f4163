"""Whether a quote may still become an order, and what the order has to bring for it.

Source: contract 7.3 to 7.5 and 7.9.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import Decimal
from typing import Literal

from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.store.records import StoredQuote
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import PrivateSendRequest

Purpose = Literal["exchange", "private_send"]

RATE_ENDED = "The fixed rate was valid until a moment ago. Ask for a new quote."
"""Said by the quote's own end and by a venue that no longer keeps the rate."""


def usable(quote: StoredQuote | None, purpose: Purpose, now: datetime) -> StoredQuote:
    """The quote, when it can be executed now by this kind of create.

    Raises INVALID_SWAP for one that is unknown, foreign, filtered, of the other kind of create
    or a floating one that expired, FIXED_RATE_QUOTE_EXPIRED for a fixed one past validUntil.
    """
    if quote is None or quote.purpose != purpose or quote.filtered:
        raise unusable()
    if quote.expires <= now:
        if quote.fixed:
            raise ServiceError(ErrorCode.FIXED_RATE_QUOTE_EXPIRED, RATE_ENDED)
        raise unusable()
    return quote


def unusable() -> ServiceError:
    return ServiceError(ErrorCode.INVALID_SWAP, "This quote cannot be used. Ask for a new one.")


def check_refund(request: PrivateSendRequest, quote: StoredQuote) -> None:
    """Raise VALIDATION_ERROR when money that has to come back would have no way back."""
    if request.refund_address is None:
        if quote.fixed:
            raise invalid("refundAddress", "is required for a fixed rate")
        if quote.requires_refund_address:
            raise invalid("refundAddress", "is required by this route")
        if request.refund_extra_id:
            raise invalid("refundExtraId", "belongs to a refundAddress", request.refund_extra_id)
    if request.intermediate_refund_address is not None and quote.route != "private":
        raise invalid(
            "intermediateRefundAddress",
            "only a private route has an intermediary",
            request.intermediate_refund_address,
        )


def digest_of(request: PrivateSendRequest, purpose: Purpose) -> str:
    """The same for two requests that ask for the same order.

    The digits of a number and the order of filters are a matter of who wrote the JSON.
    """
    body = request.model_dump(mode="python", by_alias=True, exclude_none=True)
    for name, value in body.items():
        if isinstance(value, Decimal):
            body[name] = short(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            body[name] = sorted(set(value))
    return hashlib.sha256(encode_json([purpose, dict(sorted(body.items()))])).hexdigest()
