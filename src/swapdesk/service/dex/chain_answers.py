"""What a venue on a chain or a chain itself answers, as the answer of a request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.venues.onchain.adapter import CHAIN_ERRORS, DexRefused
from swapdesk.wire.errors import ErrorCode

T = TypeVar("T")

log = logging.getLogger(__name__)


async def asked(answer: Awaitable[T]) -> T:
    """The answer. Raises ServiceError: VALIDATION_ERROR or INVALID_SWAP where it is a refusal,
    SERVICE_UNAVAILABLE where there is none."""
    try:
        return await answer
    except DexRefused as refused:
        if refused.field is not None:
            raise invalid(refused.field, refused.reason) from refused
        reason = refused.reason[0].upper() + refused.reason[1:]
        raise ServiceError(ErrorCode.INVALID_SWAP, f"{reason}.") from refused
    except CHAIN_ERRORS as error:
        log.warning("a chain does not answer: %s", error)
        raise ServiceError(
            ErrorCode.SERVICE_UNAVAILABLE, "The chain does not answer at present. Try again."
        ) from error
