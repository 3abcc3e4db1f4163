"""A tiny world for the tests of store, orders and stream, wired without HTTP."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from service.new_store import open_new
from service.venue import PlainVenue
from service.world import BTC_ADDRESS, EVM, XRP_ADDRESS, chain, token
from swapdesk.clock import ManualClock
from swapdesk.service.access import ApiKey, Caller, Partner, Tier, digest
from swapdesk.service.app import assemble
from swapdesk.service.errors import ServiceError
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateWindows
from swapdesk.wire.choices import SortOrder
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.orders import Order, OrderList, OrderQuery
from swapdesk.wire.tokens import Token

BTC, XRP = BTC_ADDRESS, XRP_ADDRESS
START = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)


SECRET = "5f2d" * 16


CHAINS = [
    chain("ethereum", "evm", "Ethereum", "", number=11),
    chain("bitcoin", "bitcoin", "Bitcoin", "", number=12),
    chain("monero", "xmr", "Monero", "", number=13),
    chain("ripple", "xrp", "Ripple", "", number=14, memo=True),
]
ETH = token(21, "ETH", "ETH", CHAINS[0], 18, "3000", cex_token_id="ETH")
BITCOIN = token(22, "BTC", "BTC", CHAINS[1], 8, "90000", cex_token_id="BTC")
XMR = token(23, "XMR", "XMR", CHAINS[2], 12, "180", cex_token_id="XMR")
XRP_TOKEN = token(24, "XRP", "XRP", CHAINS[3], 6, "2", cex_token_id="XRP")
TOKENS = [ETH, BITCOIN, XMR, XRP_TOKEN]


def partner(name: str, tier: Tier = Tier.PRO) -> Partner:
    windows = RateWindows(per_minute=100_000, per_hour=1_000_000, per_day=10_000_000)
    key = ApiKey(f"key-{name}", digest(SECRET.encode()))
    return Partner(f"partner-{name}", name, tier, (key,), windows, windows)


def credentials(of: Partner) -> str:
    return f"{of.keys[0].key}:{SECRET}"


ALICE, BOB, FRANK = partner("alice"), partner("bob"), partner("frank", Tier.FREE)
EVERYTHING = (
    ALICE.partner_id,
    START - timedelta(days=1),
    OrderQuery.model_construct(page_size=1000, sort_order=SortOrder.ASC),
)
"""What a page of all her orders is asked for by."""


def caller(of: Partner = ALICE) -> Caller:
    return Caller(of, of.keys[0])


def venues_at(path: Path | None = None) -> list[PlainVenue]:
    return [
        PlainVenue("aa", "Alpha", spread="0.004", path=path),
        PlainVenue("bb", "Beta", spread="0.006", path=path),
        PlainVenue("cc", "Gamma", spread="0.008", path=path),
    ]


@dataclass
class Floor:
    """Everything an order touches. Venues survive a :func:`reopen`, the rest does not."""

    path: Path
    clock: ManualClock
    adapters: Sequence[PlainVenue]
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    opened: Store | None = None
    """Instead of the store at the path."""

    def __post_init__(self) -> None:
        self.store: Store = self.opened or open_new(self.path)
        parts = assemble(
            self.clock,
            self.rng,
            self.store,
            CHAINS,
            TOKENS,
            self.adapters,
            [ALICE, BOB, FRANK],
            [XMR.id, BITCOIN.id],
        )
        self.catalog = parts.catalog
        self.venues = parts.venues
        self.engine = parts.engine
        self.desk = parts.orders
        self.dex = parts.dex
        self.worker = parts.worker

    def venue(self, code: str) -> PlainVenue:
        return next(v for v in self.adapters if v.provider.short_name == code)

    @property
    def openings(self) -> list[str]:
        return [leg.key for venue in self.adapters for leg in venue.opened]

    async def quote(
        self,
        *,
        of: Partner = ALICE,
        route: str = "standard",
        amount: str = "0.5",
        token_in: Token = ETH,
        token_out: Token = BITCOIN,
        purpose: str = "exchange",
    ) -> StoredQuote:
        """Store the best route as a quote, as a request for quotes would."""
        best = await self.engine.best_legs(
            token_in,
            token_out,
            Decimal(amount),
            route,  # type: ignore[arg-type]
            exclude=frozenset(),
        )
        now = self.clock.now()
        quote = StoredQuote(
            quote_id=f"{self.rng.getrandbits(96):024x}",
            partner_id=of.partner_id,
            purpose=purpose,  # type: ignore[arg-type]
            route=route,  # type: ignore[arg-type]
            created=now,
            expires=now + timedelta(seconds=60),
            token_in_id=token_in.id,
            token_out_id=token_out.id,
            amount_in=best.amount_in,
            amount_out=best.amount_out,
            amount_in_usd=Decimal("1500.00"),
            amount_out_usd=Decimal("1494.00"),
            minutes=best.minutes,
            legs=best.legs,
            middle_token_id=best.middle_token_id,
            middle_amount=best.middle_amount,
        )
        await self.store.quotes.save([quote])
        return quote

    async def create(
        self, *, of: Partner = ALICE, route: str = "standard", to: str = BTC, **body: str
    ) -> Order:
        quote = await self.quote(of=of, route=route)
        request = ExchangeRequest(quote_id=quote.quote_id, address_to=to, **body)
        return await self.desk.create(caller(of), request, "exchange")

    async def listed(self, by: Caller) -> OrderList:
        """The first page of their orders, read as a client reads it."""
        return decode(OrderList, await self.desk.encoded_list(by, OrderQuery()), side="client")

    async def work(self, seconds: float = 5.0) -> int:
        """Move the clock and let the worker look at what is due."""
        self.clock.advance(seconds)
        return await self.worker.step(self.clock.now())


def exchange(quote: StoredQuote, to: str = BTC, **body: str) -> ExchangeRequest:
    return ExchangeRequest(quote_id=quote.quote_id, address_to=to, **body)


def private_send(quote: StoredQuote, to: str = EVM, **body: str) -> PrivateSendRequest:
    return PrivateSendRequest(quote_id=quote.quote_id, address_to=to, **body)


async def row_of(floor: Floor, order: Order) -> StoredOrder:
    """What the service keeps of an order of Alice."""
    return await floor.store.orders.get(ALICE.partner_id, order.service_id)


async def only_order(floor: Floor) -> Order:
    listed = await floor.listed(caller())
    assert listed.total == len(listed.orders) == 1
    return listed.orders[0]


async def refused(
    call: Awaitable[Any], code: str = ErrorCode.VALIDATION_ERROR, field: str = ""
) -> ServiceError:
    """The refusal with this code, and for this field alone where there is one."""
    with pytest.raises(ServiceError) as error:
        await call
    assert (error.value.code, "".join(error.value.fields or ())) == (code, field)
    return error.value


async def reopen(floor: Floor) -> Floor:
    """The service again on the same file and venues, as after a crash or a restart."""
    await floor.store.close()
    return Floor(floor.path, floor.clock, floor.adapters, random.Random(7))
