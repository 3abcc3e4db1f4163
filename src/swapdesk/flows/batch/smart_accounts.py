"""The smart accounts that bundles of this journal were to be paid from, and of what they may hold
something."""

from __future__ import annotations

from swapdesk.flows.journal.journal import Journal
from swapdesk.wallet.promise import Asset

Owned = tuple[str, str]
"""The address of the owner, and the short name of the chain."""


def smart_accounts(journal: Journal) -> dict[Owned, tuple[Asset, ...]]:
    """By owner and chain, each with the tokens of its bundles. Raises JournalUnavailable."""
    return {owned: bundle_assets(journal, *owned) for owned in journal.bundles.payers()}


def bundle_assets(journal: Journal, account: str, chain: str) -> tuple[Asset, ...]:
    """What bundles out of one smart account were to be paid with. Raises JournalUnavailable."""
    found: dict[str | None, Asset] = {}
    for bundle in journal.bundles.paid_from(account, chain):
        for item in bundle.built.items:
            found.setdefault(item.contract, Asset(item.symbol, item.decimals, item.contract))
    return tuple(found.values())
