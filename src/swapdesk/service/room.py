"""What most parts of a service share: store, catalogue, venues, clock and random numbers."""

from __future__ import annotations

import random

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import Venues


class Shared(Struct, frozen=True):
    """The objects that all parts of a service share. ``rng`` draws ids and decides between equal
    alternatives."""

    store: Store
    catalog: ServiceCatalog
    venues: Venues
    clock: Clock
    rng: random.Random


class Room:
    """Base class of the parts of a service; a process has one instance of each."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._catalog = shared.catalog
        self._venues = shared.venues
        self._clock = shared.clock
        self._rng = shared.rng
