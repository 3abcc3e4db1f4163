"""A bundle in the journal leaves once, and a deposit is paid by one thing alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flows.orders import NOW, order
from swapdesk.flows.journal.batch_records import (
    Built,
    BundleDeposit,
    BundleItem,
    BundleState,
    FundingNeed,
    JournaledBundle,
    NewGroup,
    NewRow,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import PaidBefore

BATCH = "a" * 32
OWNER = "0x5e00000000000000000000000000000000000002"
ORDER = order().service_id
NEED = FundingNeed("USDC", 6, "0xdd", 243 * 10**6)


@pytest.fixture
def journal(journal: Journal) -> Journal:
    row = NewRow(1, 2, {"to": "@bob"})
    journal.batches.add(BATCH, "payout.csv", "digest", [NewGroup("base", "bundle", "{}", (row,))])
    return journal


def signed(journal: Journal) -> JournaledBundle:
    """A bundle of one order that is signed and has not left."""
    deposit = BundleDeposit(1, ORDER, "0x01", 243 * 10**6, NOW + timedelta(minutes=30))
    item = BundleItem("usdc", "USDC", 6, "0xdd", 0, (deposit,), 243 * 10**6, {})
    bundle = journal.bundles.add(BATCH, 1, Built("evm", "base", OWNER, "0x5e", (item,), (NEED,)))
    journal.bundles.signed(bundle, ["0x51"])
    return bundle


def state(journal: Journal) -> BundleState | None:
    newest = journal.bundles.newest(BATCH, 1)
    return None if newest is None else newest.state


def test_signatures_leave_once(journal: Journal) -> None:
    bundle = signed(journal)
    assert journal.bundles.sent(bundle, NOW)
    assert not journal.bundles.sent(bundle, NOW)
    journal.bundles.unknown(bundle, "NO_ANSWER")
    assert not journal.bundles.sent(bundle, NOW)
    assert state(journal) is BundleState.UNKNOWN
    # Only once it is known that the service does not have them.
    assert journal.bundles.again(bundle)
    assert journal.bundles.sent(bundle, NOW)
    journal.bundles.submitted(bundle)
    assert not journal.bundles.sent(bundle, NOW)
    assert not journal.bundles.again(bundle)
    assert state(journal) is BundleState.SUBMITTED


def test_a_bundle_on_its_way_is_not_built_again(journal: Journal) -> None:
    assert journal.bundles.sent(signed(journal), NOW)
    with pytest.raises(ValueError, match="on its way"):
        signed(journal)


def test_a_deposit_that_was_paid_by_itself_is_not_paid_by_a_bundle(journal: Journal) -> None:
    bundle = signed(journal)
    journal.calls.add_payment(ORDER, b"{}")
    with pytest.raises(PaidBefore):
        journal.bundles.sent(bundle, NOW)
    assert state(journal) is BundleState.SIGNED


def test_a_deposit_that_a_bundle_pays_is_not_paid_by_itself(journal: Journal) -> None:
    assert journal.bundles.sent(signed(journal), NOW)
    with pytest.raises(PaidBefore):
        journal.calls.add_payment(ORDER, b"{}")
