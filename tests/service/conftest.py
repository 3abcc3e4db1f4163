"""A service over a tiny world, in process, on a clock that stands still until it is moved."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

import databases
from service.http_calls import calling
from service.new_store import open_again, open_new, stores_of
from service.orders_fixtures import Floor, venues_at
from service.price_venue import PriceVenue
from service.venue import PlainVenue
from service.world import (
    AS_FIRST,
    CHAINS,
    INTERMEDIARIES,
    KEYWORDS,
    PARTNERS,
    TOKENS,
    WEBHOOK_SECRETS,
)
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller, Partner
from swapdesk.service.app import Onchain, assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.tokens import Token


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def aa() -> PriceVenue:
    return PriceVenue("aa", fee=Decimal("0.004"))


@pytest.fixture
def bb() -> PriceVenue:
    return PriceVenue("bb", fee=Decimal("0.006"), least=Decimal(10), minutes=Decimal(7))


@pytest.fixture
def cc() -> PriceVenue:
    return PriceVenue("cc", fee=Decimal("0.010"), most=Decimal(500_000))


@pytest.fixture
def venue_list(aa: PriceVenue, bb: PriceVenue, cc: PriceVenue) -> list[CentralizedVenue]:
    """The venues of the tiny world; a module may bring its own."""
    return [cc, aa, bb]


@pytest.fixture
def token_list() -> Sequence[Token]:
    """Its tokens; a module may bring its own."""
    return TOKENS


@pytest.fixture
def partner_list() -> Sequence[Partner]:
    """Its partners; a module may bring its own."""
    return PARTNERS


@pytest.fixture
def onchain() -> Onchain:
    """What it has of chains: nothing, unless a module brings some."""
    return Onchain()


@pytest.fixture
def dialect() -> Dialect:
    """Whose names it writes; a test may bring another's."""
    return Dialect.CONTRACT


OF_WHAT_IS_STORED = {
    "test_backup",
    "test_creation",
    "test_exchange_limits",
    "test_exchange_terms",
    "test_hostile_texts",
    "test_kill_loop",
    "test_multi",
    "test_observation",
    "test_orders_api",
    "test_outgrown",
    "test_paid_calls",
    "test_partner_account",
    "test_partner_watch",
    "test_rate_limits",
    "test_readiness",
    "test_roles",
    "test_scans",
    "test_store",
    "test_timekeeping",
    "test_webhooks",
}
"""Modules whose tests run over both databases. What the others ask of the service comes out the
same over both: ``test_same_answers.py`` holds every operation's answers against each other, and
``test_order_machine.py`` lives through the same histories over each."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    chosen = any(
        mark.args[0] == "engine" for mark in metafunc.definition.iter_markers("parametrize")
    )
    if "engine" in metafunc.fixturenames and module in OF_WHAT_IS_STORED and not chosen:
        metafunc.parametrize("engine", databases.NAMES, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[databases.Name]:
    """The database behind every store of a test: the embedded one, or each of both."""
    name: databases.Name = getattr(request, "param", "sqlite")
    with stores_of(name):
        yield name


@pytest.fixture
async def store(engine: databases.Name, tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_new(tmp_path / "service.db")
    yield opened
    await opened.close()


@pytest.fixture
def reopened(
    engine: databases.Name, tmp_path: Path
) -> Callable[[Mapping[str, str] | None], Awaitable[Store]]:
    """The same store as another process opens it, in a world."""
    return lambda world=None: open_again(tmp_path / "service.db", world)


@pytest.fixture
def service(
    clock: ManualClock,
    store: Store,
    venue_list: list[CentralizedVenue],
    token_list: Sequence[Token],
    partner_list: Sequence[Partner],
    onchain: Onchain,
    dialect: Dialect,
) -> ServiceParts:
    return assemble(
        clock,
        random.Random(7),
        store,
        CHAINS,
        token_list,
        venue_list,
        partner_list,
        INTERMEDIARIES,
        KEYWORDS,
        onchain=onchain,
        dialect=dialect,
        webhook_secrets=WEBHOOK_SECRETS,
    )


@pytest.fixture
async def api(service: ServiceParts) -> AsyncIterator[httpx2.AsyncClient]:
    """Calls with the first partner's full key, unless a test sends other headers."""
    async with calling(build_service(service), AS_FIRST) as client:
        yield client


@pytest.fixture
async def anyone(service: ServiceParts) -> AsyncIterator[httpx2.AsyncClient]:
    """Calls without any credentials."""
    async with calling(build_service(service)) as client:
        yield client


@pytest.fixture
def adapters() -> list[PlainVenue]:
    """The venues of a floor; a module may bring its own."""
    return venues_at()


@pytest.fixture
async def floor(
    engine: databases.Name, tmp_path: Path, adapters: list[PlainVenue]
) -> AsyncIterator[Floor]:
    """Everything an order touches, without HTTP."""
    floor = Floor(tmp_path / "service.db", ManualClock(), adapters)
    yield floor
    await floor.store.close()


@pytest.fixture
def first(service: ServiceParts) -> Caller:
    """The first partner with its full key."""
    partner = service.directory.partners["partner-first"]
    return Caller(partner, partner.keys[0])
