"""The smart accounts that bundles were to be paid from, by the journal alone.

An owner has one on each chain. Every group of that owner is paid out of it, one after another,
and what it holds goes back to the owner by a withdrawal.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from swapdesk.flows.journal.batch_records import BundleState, JournaledBundle
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


def blocking(
    journal: Journal, batch_id: str, group: int, account: str, chain: str, now: datetime
) -> JournaledBundle | None:
    """The bundle of another group that counts on what the smart account of the same account
    holds on this chain."""
    found = _relying(journal, account, chain, now)
    return next((one for one in found if (one.batch_id, one.group) != (batch_id, group)), None)


def relying(journal: Journal, account: str, chain: str, now: datetime) -> JournaledBundle | None:
    """A bundle that counts on what the smart account of an account holds on a chain."""
    return next(_relying(journal, account, chain, now), None)


def _relying(
    journal: Journal, account: str, chain: str, now: datetime
) -> Iterator[JournaledBundle]:
    for one in journal.bundles.open():
        own = one.built
        if own.kind != "evm" or (own.account, own.chain) != (account, chain):
            continue
        # What is built only may be overtaken: then it is built again before it is signed.
        if one.under_way or (one.state is BundleState.SIGNED and own.expires > now):
            yield one


def overtaken(journal: Journal, bundle: JournaledBundle) -> bool:
    """Whether something left the same smart account since this one was built, by another bundle
    or by a withdrawal: what it needs was computed from what the account had then."""
    own = bundle.built
    if journal.withdrawals.since(own.account, own.chain, bundle.created):
        return True
    return any(
        (one.built.account, one.built.chain) == (own.account, own.chain)
        for one in journal.bundles.sent_since(bundle.created)
        if (one.batch_id, one.group, one.number) != (bundle.batch_id, bundle.group, bundle.number)
    )


def withdrawn(journal: Journal, bundle: JournaledBundle) -> tuple[str | None, int]:
    """The withdrawal, since a bundle was built, of all that it was to pay; and the number of the
    first bundle of its group that was built after the last withdrawal."""
    own, log = bundle.built, journal.bundles
    tokens = {item.contract for item in own.items}
    for one in reversed(journal.withdrawals.counted(own.account, own.chain)):
        if tokens <= {each.contract for each in one.taken}:
            since = log.first_after(bundle.batch_id, bundle.group, one.moved)
            return (one.hash if one.moved > bundle.created else None), since
    return None, 0
