"""Fixtures: a real service with the sandbox's tokens and fixed-fee venues, and a desk on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from cached_catalog import cache_catalog
from service.price_venue import PriceVenue
from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.tokens import Token
from world import World, open_world, sandbox_goods

_catalogs: dict[datetime, bytes] = {}


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
async def world(
    clock: ManualClock, venues: list[PriceVenue], tmp_path: Path
) -> AsyncIterator[World]:
    async with open_world(tmp_path, clock, venues, **sandbox_goods(clock.now())) as opened:
        yield opened


@pytest.fixture
def service(world: World) -> ServiceParts:
    return world.service


@pytest.fixture
def api(world: World) -> PartnerApi:
    return world.api


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """The tokens that the service lists, on disk and read, for tests that change nothing of it:
    no service is opened for them."""
    clock = ManualClock()
    goods, path = sandbox_goods(clock.now()), tmp_path_factory.mktemp("desk") / "catalog.db"
    listed = [one for one in goods["tokens"] if not one.unverified]
    cache_catalog(path, clock.now(), goods["chains"], listed)
    opened = Catalog.open(path, clock)
    opened.load()
    yield opened
    opened.close()


@pytest.fixture
async def own_catalog(
    api: PartnerApi, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[Catalog]:
    """One that may be changed, filled from the service: page by page for the first test of a
    process, and opened as that one's file for the others."""
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


def token(catalog: Catalog, spec: str) -> Token:
    return resolve(spec, catalog).token


@pytest.fixture
def book(tmp_path: Path) -> AddressBook:
    """The sandbox's first entries."""
    return AddressBook.load(tmp_path / "desk" / "address_book.toml", sandbox=True)


@pytest.fixture
def bob(book: AddressBook) -> BookEntry:
    """Who has no memo."""
    return book.entry("bob")


@pytest.fixture
def rita(book: AddressBook) -> BookEntry:
    """Whose payments carry one."""
    return book.entry("rita")
