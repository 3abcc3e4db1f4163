"""A desk, its wallet agent, and a service over embedded chains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field

from flows.faulty_network import After, FaultyNetwork
from service.dex.solana_floor import SolanaFloor, trading_on_solana
from service.dex.trading import Floor, trading
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.client.api import PartnerApi
from swapdesk.flows.creation.exchange import ExchangeFlow, new_intent_id
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.intents.intent import Intent, IntentKind, TokenFacts, terms_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions import Agreed, Outcome, Pace
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import Review
from swapdesk.wallet.client import WalletClient
from swapdesk.wire.choices import RouteType
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import Quote, QuoteQuery
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE
from world import World

PACE = Pace(look=0.05, patience=20.0)
IMPATIENT = Pace(look=0.05, patience=1.0)
CHAINS = ("ethereum", "base")


async def _quoted(
    api: PartnerApi, venue: str, sell: Token, buy: Token, amount: str, address: str
) -> Quote:
    """The quote of a venue; asked for again where a busy machine did not answer in its time."""
    query = QuoteQuery(
        amount=Decimal(amount),
        from_=sell.id,
        to=buy.id,
        types=[RouteType.DEX],
        sender_address=address,
    )
    late = 0
    while True:
        answer = await api.get_quotes(query)
        (quote,) = [one for one in answer.quotes if one.swap == venue]
        if quote.error is None:
            return quote
        late += 1
        assert late < 5, quote.error


class Swapper(Struct):
    """One account with a journal of its own; ``reviews`` are what it was shown."""

    place: Place
    agent: WalletClient
    address: str
    journal: Journal
    keys: Path
    reviews: list[Review] = field(default_factory=list)
    agrees: Callable[[Review], bool] = lambda review: True

    async def fund(self, coins: str = "1", **tokens: str) -> None:
        await self.place.floor.fund(self.address, coins, **tokens)

    async def holds(self, token: Token, address: str | None = None) -> int:
        """Units of its own, or at another address."""
        return await self.place.floor.holds(token, address or self.address)

    def acts(self, intent_id: str) -> list[str]:
        """What left the agent under an intent, as its own records on disk tell it: each signature
        by what it does."""
        records = Records(RecordsFile(self.keys, writable=False))
        try:
            return [one.act for one in records.given(intent_id)]
        finally:
            records.close()

    async def intent(self, venue: str, sell: Token, buy: Token, amount: str) -> Intent:
        """What somebody confirms who takes the quote of a venue now, to be paid to themselves."""
        quote = await _quoted(self.place.api, venue, sell, buy, amount, self.address)
        price = Decimal(self.place.COIN_PRICE)
        return Intent(
            id=new_intent_id(),
            kind=IntentKind.EXCHANGE,
            frozen_at=self.place.floor.clock.now(),
            token_in=TokenFacts.of(sell),
            token_out=TokenFacts.of(buy),
            amount_in=Decimal(amount),
            amount_out=quote.amount_out,
            net_amount_out=quote.net_amount_out or quote.amount_out,
            route="dex",
            provider=quote.swap,
            provider_name=quote.swap_name,
            quote_id=quote.quote_id,
            valid_until=quote.valid_until,
            minutes=quote.duration,
            recipient=self.address,
            recipient_label=None,
            memo=None,
            memo_waived=False,
            refund_address=None,
            refund_memo=None,
            dex=terms_of(quote, self.address, price, kind=sell.chain_data.kind),
        )

    async def look(self, review: Review) -> Agreed | None:
        self.reviews.append(review)
        return Agreed(review.phrase) if self.agrees(review) else None

    def flow(
        self,
        api: PartnerApi | None = None,
        agent: WalletClient | None = None,
        pace: Pace = PACE,
    ) -> DexSwapFlow:
        used = api or self.place.api
        clock = self.place.floor.clock
        exchange = ExchangeFlow(used, self.journal, clock, looks=(0.0, 0.0, 0.0))
        return DexSwapFlow(
            used, exchange, self.journal, clock, agent or self.agent, self.look, pace=pace
        )

    async def swapped(self, intent: Intent, answers: After | None = None) -> Outcome:
        """How a swap ends over a service that answers so."""
        self.place.network.after = answers
        try:
            return await self.flow().swap(intent)
        finally:
            self.place.network.after = None


class Place(Struct):
    """``KIND`` is that of the keys that are made here."""

    KIND: ClassVar[Kind] = Kind.EVM
    COIN_PRICE: ClassVar[int] = 3000
    floor: Floor
    directory: Path

    @property
    def service(self) -> World:
        return self.floor.service

    @property
    def api(self) -> PartnerApi:
        return self.service.api

    @property
    def network(self) -> FaultyNetwork:
        return self.service.network

    def wallet(self, keys: Path) -> WalletPlace:
        links = tuple(
            ChainLink(
                name,
                Kind.EVM,
                self.floor.token(name, "USDC").chain_data.chain_id,
                self.floor.world.url(name),
                2,
            )
            for name in CHAINS
        )
        return WalletPlace(str(keys), "sandbox", links)

    @asynccontextmanager
    async def someone(
        self, directory: Path, beside: Swapper | None = None
    ) -> AsyncIterator[Swapper]:
        """A new key in an agent of its own, or in that of somebody else; unlocked."""
        keys = beside.keys if beside else directory / "keys"
        agent = (
            beside.agent if beside else await WalletClient.start(self.wallet(keys), program=CHEAP)
        )
        journal = Journal.open(directory / "journal.db", self.floor.clock)
        try:
            made = await agent.create(self.KIND, "", PASSPHRASE)
            swapper = self.swapper(agent, made.address, journal, keys)
            yield swapper
            agent = swapper.agent
        finally:
            journal.close()
            if beside is None:
                await agent.close()

    def swapper(self, agent: WalletClient, address: str, journal: Journal, keys: Path) -> Swapper:
        return Swapper(self, agent, address, journal, keys)

    async def completed(self, order: Order) -> Order:
        """The order once it has ended."""
        await self.floor.until(order.service_id, lambda told: told["status"] >= 4)
        return await self.api.get_order(order.service_id)


class SolanaPlace(Place):
    KIND = Kind.SOLANA
    COIN_PRICE = 139
    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        link = ChainLink("solana", Kind.SOLANA, None, self.floor.world.url, 1)
        makers = (("at", str(self.floor.maker.pubkey())),)
        return WalletPlace(str(keys), "sandbox", (link,), makers=makers)

    async def completed(self, order: Order) -> Order:
        await self.floor.ended(order.service_id)
        return await self.api.get_order(order.service_id)


@asynccontextmanager
async def swapping(directory: Path) -> AsyncIterator[Place]:
    async with trading(directory) as floor:
        yield Place(floor, directory)


@asynccontextmanager
async def swapping_on_solana(directory: Path) -> AsyncIterator[SolanaPlace]:
    async with trading_on_solana(directory) as floor:
        yield SolanaPlace(floor, directory)
