"""Fixtures: a real service with the sandbox's tokens and fixed-fee venues, and a desk on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from cached_catalog import cache_catalog
from service.price_venue import PriceVenue
from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.wire.tokens import Token
from world import World, open_world, sandbox_goods


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
def api(world: World) -> PartnerApi:
    return world.api


@pytest.fixture(scope="session")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokens that the service lists, on disk; no service is opened for them."""
    now, path = ManualClock().now(), tmp_path_factory.mktemp("desk") / "catalog.db"
    goods = sandbox_goods(now)
    verified = [one for one in goods["tokens"] if not one.unverified]
    cache_catalog(path, now, goods["chains"], verified)
    return path


@contextmanager
def loaded(path: Path, clock: ManualClock) -> Iterator[Catalog]:
    with closing(Catalog.open(path, clock)) as opened:
        opened.load()
        yield opened


@pytest.fixture(scope="session")
def catalog(listed: Path) -> Iterator[Catalog]:
    """For tests that change nothing of it."""
    with loaded(listed, ManualClock()) as opened:
        yield opened


@pytest.fixture
def own_catalog(listed: Path, clock: ManualClock, tmp_path: Path) -> Iterator[Catalog]:
    """One that may be changed."""
    path = tmp_path / "desk" / "catalog.db"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(listed.read_bytes())
    with loaded(path, clock) as opened:
        yield opened


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
