"""Fixtures: a real service with the sandbox's tokens and fixed-fee venues, and a desk on it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

import httpx2
import pytest

from service.new_store import open_new
from service.price_venue import PriceVenue
from service.world import PARTNERS
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token

_catalogs: dict[datetime, bytes] = {}


@cache
def traded(now: datetime) -> tuple[tuple[Chain, ...], tuple[Token, ...]]:
    """The sandbox's chains and tokens at a moment; nothing can change them, so tests share them."""
    chains = build_chains()
    return tuple(chains), tuple(build_tokens(chains, now))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def venues() -> list[PriceVenue]:
    """Three venues; ``cc`` asks for more than the others take."""
    return [
        PriceVenue("aa", fee=Decimal("0.004")),
        PriceVenue("bb", fee=Decimal("0.006"), least=Decimal(10), minutes=Decimal(7)),
        PriceVenue("cc", fee=Decimal("0.010"), least=Decimal(50_000), most=Decimal(300_000)),
    ]


@pytest.fixture
async def service(
    clock: ManualClock, venues: list[PriceVenue], tmp_path: Path
) -> AsyncIterator[ServiceParts]:
    store = open_new(tmp_path / "service.db")
    chains, tokens = traded(clock.now())
    middle = [token.id for token in tokens if token.symbol in ("XRP", "SOL") and token.mainnet]
    yield assemble(clock, random.Random(7), store, chains, tokens, venues, PARTNERS, middle)
    await store.close()


@pytest.fixture
async def api(service: ServiceParts, clock: ManualClock) -> AsyncIterator[PartnerApi]:
    credentials = Credentials.of_key("first-key", "first-secret")
    transport = httpx2.ASGITransport(app=build_service(service))
    async with PartnerApi(
        "http://127.0.0.1/v2", credentials, clock=clock, transport=transport
    ) as opened:
        yield opened


@pytest.fixture
async def catalog(api: PartnerApi, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Catalog]:
    """Filled from the service: page by page for the first test of a process, and opened as that
    one's file for the others."""
    path, filled = tmp_path / "desk" / "catalog.db", _catalogs.get(clock.now())
    if filled is not None:
        path.parent.mkdir(mode=0o700)
        path.write_bytes(filled)
    opened = Catalog.open(path, clock)
    if filled is None:
        await opened.refresh(api)
        opened.close()
        _catalogs[clock.now()] = path.read_bytes()
        opened = Catalog.open(path, clock)
    opened.load()
    yield opened
    opened.close()


@pytest.fixture
def book(tmp_path: Path) -> AddressBook:
    """The sandbox's first entries."""
    return AddressBook.load(tmp_path / "desk" / "address_book.toml", sandbox=True)
