"""Assembles the service: an ASGI application and its background tasks.

No other module connects the parts of a service to each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Flag
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict
from starlette.applications import Starlette
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

import swapdesk
from swapdesk.background import Silence
from swapdesk.chain.node_http import NodeError
from swapdesk.clock import Clock
from swapdesk.service.access import Directory, Partner
from swapdesk.service.bundling import Bundler
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.dex.desk import DexDesk, Sightings
from swapdesk.service.events import Hub, stream_endpoint
from swapdesk.service.front import Front
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.multi.bundles import BundleWatch, Intervene, nobody_intervenes
from swapdesk.service.multi.funding import BlockhashNode, FundingDesk
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.observation import Observer
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.partner_account import PartnerAccount
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.payments import FOLLOW_SECONDS, CallPayments, CallTerms, Facilitator
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import RateLimiter, RequestCounter
from swapdesk.service.readiness import Readiness
from swapdesk.service.room import Shared
from swapdesk.service.router import Surface
from swapdesk.service.scans import TokenScanner, TokenScans
from swapdesk.service.store.database import ClockDiffers, SchemaError, StoreUnavailable
from swapdesk.service.store.store import Store
from swapdesk.service.timekeeping import Timekeeper
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.service.venues.registry import Venues
from swapdesk.service.webhooks import Webhooks
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.service.venues.onchain.reader import OnchainReader

logger = logging.getLogger(__name__)


WARM_SECONDS = 3.0
"""Seconds from a process's start to its first request to each chain, which loads an embedded
chain."""


class Onchain(Struct, frozen=True):
    """The on-chain venues and the objects that they use. Mappings are by the chain's short name. If
    ``payments`` is None, calls without credentials are refused."""

    venues: Sequence[DexVenue] = ()
    readers: Mapping[str, OnchainReader] = field(default_factory=dict)
    sightings: Mapping[str, Sightings] = field(default_factory=dict)
    bundler: Bundler | None = None
    solana: Mapping[str, BlockhashNode] = field(default_factory=dict)
    payments: tuple[CallTerms, Facilitator] | None = None

    async def warm(self, clock: Clock) -> None:
        """Sends each chain one request after WARM_SECONDS, so that an embedded chain is loaded
        before the first quote."""
        await clock.sleep(WARM_SECONDS)
        for chain in self.sightings.values():
            with contextlib.suppress(NodeError):
                await chain.warm()

    async def close(self) -> None:
        for chain in self.sightings.values():
            await chain.close()


_RESTART_SECONDS = 1.0
_LOOK_SECONDS = 1.0
"""Seconds between two reads of partners and security verdicts, and between two writes of request
counts."""

_Work = Callable[[], Awaitable[None]]


class _Application(Starlette):
    def __init__(self, surface: ASGIApp, lifespan: Lifespan[Starlette]) -> None:
        super().__init__(lifespan=lifespan)
        self._surface = surface

    def build_middleware_stack(self) -> ASGIApp:
        surface, router = self._surface, self.router

        async def stack(scope: Scope, receive: Receive, send: Send) -> None:
            await (router if scope["type"] == "lifespan" else surface)(scope, receive, send)

        return stack


async def _repeated(work: _Work, name: str, seconds: float, clock: Clock) -> None:
    silence = Silence(logger, f"{name}: the store")
    while True:
        await clock.sleep(seconds)
        try:
            await work()
        except StoreUnavailable as unavailable:
            silence.begin(unavailable)
        else:
            silence.end()


async def _kept_running(part: _Work, name: str, clock: Clock) -> None:
    while True:
        try:
            await part()
            return
        except ClockDiffers as differs:
            # The next look at the clock says so, and ends every part.
            logger.info("%s: %s", name, differs)
        except Exception:
            logger.exception("%s broke and is started again", name)
        await clock.sleep(_RESTART_SECONDS)


class Role(Flag):
    """The work of a process: answering requests, background work on the store, or both. Any number
    of processes may run, and any may be killed."""

    ANSWERS = 1
    WORKS = 2
    BOTH = ANSWERS | WORKS


async def _until_outgrown(
    parts: ServiceParts, work: Iterable[asyncio.Task[None]], stop: asyncio.Event
) -> None:
    """Waits until a newer release has changed the database so that this release cannot use it. Then
    closes the store, cancels ``work`` and sets ``stop``."""
    while parts.readiness.outgrown is None:
        await parts.clock.sleep(_LOOK_SECONDS)
        try:
            await parts.store.check_schema()
        except StoreUnavailable:
            continue  # as the other looks say
        except SchemaError as error:
            logger.error("all work ends: the database cannot be used any more: %s", error)
            parts.readiness.outgrown = error
    await parts.store.close()
    for task in work:
        task.cancel()
    parts.hub.close()
    stop.set()


def build_service(
    parts: ServiceParts, role: Role = Role.BOTH, stop: asyncio.Event | None = None
) -> Starlette:
    """Returns the ASGI application of a process, which also runs the background tasks of ``role``.
    ``stop`` is set when the process can no longer work."""
    return _Application(Surface(parts), lambda _: in_background(parts, role, stop))


@contextlib.asynccontextmanager
async def in_background(
    parts: ServiceParts, role: Role, stop: asyncio.Event | None = None
) -> AsyncIterator[None]:
    """Runs a process's background tasks within the ``async with`` block, then stores the last
    request counts. ``stop`` is set when the process can no longer work."""
    # The books need the terms of partners as much as the surface does.
    looks: list[tuple[str, float, _Work]] = [
        ("clock", _LOOK_SECONDS, parts.timekeeper.look),
        ("partners", _LOOK_SECONDS, parts.partners.look),
    ]
    background: dict[str, _Work] = {}
    by_time: dict[str, _Work] = {}
    if Role.ANSWERS in role:
        background["hub"] = parts.hub.run
        # Shielded: a shutdown in the middle must neither lose nor repeat a batch.
        looks += [
            ("request counts", _LOOK_SECONDS, lambda: asyncio.shield(parts.requests.flush())),
            ("rate windows", _LOOK_SECONDS, lambda: asyncio.shield(parts.rates.flush())),
            ("scans", _LOOK_SECONDS, parts.scans.catch_up),
        ]
        await parts.scans.catch_up()
    if Role.WORKS in role:
        by_time |= {"worker": parts.worker.run, "bundles": parts.bundles.run}
        if parts.payments is not None:
            follow = parts.payments.follow
            by_time["payments"] = partial(
                _repeated, follow, "payments", FOLLOW_SECONDS, parts.clock
            )
    else:
        by_time["hints"] = parts.worker.pass_on
    for name, seconds, work in looks:
        background[name] = partial(_repeated, work, name, seconds, parts.clock)
    for name, work in by_time.items():
        background[name] = partial(parts.timekeeper.while_right, work)
    await parts.timekeeper.look()
    await parts.partners.look()
    tasks = [
        asyncio.create_task(_kept_running(part, name, parts.clock), name=name)
        for name, part in background.items()
    ]
    watching = _until_outgrown(parts, tuple(tasks), stop or asyncio.Event())
    tasks.append(asyncio.create_task(watching, name="schema"))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        last = {"request counts": parts.requests.flush, "rate windows": parts.rates.flush}
        for name, flush in last.items() if Role.ANSWERS in role else ():
            try:
                await flush()
            except StoreUnavailable as unavailable:
                logger.warning("%s: the store does not answer: %s", name, unavailable)


def assemble(
    clock: Clock,
    rng: random.Random,
    store: Store,
    chains: Iterable[Chain],
    tokens: Iterable[Token],
    venues: Iterable[CentralizedVenue],
    partners: Iterable[Partner],
    intermediaries: Iterable[str],
    keywords: Mapping[str, str] | None = None,
    scanner: TokenScanner | None = None,
    onchain: Onchain = Onchain(),  # noqa: B008 (frozen)
    intervene: Intervene = nobody_intervenes,
    dialect: Dialect = Dialect.CONTRACT,
    webhook_secrets: Mapping[str, str] | None = None,
    clock_tolerance: timedelta | None = None,
    front: Front = Front(),  # noqa: B008 (frozen)
    observers: Sequence[Observer] = (),
) -> ServiceParts:
    """Builds a service from its parts. ``partners`` are used until the store has partners.
    ``clock_tolerance`` is the allowed difference from the database's clock; None means a single
    process. ``front`` says where callers reach the service. ``observers`` receive requests and
    status changes."""
    for observer in observers:
        store.orders.listen(observer.moved)
    catalog = ServiceCatalog(chains, tokens, keywords)
    shared = Shared(store, catalog, Venues(venues, clock, onchain.venues), clock, rng)
    scans = TokenScans(catalog, store, scanner, clock)
    engine = QuoteEngine(shared, intermediaries, scans)
    dex = DexDesk(shared, onchain.sightings)
    desk = OrderDesk(shared, engine, dex)
    directory = Directory(partners)
    worker = Worker(shared, desk, directory, clock_tolerance)
    groups = GroupDesk(shared, engine, desk, worker)
    watch = BundleWatch(store, onchain.bundler, clock, intervene)
    watched = PartnerWatch(store, clock, directory)
    hub = Hub(store, desk, clock, watched)
    watched.listen(lambda: hub.end_refused(directory.accepts))
    paid = onchain.payments
    payments = None if paid is None else CallPayments(*paid, store, clock)
    requests = RequestCounter(store, clock)
    timekeeper = Timekeeper(store, clock, clock_tolerance)
    return ServiceParts(
        **asdict(shared),
        directory=directory,
        partners=watched,
        engine=engine,
        scans=scans,
        requests=requests,
        rates=RateLimiter(store, clock, requests),
        account=PartnerAccount(store, clock),
        orders=desk,
        dex=dex,
        groups=groups,
        funding=FundingDesk(shared, groups, onchain.bundler, watch, onchain.solana),
        bundles=watch,
        hub=hub,
        worker=worker,
        webhooks=Webhooks(webhook_secrets or {}, store, clock, worker, watch),
        timekeeper=timekeeper,
        readiness=Readiness(store, timekeeper, watched, worker, hub, onchain.sightings, clock),
        stream=stream_endpoint(hub, directory, clock, dialect),
        version=swapdesk.__version__,
        observers=tuple(observers),
        payments=payments,
        dialect=dialect,
        front=front,
    )
