"""The tokens a wallet is asked about on one chain: its coin and those that are verified."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from swapdesk.wallet.promise import Asset

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog

MOST_TOKENS = 400
"""Of one chain, those that come first in the list."""


class ChainTokens:
    """By the short name of a chain, in either case. Without ``catalog`` there are none, and a
    chain is called by that name."""

    def __init__(self, catalog: Catalog | None) -> None:
        self._catalog = catalog

    def chain_name(self, chain: str) -> str:
        known = self._catalog.chain(chain) if self._catalog is not None else None
        return known.name if known is not None else chain

    async def called(self, chain: str, symbols: Sequence[str]) -> list[Asset]:
        """The tokens with one of these symbols and a price; of several the first."""
        found: dict[str, Asset] = {}
        for asset, price in await self.priced(chain):
            if asset.symbol in symbols and asset.contract is not None and price is not None:
                found.setdefault(asset.symbol, asset)
        return list(found.values())

    async def assets(self, chain: str) -> list[Asset]:
        """The coin first, then tokens."""
        return [one for one, _ in await self.priced(chain)]

    async def priced(self, chain: str) -> list[tuple[Asset, Decimal | None]]:
        """The coin first, then tokens, with their prices in USD."""
        catalog = self._catalog
        if catalog is None:
            return []
        found: list[tuple[Asset, Decimal | None]] = []
        rows = catalog.rows
        for at in rows.chains.equal(chain.lower()):
            if rows[at].unverified:
                continue
            token = catalog.token(rows[at].id)
            if token is not None:
                found.append((Asset(token.symbol, token.decimals, token.address), token.price))
            # Many tokens are decoded: keys go on meanwhile.
            await asyncio.sleep(0)
            if len(found) >= MOST_TOKENS:
                break
        found.sort(key=lambda one: one[0].contract is not None)
        return list({one[0].contract: one for one in reversed(found)}.values())[::-1]
