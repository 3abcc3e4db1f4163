"""Who counts as paid: recipients of this desk's own orders that completed, and nobody else."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from flows import old_journals
from flows.orders import NOW, RECIPIENT, created_here, order
from service.world import ETH
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import DepositRelease, ReleaseVerdict, contradiction
from swapdesk.flows.journal.batch_records import NewGroup, NewRow, RowEnd, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import (
    check_recipient,
    last_paid,
    own_deposits,
    paid_addresses,
)

DONE = {"display_status": "SWAP_COMPLETED", "status": 4, "modified": NOW + timedelta(minutes=9)}
THEIRS = derive_address("evm", b"t" * 32)
DIFFERS = ReleaseVerdict(DepositRelease.DIFFERS, "the recipient differs")


def test_a_completed_order_of_this_desk_counts(journal: Journal) -> None:
    created_here(journal, order(**DONE))
    assert paid_addresses(journal) == {RECIPIENT: 1}
    assert list(last_paid(journal)) == [RECIPIENT]


@pytest.mark.parametrize(
    ("receiver", "state", "values", "times"),
    [
        (RECIPIENT, RowState.CREATED, DONE, 3),
        (RECIPIENT.lower(), RowState.CREATED, DONE, 3),
        (RECIPIENT, RowState.CREATED, {}, 1),
        (RECIPIENT, RowState.DIFFERS, DONE, 1),
        # The service says later that it paid somebody else, who was never confirmed.
        (THEIRS, RowState.CREATED, DONE, 1),
    ],
)
def test_completed_orders_of_a_batch_count_as_those_made_one_by_one(
    journal: Journal, receiver: str, state: RowState, values: dict[str, object], times: int
) -> None:
    created_here(journal, order(service_id="o" * 22, **DONE))
    rows = tuple(NewRow(at, at + 1, {"to": "@bob"}) for at in (1, 2))
    body = json.dumps({"orders": [{"addressTo": RECIPIENT}, {"addressTo": RECIPIENT}]})
    journal.batches.add("b" * 32, "a.csv", "digest", [NewGroup("base", "bundle", body, rows)])
    assert journal.batches.mark_sent("b" * 32, 1, NOW)
    names = [f"{at:022d}" for at in range(2)]
    ends = [RowEnd(at, state, name) for at, name in enumerate(names)]
    journal.batches.mark_created("b" * 32, 1, "g" * 22, ends)
    for name in names:
        one = order(service_id=name, receiver_address=receiver, multi_id="g" * 22, **values)
        journal.orders.record([(one, "list", True)])
    assert paid_addresses(journal) == {RECIPIENT: times}
    assert list(last_paid(journal)) == [RECIPIENT]


def test_an_order_in_the_list_of_the_service_makes_nobody_known(journal: Journal) -> None:
    """Whoever can make the list show an order could else have an address taken for a payee."""
    journal.orders.record([(order(receiver_address=THEIRS, **DONE), "list", True)])
    assert paid_addresses(journal) == {}
    assert last_paid(journal) == {}


@pytest.mark.parametrize("verdict", [DIFFERS, contradiction("it names another recipient")])
def test_an_order_that_was_not_as_confirmed_makes_nobody_known(
    journal: Journal, verdict: ReleaseVerdict
) -> None:
    created_here(journal, order(receiver_address=THEIRS, **DONE), verdict=verdict)
    assert paid_addresses(journal) == {}
    assert last_paid(journal) == {}


@pytest.mark.parametrize("standing", DepositRelease)
def test_only_an_address_that_was_released_is_a_deposit_of_yours(
    journal: Journal, standing: DepositRelease, tmp_path: Path
) -> None:
    """An answer that names the trader's own wallet as where to pay bars nobody from it."""
    verdict = ReleaseVerdict(standing, None if standing is DepositRelease.RELEASED else "hidden")
    named = order(deposit_address=RECIPIENT)
    if standing is DepositRelease.FOREIGN:
        journal.orders.record([(named, "list", False)])
    else:
        created_here(journal, named, verdict=verdict)
    released = own_deposits(journal)
    assert released == (
        {("bitcoin", RECIPIENT)} if standing is DepositRelease.RELEASED else frozenset()
    )
    # What was to be paid on another chain is no deposit on this one.
    book = AddressBook.load(tmp_path / "book.toml")
    checked = check_recipient(RECIPIENT, ETH, book=book, paid={}, own_deposits=released)
    assert checked.ok
    alike = [("evm", address) for _, address in released]
    barred = check_recipient(RECIPIENT, ETH, book=book, paid={}, own_deposits=alike)
    assert barred.ok is (standing is not DepositRelease.RELEASED)


@pytest.mark.parametrize("dump", [old_journals.FIRST, old_journals.SECOND])
def test_what_a_bundle_pays_is_a_deposit_of_yours(tmp_path: Path, dump: Path) -> None:
    """Nobody releases an order of a batch: its bundle is built once it was found as asked for."""
    journal = Journal.open(old_journals.written(tmp_path / "journal.db", dump), ManualClock(NOW))
    single = {("bitcoin", "bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju")}
    kept = {
        ("evm", "0xE2f082B0499811C075Bfac0E6310C40776416Edb"),
        ("sol", "0x8802146860Ffa1782C99aB492329821cf6C6d8C7"),
    }
    first = ("evm", "0x7Bfc7c7F4DE49591c65B6820EF1535191051AF3A")
    assert own_deposits(journal) == {*single, *kept, first}
    journal.batches.mark_differs("ab" * 16, 1, "the recipient of the order is another one")
    assert own_deposits(journal) == {*single, *kept}
    book = AddressBook.load(tmp_path / "book.toml")
    for (_, address), barred in ((first, False), (min(kept), True)):
        own = own_deposits(journal)
        assert check_recipient(address, ETH, book=book, paid={}, own_deposits=own).ok is not barred
    journal.close()
