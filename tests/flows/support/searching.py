"""A support desk on the service in process, whose requests are counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, TypeVar

from msgspec import Struct

from manual_time import until
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.flows.connection import Connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.support.order_search import Answer, OrderSearch, Place, begun_here
from swapdesk.flows.support.pasted_text import read_pasted
from swapdesk.paths import private_directory, write_private
from swapdesk.wallet.accounts import ChainLink
from swapdesk.wire.choices import RouteType
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.multi import MultiExchange, MultiExchangeRequest, MultiOrderRequest
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import QuoteQuery
from tui.desk_run import Market
from world import FIRST_KEY, URL

T = TypeVar("T")
RECEIVER = derive_address("evm", b"s" * 32)
REFUND = derive_address("bitcoin", b"t" * 32)


class SupportDesk(Struct):
    """``made`` are orders of another desk of the same partner: this one's journal is empty."""

    market: Market
    desk: Desk

    @property
    def asked(self) -> list[str]:
        """Every request so far."""
        return self.market.network.seen

    async def in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of what may wait for the clock."""
        task = asyncio.create_task(work)
        await until(self.market.clock, task.done)
        return task.result()

    def token(self, symbol: str, chain: str) -> str:
        rows = self.desk.catalog.rows_of_symbol(symbol)
        return next(row.id for row in rows if row.chain == chain)

    def elsewhere(self) -> PartnerApi:
        """As another desk of the first partner asks."""
        return PartnerApi(URL, FIRST_KEY, clock=self.market.clock, transport=self.market.network)

    async def make(self, amount: str = "0.5", receiver: str = RECEIVER) -> Order:
        query = QuoteQuery(
            amount=Decimal(amount), types=[RouteType.STANDARD],
            from_=self.token("BTC", "bitcoin"), to=self.token("ETH", "ethereum"),
        )  # fmt: skip
        async with self.elsewhere() as api:
            quotes = (await api.get_quotes(query)).quotes
            best = next(quote for quote in quotes if quote.error is None)
            receipt = await api.create_exchange(
                ExchangeRequest(quote_id=best.quote_id, address_to=receiver, refund_address=REFUND)
            )
            return await api.get_order(receipt.made.service_id)

    async def make_group(self, count: int) -> MultiExchange:
        row = MultiOrderRequest(
            from_=self.token("ETH", "ethereum"), to=self.token("BTC", "bitcoin"),
            amount=Decimal("0.5"), address_to=REFUND,
        )  # fmt: skip
        async with self.elsewhere() as api:
            request = MultiExchangeRequest(orders=[row] * count)
            return (await api.create_multi_exchange(request)).made

    def look(self, text: str) -> OrderSearch:
        """A search that has looked where it costs nothing: no request went out."""
        before, catalog = len(self.asked), self.desk.catalog
        pasted = read_pasted(
            text,
            is_symbol=lambda word: bool(catalog.rows_of_symbol(word)),
            begun=begun_here(self.desk),
        )
        assert pasted.searchable, pasted
        search = OrderSearch(self.desk, pasted)
        search.look_here()
        assert len(self.asked) == before
        return search

    async def go_on(self, search: OrderSearch) -> None:
        async def look() -> None:
            async for _ in search.go_on():
                pass

        await self.in_time(look())

    async def spend(self, search: OrderSearch) -> int:
        """Go on once: the requests that went out, which are those that were stated at most."""
        stated, before = search.next_cost, len(self.asked)
        await self.go_on(search)
        spent = len(self.asked) - before
        assert spent <= stated[0], (stated, self.asked[before:])
        return spent

    async def find(self, text: str) -> OrderSearch:
        """Look and go on until something is found, or nothing is left to ask."""
        search = self.look(text)
        while search.next_cost is not None and not search.found:
            await self.spend(search)
        return search


def said(search: OrderSearch) -> dict[Place, tuple[Answer, str]]:
    return {one.place: (one.answer, one.said) for one in search.searched}


@asynccontextmanager
async def support_desk(
    market: Market, credentials: Credentials = FIRST_KEY, chains: tuple[ChainLink, ...] = ()
) -> AsyncIterator[SupportDesk]:
    """On a home of its own, connected and following nothing."""
    settings = market.settings
    if not settings.places.catalog.exists():
        private_directory(settings.places.root)
        write_private(settings.places.catalog, market.known)
    desk = Desk.open(settings, clock=market.clock, transport=market.network)
    desk.catalog.load()
    await desk.connect(Connection(URL, credentials, "first", chains=chains), follow=False)
    try:
        yield SupportDesk(market, desk)
    finally:
        await desk.close()
