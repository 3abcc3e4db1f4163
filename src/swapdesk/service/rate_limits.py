"""Admission of a partner's calls by tier or override (contract 2.8 to 2.11).

Quotes and creates are written down before they are carried out, so that a killed process
does not forget them; reads are written every second.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Partner
from swapdesk.service.errors import ServiceError
from swapdesk.service.rate_windows import Admission, CallWindows
from swapdesk.service.request_counts import RequestCounter
from swapdesk.service.store.protocol import Store, StoreUnavailable
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import RateClass

FLUSH_SECONDS = 1.0
_LONGEST = timedelta(days=1)
_WRITTEN_FIRST = (RateClass.QUOTE, RateClass.EXCHANGE)

logger = logging.getLogger(__name__)


class RateLimiter:
    """The limits of every partner, enforced within this process and across its restarts."""

    def __init__(self, store: Store, clock: Clock, requests: RequestCounter) -> None:
        self._store = store
        self._clock = clock
        self._requests = requests
        self._windows = CallWindows()

    async def restore(self) -> None:
        """Take up the windows an earlier process left. Raises StoreUnavailable."""
        self._windows.restore(await self._store.load_usage(self._clock.now() - _LONGEST))

    async def admit(self, caller: Caller, rate_class: RateClass) -> Admission | None:
        """Count one call; None for operations without a class.

        The caller refuses a call whose admission has ``retry_after`` by ``refusal``. Raises
        StoreUnavailable when a quote or create cannot be written down.
        """
        limits = limits_of(caller.partner, rate_class)
        if limits is None:
            return None
        partner_id = caller.partner.partner_id
        admission = self._windows.admit(partner_id, rate_class, limits, self._clock.now())
        if admission.retry_after is None and rate_class in _WRITTEN_FIRST:
            await self._store.save_usage(self._windows.usage(partner_id, rate_class))
        return admission

    def standing(self, caller: Caller, rate_class: RateClass) -> Admission | None:
        """How the windows stand, for an answer to a call that counted in none of them."""
        limits = limits_of(caller.partner, rate_class)
        if limits is None:
            return None
        return self._windows.standing(
            caller.partner.partner_id, rate_class, limits, self._clock.now()
        )

    async def flush(self) -> None:
        """Write down the counts that changed. Raises StoreUnavailable."""
        changed = self._windows.take_changed()
        if changed:
            await self._store.save_usage(changed)

    async def run(self) -> None:
        """Flush every second until cancelled."""
        while True:
            await self._clock.sleep(FLUSH_SECONDS)
            try:
                await asyncio.shield(self.flush())
            except StoreUnavailable:
                logger.warning("rate windows not written")

    async def limits(self, caller: Caller) -> RateLimits:
        """The record of ``GET /rateLimits``: the very numbers that are enforced."""
        partner = caller.partner
        return RateLimits(
            monthly_request_count=await self._requests.in_month(partner),
            quote=partner.quote_limits,
            exchange=partner.exchange_limits,
        )


def limits_of(partner: Partner, rate_class: RateClass) -> RateWindows | None:
    """What is enforced for a class of calls; None where nothing is."""
    match rate_class:
        case RateClass.NONE:
            return None
        case RateClass.READ | RateClass.ATTEMPT:
            return partner.read_limits
        case RateClass.QUOTE:
            return partner.quote_limits
        case RateClass.EXCHANGE:
            return partner.exchange_limits


def refusal(rate_class: RateClass, admission: Admission) -> ServiceError:
    """The 429 of a call that found a full window."""
    return ServiceError(
        ErrorCode.RATE_LIMIT_EXCEEDED,
        f"The {rate_class.value} limit of {admission.limit} is used up; "
        f"try again in {admission.retry_after} s.",
    )
