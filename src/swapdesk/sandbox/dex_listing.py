"""Which tokens can be traded on the embedded EVM chains: those with a pool, by one rule."""

from __future__ import annotations

from swapdesk.sandbox.asset_rows import ASSETS, FULL, AssetRow
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.token_rows import TokenRow

LAST_RANK = 120
"""Of the assets that have pools: what is traded less has nobody to hold its other side."""


def pooled(row: TokenRow) -> AssetRow | None:
    """The asset of a token that stands in a pool of its chain, or whose wrapped form does;
    None when it cannot be traded there."""
    if row.chain not in EVM_CHAINS or not row.enabled or row.unverified or row.asset is None:
        return None
    asset = ASSETS[row.asset]
    if asset.rank is None or asset.rank > LAST_RANK or asset.liquidity != FULL:
        return None
    return asset
