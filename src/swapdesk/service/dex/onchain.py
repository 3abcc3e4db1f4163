"""The chains and on-chain venues that a service is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from swapdesk.service.venues.onchain.adapter import DexVenue

if TYPE_CHECKING:  # the codec of calls is not part of every installation of the service
    from swapdesk.service.venues.onchain.reader import ChainReader


@dataclass(frozen=True)
class Onchain:
    """Venues, and the chains they are on by short name."""

    venues: Sequence[DexVenue] = ()
    readers: Mapping[str, ChainReader] = field(default_factory=dict)

    async def close(self) -> None:
        """End the connections to the chains."""
        for reader in self.readers.values():
            await reader.client.close()
