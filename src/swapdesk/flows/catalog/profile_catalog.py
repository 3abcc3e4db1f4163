"""The catalogue of a profile, opened from disk before anything else of its desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.paths import private_directory

if TYPE_CHECKING:
    from swapdesk.settings import Settings


def open_catalog(settings: Settings, clock: Clock) -> Catalog:
    """Opened, not yet read. In the sandbox its clock, which is the desk's, follows the service's
    ``Date``; live it is the machine's, and the skew is only shown. Raises UnsafePlace."""
    private_directory(settings.places.root)
    return Catalog.open(settings.places.catalog, clock if settings.live else ServerClock(clock))
