"""Venues that differ in what they can do, for tests of terms and choices.

``fa`` and ``fb`` have fixed rates and take markup; ``ff`` has fixed rates only; ``pl`` can do
neither and pays best.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from service.price_venue import PriceVenue
from service.world import RIPPLE, chain, token
from swapdesk.clock import ManualClock
from swapdesk.service.venues.adapter import VenueTraits

FIXED = VenueTraits(fixed=True)
MONERO = chain("monero", "xmr", "Monero", "^[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}$", number=6)
XMR = token(12, "XMR", "Monero", MONERO, 12, "160", priority=6, cex_token_id="XMR")
COPY_OF_XMR = token(13, "XMR", "Wrapped Monero", RIPPLE, 12, "160", address="rCopy")


def venues(clock: ManualClock) -> list[PriceVenue]:
    begin = clock.now()
    return [
        PriceVenue(
            "fa",
            fee=Decimal("0.004"),
            traits=FIXED,
            markup_supported=True,
            rates_until=begin + timedelta(seconds=600),
        ),
        PriceVenue(
            "fb",
            fee=Decimal("0.006"),
            traits=FIXED,
            markup_supported=True,
            minutes=Decimal(7),
            rates_until=begin + timedelta(seconds=420),
        ),
        PriceVenue(
            "ff",
            fee=Decimal("0.008"),
            traits=FIXED,
            rates_until=begin + timedelta(seconds=500),
        ),
        PriceVenue("pl", fee=Decimal("0.002")),
    ]
