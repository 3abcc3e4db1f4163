"""The desk's create flow against the real service in process, on clocks that are moved."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from msgspec import Struct

from flows.faulty_network import FaultyNetwork
from flows.marketplace import api, book, catalog, clock, service, venues
from flows.orders import RECIPIENT, intent
from service.new_store import open_new
from service.venue import PlainVenue
from service.world import CHAINS, ETH, INTERMEDIARIES, KEYWORDS, PARTNERS, TOKENS, USDC
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.service.app import assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.quotes import QuoteQuery, RouteType

__all__ = ["Trade", "api", "book", "catalog", "clock", "service", "trade", "venues"]


class Trade(Struct):
    """One desk, one service, and what a test needs of both."""

    clock: ManualClock
    venue: PlainVenue
    service: ServiceParts
    network: FaultyNetwork
    api: PartnerApi
    journal: Journal
    flow: ExchangeFlow

    async def quoted(self, amount: str = "100") -> Intent:
        """An intent frozen from a real quote of the service: USDC to ETH."""
        quotes = await self.api.get_quotes(
            QuoteQuery(amount=Decimal(amount), from_=USDC.id, to=ETH.id, types=[RouteType.STANDARD])
        )
        best = next(q for q in quotes.quotes if q.error is None)
        assert best.quote_id is not None
        assert best.amount_in is not None
        assert best.amount_out is not None
        assert best.net_amount_out is not None
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


@pytest.fixture
async def trade(tmp_path: Path) -> AsyncIterator[Trade]:
    clock = ManualClock()
    venue = PlainVenue("aa", "Alder")
    store = open_new(tmp_path / "service.db")
    parts = assemble(
        clock, random.Random(7), store, CHAINS, TOKENS, [venue], PARTNERS, INTERMEDIARIES, KEYWORDS
    )
    network = FaultyNetwork(httpx2.ASGITransport(app=build_service(parts)))
    api = PartnerApi(
        "http://localhost/v2",
        Credentials.of_key("first-key", "first-secret"),
        clock=clock,
        transport=network,
        rng=random.Random(3),
    )
    journal = Journal.open(tmp_path / "desk" / "journal.db", clock)
    flow = ExchangeFlow(api, journal, clock, looks=(0.0, 0.0, 0.0))
    yield Trade(clock, venue, parts, network, api, journal, flow)
    await api.aclose()
    journal.close()
    await store.close()
