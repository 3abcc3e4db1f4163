"""The world of a test: a service in process, the network to it, and a desk's half at will.

``open_world`` makes it. What a test does not name is that of the tiny world (``service.world``);
what is opened of a world ends with it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from starlette.types import Receive, Scope, Send

from flows.faulty_network import FaultyNetwork
from flows.orders import RECIPIENT, intent
from manual_time import until
from patience import PATIENCE
from service.loopback import on_port
from service.new_store import open_new
from service.world import AS_FIRST, CHAINS, ETH, INTERMEDIARIES, KEYWORDS, PARTNERS, TOKENS, USDC
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import Clock
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import Created, NotCreated
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.chains import Chain
from swapdesk.wire.choices import RouteType
from swapdesk.wire.quotes import QuoteQuery
from swapdesk.wire.tokens import Token

T = TypeVar("T")

URL = "http://127.0.0.1:9/v2"
"""Where a desk believes the service; nothing listens there."""
FIRST_KEY = Credentials.of_key("first-key", "first-secret")
SECOND_KEY = Credentials.of_key("second-key", "second-secret")


class World:
    """``network`` is the way of every call in process; ``faults`` are those of the service."""

    def __init__(
        self,
        directory: Path,
        clock: Any,
        venues: Sequence[Any],
        assembled: Callable[[], ServiceParts],
    ) -> None:
        self.directory = directory
        self.clock = clock
        self.venues = venues
        self.faults = ActiveFaults()
        self._assembled = assembled
        self.restart()
        self.network = FaultyNetwork(httpx2.ASGITransport(app=self._app))
        self.opened = AsyncExitStack()

    def restart(self) -> None:
        """The service on what it wrote down alone, as after a kill; its network finds it again."""
        self.service = self._assembled()
        self.layer = FaultLayer(build_service(self.service), self.faults, self.clock)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.layer(scope, receive, send)

    @property
    def venue(self) -> Any:
        """The first one."""
        return self.venues[0]

    def new_api(
        self, credentials: Credentials = FIRST_KEY, url: str = "", clock: Clock | None = None
    ) -> PartnerApi:
        """A client over the network; with a ``url`` over a socket."""
        api = PartnerApi(
            url or URL,
            credentials,
            clock=clock or self.clock,
            transport=None if url else self.network,
            rng=random.Random(3),
        )
        self.opened.push_async_callback(api.aclose)
        return api

    @cached_property
    def api(self) -> PartnerApi:
        """The first partner's."""
        return self.new_api()

    @cached_property
    def journal(self) -> Journal:
        opened = Journal.open(self.directory / "desk" / "journal.db", self.clock)
        self.opened.callback(opened.close)
        return opened

    def exchange(self, api: PartnerApi | None = None) -> ExchangeFlow:
        """Creates of this desk; a lost answer is looked for at once."""
        return ExchangeFlow(api or self.api, self.journal, self.clock, looks=(0.0, 0.0, 0.0))

    @cached_property
    def flow(self) -> ExchangeFlow:
        return self.exchange()

    async def quoted(self, amount: str = "100") -> Intent:
        """An intent frozen from a real quote of the service: USDC to ETH."""
        quotes = await self.api.get_quotes(
            QuoteQuery(amount=Decimal(amount), from_=USDC.id, to=ETH.id, types=[RouteType.STANDARD])
        )
        best: Any = next(quote for quote in quotes.quotes if quote.error is None)
        return intent(
            token_in=TokenFacts.of(USDC),
            token_out=TokenFacts.of(ETH),
            amount_in=best.amount_in,
            amount_out=best.amount_out,
            net_amount_out=best.net_amount_out,
            provider=best.swap,
            provider_name=best.swap_name,
            quote_id=best.quote_id,
            valid_until=self.clock.now() + timedelta(seconds=60),
            recipient=RECIPIENT,
        )

    async def created(self, intent: Intent | None = None, **options: Any) -> Created:
        """The order of an intent; without one, of a new quote."""
        made = await self.flow.create(intent or await self.quoted(), **options)
        assert isinstance(made, Created), made
        return made

    async def not_created(self, intent: Intent, code: str, **options: Any) -> NotCreated:
        """Why an intent became no order."""
        made = await self.flow.create(intent, **options)
        assert isinstance(made, NotCreated), made
        assert made.code == code
        return made

    async def over_time(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it while the clock goes on to whatever is waited for."""
        pending = asyncio.create_task(work)
        await until(self.clock, pending.done)
        return pending.result()

    def left_sent(self, intent: Intent) -> None:
        """Leave a create behind as a desk does that died once it was sent."""
        begin_create(self.journal.ledger, intent, "digest")
        self.journal.ledger.move(intent.id, State.SENT, server_at=self.clock.now())

    def known(self, service_id: str) -> TrackedOrder:
        """An order as the journal has it."""
        return self.journal.orders.get(service_id)

    def entry(self, intent_id: str) -> Operation:
        """The create of an intent as the journal has it."""
        return self.journal.ledger.get(intent_id)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Worker and bundle watch run by themselves, as in the service's own process."""
        running = [
            asyncio.create_task(part.run()) for part in (self.service.worker, self.service.bundles)
        ]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def http(self, **options: Any) -> httpx2.AsyncClient:
        """Calls of the first partner as they travel, past the network."""
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self._app),
            base_url="http://service/v2",
            headers=AS_FIRST,
            timeout=PATIENCE,
            **options,
        )

    @asynccontextmanager
    async def served(self, *, works: bool = False) -> AsyncIterator[str]:
        """The service on a socket of this machine, as the sandbox serves it: its base address.

        With ``works`` its worker runs; otherwise the worker moves when it is told to."""
        server = build_server(self.layer, self.clock, lifespan=works)
        async with on_port(server, self.clock) as port:
            yield f"http://127.0.0.1:{port}/v2"


@asynccontextmanager
async def open_world(
    directory: Path,
    clock: Clock,
    venues: Sequence[CentralizedVenue] = (),
    *,
    chains: Sequence[Chain] = CHAINS,
    tokens: Sequence[Token] = TOKENS,
    intermediaries: Sequence[str] = INTERMEDIARIES,
    **more: Any,
) -> AsyncIterator[World]:
    """``more`` is what else the service is assembled from."""
    store, rng = open_new(directory / "service.db"), random.Random(7)
    more = {"partners": PARTNERS, "keywords": KEYWORDS, **more}

    def assembled() -> ServiceParts:
        return assemble(
            clock,
            rng,
            store,
            chains,
            tokens,
            venues,
            intermediaries=intermediaries,
            **more,
        )

    world = World(directory, clock, venues, assembled)
    try:
        async with world.opened:
            yield world
    finally:
        await store.close()


@cache
def sandbox_goods(now: datetime) -> Mapping[str, Any]:
    """Chains and tokens of the sandbox at a moment, and what its private routes hop over; nothing
    changes them, so that all worlds share them."""
    chains = tuple(build_chains())
    tokens = tuple(build_tokens(chains, now))
    middle = [token.id for token in tokens if token.symbol in ("XRP", "SOL") and token.mainnet]
    return {"chains": chains, "tokens": tokens, "intermediaries": middle, "keywords": None}
