"""What one service is made of, for those who carry requests and those who answer them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.websockets import WebSocket

from swapdesk.clock import Clock
from swapdesk.service.access import Directory
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.dex.desk import DexDesk
from swapdesk.service.events import Hub
from swapdesk.service.multi.bundles import BundleWatch
from swapdesk.service.multi.funding import FundingDesk
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.pair_limits import PairLimitsDesk
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import RateLimiter, RequestCounter
from swapdesk.service.scans import TokenScans
from swapdesk.service.store.records import Store
from swapdesk.service.venues.registry import Venues


class Running(Protocol):
    """Something that works in the background until it is cancelled."""

    async def run(self) -> None: ...


@dataclass(frozen=True)
class ServiceParts:
    """The rooms of one service, wired together; ``stream`` answers ``WS /ws``."""

    clock: Clock
    rng: random.Random
    directory: Directory
    catalog: ServiceCatalog
    venues: Venues
    store: Store
    engine: QuoteEngine
    scans: TokenScans
    pair_limits: PairLimitsDesk
    requests: RequestCounter
    rates: RateLimiter
    orders: OrderDesk
    dex: DexDesk
    groups: GroupDesk
    funding: FundingDesk
    bundles: BundleWatch
    hub: Hub
    worker: Worker
    stream: Callable[[WebSocket], Awaitable[None]]
    version: str
