"""Builds on-chain venues of every kind that trades through pools, from chains and contracts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import httpx2

from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.clock import Clock
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.service.venues.onchain.documents import Permits
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.isthmus import Isthmus
from swapdesk.service.venues.onchain.pool_venue import Basalt, Fathom, Pools
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader
from swapdesk.wire.chains import SwapProvider

POOL_KINDS = ("basalt", "fathom", "isthmus")
"""Kinds of pool venues. ``basalt`` takes a transaction of the trader; ``fathom`` also takes
permits. ``isthmus`` has a solver that settles signed orders."""
SOLVED_KINDS = ("isthmus",)
"""The kinds of venues that send transactions themselves, for which they need a wallet."""


def open_readers(
    places: Iterable[ChainPlace],
    clock: Clock,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> dict[str, OnchainReader]:
    """Returns a reader for each EVM chain by short name, without asking the chains."""
    return {
        place.name: OnchainReader(place, EvmClient(place.rpc, transport=transport), clock)
        for place in places
    }


def pool_venue(
    kind: str,
    provider: SwapProvider,
    contract: str,
    pools: Pools,
    permits: Mapping[str, Permits],
    wallet: HotWallet | None = None,
) -> DexVenue:
    """Builds a venue of one of POOL_KINDS. ``contract`` is its router or settlement contract, on
    every chain. Raises ValueError for another kind, or if a needed ``wallet`` is missing."""
    match kind:
        case "basalt":
            return Basalt(provider, contract, pools, permits)
        case "fathom":
            return Fathom(provider, contract, pools, permits)
        case "isthmus" if wallet is not None:
            return Isthmus(provider, contract, pools, permits, wallet)
    raise ValueError(f"a venue of kind {kind} cannot be made of this")
