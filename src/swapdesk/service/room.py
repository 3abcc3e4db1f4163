"""What most rooms of a service share: store, catalogue, venues, clock and randomness."""

from __future__ import annotations

import random

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import Venues


class Shared(Struct, frozen=True):
    """The collaborators that all rooms of a service share.

    ``rng`` draws ids, and chooses among equals.
    """

    store: Store
    catalog: ServiceCatalog
    venues: Venues
    clock: Clock
    rng: random.Random


class Room:
    """A part of the service that uses the shared collaborators. One per process."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._catalog = shared.catalog
        self._venues = shared.venues
        self._clock = shared.clock
        self._rng = shared.rng
