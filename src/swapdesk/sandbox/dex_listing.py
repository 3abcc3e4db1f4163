"""Which tokens can be traded on the embedded chains, by one rule for all of them."""

from __future__ import annotations

from swapdesk.sandbox.asset_rows import ASSETS, FULL, AssetRow
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.token_rows import TokenRow

LAST_RANK = 120
"""Of the assets that are held on chains: what is traded less has nobody for its other side."""


def swapped_on_chain(row: TokenRow) -> AssetRow | None:
    """The asset of a token that a pool or a maker of its chain trades; None when nobody does."""
    return pooled(row) or quoted_by_maker(row)


def pooled(row: TokenRow) -> AssetRow | None:
    """The asset of a token that stands in a pool of its EVM chain, or whose wrapped form does;
    None when it cannot be traded there."""
    return _held(row) if row.chain in EVM_CHAINS else None


def quoted_by_maker(row: TokenRow) -> AssetRow | None:
    """The asset of a token that the maker on Solana holds; None when it does not. Wrapped and
    bridged copies, which exchanges do not take either, are none of its business."""
    return _held(row) if row.chain == CHAIN and row.traded else None


def _held(row: TokenRow) -> AssetRow | None:
    if not row.enabled or row.unverified or row.asset is None:
        return None
    asset = ASSETS[row.asset]
    if asset.rank is None or asset.rank > LAST_RANK or asset.liquidity != FULL:
        return None
    return asset
