"""A service over a small or large world with stored orders, for the measured programs.

Without quotes no venue trades here: what is measured is reading. The limits of its one partner are
wide, so that the whole middleware works without refusing the load.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.service.app import assemble
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import (
    FLOATING,
    CentralizedVenue,
    DepositInstruction,
    LegOrder,
    LegReport,
    Terms,
    Unavailable,
    VenueLimits,
    VenueTraits,
)
from swapdesk.wire.account import RateWindows
from swapdesk.wire.chains import Chain, SwapProvider
from swapdesk.wire.encoding.ids import new_object_id, new_order_id
from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatusCode
from swapdesk.wire.tokens import Token

AUTHORIZATION = "benchmark:benchmark"
RECEIVER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
DEPOSIT_ADDRESS = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
_WIDE = RateWindows(per_minute=10**9, per_hour=10**9, per_day=10**9)
PARTNER = Partner(
    "benchmark",
    "Benchmark",
    Tier.PRO,
    (ApiKey("benchmark", digest(b"benchmark")),),
    _WIDE,
    _WIDE,
    _WIDE,
)


class InstantVenue:
    """Opens every leg at once, at the quoted amounts and on an EVM chain, and sees no deposit."""

    provider = SwapProvider(id="c" * 24, name="Instant", short_name="cc", enabled=True)
    traits = VenueTraits()
    poll_seconds = 5.0

    def __init__(self) -> None:
        self._opened: dict[str, DepositInstruction] = {}

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return token_in.id != token_out.id

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        return None

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> Unavailable:
        return Unavailable("quotes are made beforehand")

    async def open(self, leg: LegOrder) -> DepositInstruction:
        address = f"0x{hashlib.sha256(leg.key.encode()).hexdigest()[:40]}"
        opened = DepositInstruction(address, None, leg.amount_in, leg.amount_out)
        return self._opened.setdefault(leg.key, opened)

    async def find(self, key: str) -> DepositInstruction | None:
        return self._opened.get(key)

    async def report(self, key: str) -> LegReport | None:
        return LegReport(LegStatus.WAITING) if key in self._opened else None

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        raise NotImplementedError("nothing is declined")


def build(
    clock: Clock,
    store: Store,
    chains: Iterable[Chain],
    tokens: Iterable[Token],
    venues: Iterable[CentralizedVenue] = (),
) -> ServiceParts:
    """The parts of a service, without venues if none are given."""
    return assemble(
        clock=clock,
        rng=random.Random(1),
        store=store,
        chains=chains,
        tokens=tokens,
        venues=venues,
        partners=[PARTNER],
        intermediaries=[],
    )


async def stored_quotes(
    store: Store, tokens: Sequence[Token], count: int, now: datetime
) -> list[str]:
    """Ids of ``count`` standard quotes of :class:`InstantVenue`, good for a day, that pay out to
    ``RECEIVER``."""
    rng = random.Random(-count)
    evm = [token for token in tokens if token.chain_data.kind == "evm"]
    quotes = []
    for _ in range(count):
        token_in, token_out = rng.sample(evm, 2)
        quote = replace(
            _quote(rng, token_in, token_out, now),
            route="standard",
            legs=(InstantVenue.provider.short_name,),
            expires=now + timedelta(days=1),
        )
        quotes.append(quote)
    for start in range(0, count, 1_000):
        await store.quotes.save(quotes[start : start + 1_000])
    return [quote.quote_id for quote in quotes]


async def stored_orders(
    directory: Path, tokens: Sequence[Token], count: int, now: datetime
) -> tuple[Store, list[StoredOrder]]:
    """A store with ``count`` private orders that are under way."""
    store = Store.open(directory / "service.db")
    return store, await orders_in(store, tokens, count, now)


async def orders_in(
    store: Store, tokens: Sequence[Token], count: int, now: datetime, seed: int = 0
) -> list[StoredOrder]:
    """So many of them in a store; another ``seed`` makes others."""
    rng = random.Random(count + seed)
    quotes, orders = [], []
    for number in range(count):
        quote = _quote(rng, *rng.sample(tokens, 2), now)
        quotes.append(quote)
        orders.append(_order(rng, quote, now - timedelta(seconds=number % 3600)))
    for start in range(0, count, 1_000):
        await store.quotes.save(quotes[start : start + 1_000])
    for start in range(0, count, 64):
        await asyncio.gather(*(store.orders.begin(order) for order in orders[start : start + 64]))
    return orders


def _quote(rng: random.Random, token_in: Token, token_out: Token, now: datetime) -> StoredQuote:
    return StoredQuote(
        quote_id=new_object_id(rng),
        partner_id=PARTNER.partner_id,
        purpose="exchange",
        route="private",
        created=now,
        expires=now + timedelta(seconds=60),
        token_in_id=token_in.id,
        token_out_id=token_out.id,
        amount_in=Decimal(rng.randrange(1, 10**9)).scaleb(-6),
        amount_out=Decimal(rng.randrange(1, 10**9)).scaleb(-6),
        amount_in_usd=Decimal("48210.00"),
        amount_out_usd=Decimal("48090.19"),
        minutes=Decimal(27),
        legs=("aa", "bb"),
    )


def _order(rng: random.Random, quote: StoredQuote, created: datetime) -> StoredOrder:
    return StoredOrder(
        service_id=new_order_id(rng),
        record_id=new_object_id(rng),
        partner_id=quote.partner_id,
        quote_id=quote.quote_id,
        request_digest="",
        route="private",
        created=created,
        modified=created,
        expires=created + timedelta(hours=47),
        status=int(OrderStatusCode.CONFIRMING),
        display_status=DisplayStatus.DEPOSIT_DETECTED.value,
        rank=1,
        version=1,
        due_at=None,
        in_status=int(LegStatus.CONFIRMING),
        out_status=int(LegStatus.NEW),
        token_in_id=quote.token_in_id,
        token_out_id=quote.token_out_id,
        amount_in=quote.amount_in,
        amount_out=quote.amount_out,
        amount_in_usd=quote.amount_in_usd,
        amount_out_usd=quote.amount_out_usd,
        minutes=quote.minutes,
        receiver_address=RECEIVER,
        receiver_tag=None,
        refund_address=None,
        refund_tag=None,
        deposit_address=DEPOSIT_ADDRESS,
        deposit_tag=None,
        legs=quote.legs,
        middle_token_id=None,
        middle_amount=None,
    )
