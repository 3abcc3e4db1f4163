"""The partners of the sandbox as the service knows them (contract 2.9)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from swapdesk.sandbox.partner_keys import PartnerKeys
from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.wire.account import RateWindows

QUOTE_LIMITS = {
    Tier.FREE: RateWindows(per_minute=5, per_hour=20, per_day=50),
    Tier.PRO: RateWindows(per_minute=500, per_hour=2000, per_day=5000),
}
EXCHANGE_LIMITS = {
    Tier.FREE: RateWindows(per_minute=1, per_hour=5, per_day=10),
    Tier.PRO: RateWindows(per_minute=50, per_hour=500, per_day=2000),
}
READ_LIMITS = {
    Tier.FREE: RateWindows(per_minute=60, per_hour=3600, per_day=86_400),
    Tier.PRO: RateWindows(per_minute=600, per_hour=36_000, per_day=864_000),
}


FIRST_MARKUP = Decimal("0.5")
"""Percent; the other accounts add nothing by themselves (contract 17.8)."""


def build_partners(keys: Iterable[PartnerKeys]) -> list[Partner]:
    """One account per set of keys, with the limits of its tier; no fixed rates for FREE."""
    accounts = list(keys)
    first = next((each for each in accounts if each.tier == Tier.PRO), None)
    return [
        Partner(
            partner_id=each.partner_id,
            name=each.name,
            tier=Tier(each.tier),
            keys=(ApiKey(each.api_key, digest(each.api_secret.encode())),),
            quote_limits=QUOTE_LIMITS[Tier(each.tier)],
            exchange_limits=EXCHANGE_LIMITS[Tier(each.tier)],
            read_limits=READ_LIMITS[Tier(each.tier)],
            fixed_rates=Tier(each.tier) is Tier.PRO,
            default_markup=FIRST_MARKUP if each is first else Decimal(0),
        )
        for each in accounts
    ]
