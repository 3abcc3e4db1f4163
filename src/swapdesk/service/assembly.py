"""The one place that wires the rooms of a service together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import swapdesk
from swapdesk.clock import Clock
from swapdesk.service.access import Directory, Partner
from swapdesk.service.catalog import Catalog
from swapdesk.service.dex.desk import DexDesk
from swapdesk.service.dex.onchain import Onchain
from swapdesk.service.events.hub import Hub
from swapdesk.service.events.websocket import stream_endpoint
from swapdesk.service.multi.bundle_watch import BundleWatch, Intervene, nobody_intervenes
from swapdesk.service.multi.bundles import Bundles
from swapdesk.service.multi.funding import FundingDesk
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.multi.payable import PayableOrders
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.pair_limits import PairLimitsDesk
from swapdesk.service.parts import ServiceParts
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import RateLimiter
from swapdesk.service.request_counts import RequestCounter
from swapdesk.service.scans import Scanner, TokenScans
from swapdesk.service.store.protocol import Store
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token


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
    scanner: Scanner | None = None,
    onchain: Onchain | None = None,
    intervene: Intervene = nobody_intervenes,
) -> ServiceParts:
    """A service over these collaborators.

    ``rng`` draws the ids of quotes, orders and requests; ``intermediaries`` are the ids of the
    tokens a private route may hop over; ``keywords`` are extra search terms by token id;
    without a ``scanner`` no token is ever scanned, without ``onchain`` there are no DEX routes
    and no bundles; ``intervene`` is what the operator does with the bundles of groups.
    """
    catalog = Catalog(chains, tokens, keywords)
    chains_of = onchain or Onchain()
    registry = Venues(venues, clock, chains_of.venues)
    scans = TokenScans(catalog, store, scanner, clock)
    engine = QuoteEngine(catalog, registry, store, clock, rng, intermediaries, scans)
    dex = DexDesk(store, catalog, registry, chains_of.sightings, clock)
    desk = OrderDesk(store, catalog, registry, engine, clock, rng, dex)
    groups = GroupDesk(store, catalog, registry, engine, desk, clock, rng)
    payable = PayableOrders(store, catalog, clock)
    bundles = Bundles(store, payable, chains_of.bundler, clock)
    watch = BundleWatch(store, chains_of.bundler, clock, intervene)
    directory = Directory(partners)
    hub = Hub(store, desk, clock)
    requests = RequestCounter(store, clock)
    return ServiceParts(
        clock=clock,
        rng=rng,
        directory=directory,
        catalog=catalog,
        venues=registry,
        store=store,
        engine=engine,
        scans=scans,
        pair_limits=PairLimitsDesk(catalog, registry, engine, scans),
        requests=requests,
        rates=RateLimiter(store, clock, requests),
        orders=desk,
        dex=dex,
        groups=groups,
        funding=FundingDesk(groups, payable, bundles, watch, catalog, chains_of.solana),
        bundles=watch,
        hub=hub,
        worker=Worker(store, catalog, registry, clock, desk),
        stream=stream_endpoint(hub, directory, clock),
        version=swapdesk.__version__,
    )
