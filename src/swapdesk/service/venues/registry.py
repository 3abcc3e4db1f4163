"""The venues of a service, found by code; each one behind its wrappers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swapdesk.clock import Clock
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.service.venues.wrappers import GuardedVenue
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token


class Venues:
    """Every venue of the service, in the order of their codes."""

    def __init__(
        self,
        adapters: Iterable[CentralizedVenue],
        clock: Clock,
        onchain: Iterable[DexVenue] = (),
    ) -> None:
        guarded = [GuardedVenue(adapter, clock) for adapter in adapters]
        self._by_code = {
            venue.provider.short_name: venue
            for venue in sorted(guarded, key=lambda venue: venue.provider.short_name)
        }
        self.onchain = sorted(onchain, key=lambda venue: venue.provider.short_name)
        """Those that trade on chains; everything else here is about centralized ones."""
        self._dex = {venue.provider.short_name: venue for venue in self.onchain}
        codes = {**self._by_code, **self._dex}
        if len(codes) != len(guarded) + len(self.onchain):
            raise ValueError("two venues share one code")

    def __iter__(self) -> Iterator[GuardedVenue]:
        return iter(self._by_code.values())

    def by_code(self, code: str) -> GuardedVenue | None:
        """The venue of a provider code (``shortName``), enabled or not."""
        return self._by_code.get(code)

    def dex(self, code: str) -> DexVenue | None:
        """The on-chain venue of a provider code."""
        return self._dex.get(code)

    def provider(self, code: str) -> SwapProvider | None:
        """The public record of any venue."""
        venue = self._by_code.get(code) or self._dex.get(code)
        return None if venue is None else venue.provider

    def providers(self) -> list[SwapProvider]:
        """The public records of all venues, disabled ones included."""
        found = [*(venue.provider for venue in self), *(venue.provider for venue in self.onchain)]
        return sorted(found, key=lambda provider: provider.short_name)

    def trading(self, token_in: Token, token_out: Token) -> list[GuardedVenue]:
        """The enabled venues that trade the pair."""
        return [venue for venue in self if venue.supports(token_in, token_out)]
