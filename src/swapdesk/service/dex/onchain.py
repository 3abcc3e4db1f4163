"""The chains and on-chain venues that a service is given."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from swapdesk.clock import Clock
from swapdesk.service.bundling import Bundler
from swapdesk.service.dex.desk import Sightings
from swapdesk.service.multi.funding import BlockhashNode
from swapdesk.service.venues.onchain.adapter import CHAIN_ERRORS, DexVenue

if TYPE_CHECKING:  # the codec of calls is not part of every installation of the service
    from swapdesk.service.venues.onchain.reader import OnchainReader


WARM_SECONDS = 3.0
"""After the start, when what is shown first has been asked for."""


@dataclass(frozen=True)
class Onchain:
    """Venues, and the chains they are on by short name; ``readers`` are those of EVM chains,
    ``solana`` those of the other kind. ``bundler`` makes the bundles of groups."""

    venues: Sequence[DexVenue] = ()
    readers: Mapping[str, OnchainReader] = field(default_factory=dict)
    sightings: Mapping[str, Sightings] = field(default_factory=dict)
    bundler: Bundler | None = None
    solana: Mapping[str, BlockhashNode] = field(default_factory=dict)

    async def warm(self, clock: Clock) -> None:
        """Ask a chain once, so that nobody's first quote waits for what is loaded on use."""
        await clock.sleep(WARM_SECONDS)
        for chain in self.sightings.values():
            with contextlib.suppress(*CHAIN_ERRORS):
                await chain.warm()

    async def close(self) -> None:
        """End the connections to the chains."""
        for chain in self.sightings.values():
            await chain.close()
