"""A service over a small or large world with stored orders, for the measured programs.

No venue trades here: what is measured is reading. The limits of its one partner are wide, so
that the whole middleware works without refusing the load.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from swapdesk.clock import Clock
from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.service.app import assemble
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.account import RateWindows
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.ids import new_object_id, new_order_id, new_quote_id
from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatusCode
from swapdesk.wire.tokens import Token

AUTHORIZATION = "benchmark:benchmark"
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


def build(
    clock: Clock, store: SqliteStore, chains: Iterable[Chain], tokens: Iterable[Token]
) -> ServiceParts:
    """The parts of a service without venues."""
    return assemble(
        clock=clock,
        rng=random.Random(1),
        store=store,
        chains=chains,
        tokens=tokens,
        venues=[],
        partners=[PARTNER],
        intermediaries=[],
    )


async def stored_orders(
    directory: Path, tokens: Sequence[Token], count: int, now: datetime
) -> tuple[SqliteStore, list[StoredOrder]]:
    """A store with ``count`` private orders that are under way."""
    store = SqliteStore.open(directory / "service.db")
    rng = random.Random(count)
    orders = []
    for number in range(count):
        token_in, token_out = rng.sample(tokens, 2)
        quote = _quote(rng, token_in, token_out, now)
        orders.append(_order(rng, quote, now - timedelta(seconds=number % 3600)))
        await store.save_quotes([quote])
    for start in range(0, count, 64):
        await asyncio.gather(*(store.begin_order(order) for order in orders[start : start + 64]))
    return store, orders


def _quote(rng: random.Random, token_in: Token, token_out: Token, now: datetime) -> StoredQuote:
    return StoredQuote(
        quote_id=new_quote_id(rng),
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
        receiver_address="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        receiver_tag=None,
        refund_address=None,
        refund_tag=None,
        deposit_address="bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        deposit_tag=None,
        legs=quote.legs,
        middle_token_id=None,
        middle_amount=None,
    )
