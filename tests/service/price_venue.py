"""A venue that prices deterministically from the tokens' own prices, with switches for its moods.

It opens nothing: tests of orders bring their own venue.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from msgspec import Struct, field

from service.world import RIPPLE, chain, token
from swapdesk.clock import ManualClock
from swapdesk.service.venues.adapter import (
    FLOATING,
    DepositInstruction,
    LegOrder,
    LegReport,
    Rejected,
    Terms,
    Transient,
    Unavailable,
    VenueLimits,
    VenueQuote,
    VenueTraits,
)
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.encoding.numbers import ROUGH, quantize
from swapdesk.wire.tokens import Token


class PriceVenue(Struct):
    """``fee`` is a share, ``least`` and ``most`` are US dollars, ``network`` a fixed payout fee.

    Moods: ``silent`` never answers, ``failing`` refuses, ``broken`` raises what no venue may.
    A fixed rate costs ``fixed_fee`` more and ends at ``rates_until``; ``rateless`` forgets it.
    """

    code: str
    fee: Decimal = Decimal("0.01")
    least: Decimal = Decimal(20)
    most: Decimal = Decimal(300_000)
    network: Decimal = Decimal(1)
    minutes: Decimal = Decimal(10)
    trades: frozenset[str] | None = None
    enabled: bool = True
    silent: bool = False
    failing: bool = False
    broken: bool = False
    asked: int = 0
    gate: asyncio.Event | None = None
    poll_seconds: float = 5.0
    traits: VenueTraits = field(default_factory=VenueTraits)
    markup_supported: bool = False
    fixed_fee: Decimal = Decimal("0.002")
    rates_until: datetime = datetime(2026, 11, 20, 14, 12, 11, tzinfo=UTC)
    rateless: bool = False
    terms: list[Terms] = field(default_factory=list)
    opened: list[LegOrder] = field(default_factory=list)

    @property
    def provider(self) -> SwapProvider:
        return SwapProvider(
            id=f"{int.from_bytes(self.code.encode(), 'big'):024x}",
            name=f"Venue {self.code}",
            short_name=self.code,
            tx_url=f"https://{self.code}.test/tx/",
            enabled=self.enabled,
            logo_url=f"https://{self.code}.test/logo.png",
            markup_supported=self.markup_supported,
        )

    def supports(self, token_in: Token, token_out: Token) -> bool:
        symbols = self.trades
        known = symbols is None or {token_in.symbol, token_out.symbol} <= symbols
        return known and token_in.has_cex and token_out.has_cex and token_in.id != token_out.id

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        price = token_in.price or Decimal(1)
        return VenueLimits(
            quantize(ROUGH.divide(self.least, price), token_in.decimals, up=True),
            quantize(ROUGH.divide(self.most, price), token_in.decimals, up=False),
        )

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        self.asked += 1
        self.terms.append(terms)
        if self.gate is not None:
            await self.gate.wait()
        if self.silent:
            await asyncio.get_running_loop().create_future()
        if self.failing:
            raise Transient("out of order")
        if self.broken:
            raise ZeroDivisionError("a defect of the adapter")
        limits = self.limits(token_in, token_out)
        price_in, price_out = token_in.price or Decimal(1), token_out.price or Decimal(1)
        kept = 1 - self.fee - (self.fixed_fee if terms.fixed else 0)
        kept *= 1 - terms.markup / 100
        if terms.receive:
            usd = ROUGH.divide(amount * price_out + self.network, kept)
            amount_in = quantize(ROUGH.divide(usd, price_in), token_in.decimals, up=True)
            if not limits.minimum <= amount_in <= limits.maximum:
                return Unavailable("out of bounds", limits)
            amounts = (amount_in, amount)
        else:
            usd = amount * price_in * kept - self.network
            amounts = (amount, ROUGH.divide(usd, price_out))
        if not terms.fixed or self.rateless:
            return VenueQuote(*amounts, self.minutes, limits)
        rate = f"{self.code}-rate-{self.asked}"
        return VenueQuote(*amounts, self.minutes, limits, rate, self.rates_until)

    async def open(self, leg: LegOrder) -> DepositInstruction:
        raise Rejected("opens nothing")

    async def find(self, key: str) -> DepositInstruction | None:
        return None

    async def report(self, key: str) -> LegReport | None:
        return None

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        raise Rejected("nothing was deposited")


# Venues that differ in what they can do, for tests of terms and choices


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
