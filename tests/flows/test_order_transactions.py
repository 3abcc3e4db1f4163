"""The transactions of an order: those this desk sent and the deposit that the service named, kept
with the order, and told wherever it is told. Of no other transaction anything is said."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows import old_journals, orders
from flows.orders import DEPOSIT, NOW, intent, known_order, order
from flows.test_deposit_hash import HASH, OTHER, PAID
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.order_reports import order_document, order_facts, order_row
from swapdesk.cli.output import members
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import PAYMENT, WALLET_PAYMENT
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Sender, TransactionRole
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.orders.deposit_destination import ON_ITS_WAY, deposit_destination
from swapdesk.flows.orders.order_export import ExportForm, export_bytes, export_rows
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.tracked_order import TrackedOrder

ID = order().service_id
OWN = OrderTransaction(TransactionRole.DEPOSIT, OTHER, Fate.SENT, Sender.WALLET)
ARRIVED: dict[str, Any] = {"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3}


tracked = partial(orders.tracked, intent())


def test_what_an_older_desk_journaled_is_found(path: Path) -> None:
    journal = Journal.open(old_journals.written(path), ManualClock(NOW))
    found = journal.transactions.all()
    approve, swap = found.pop("oldDexSwap12345")
    assert approve == OrderTransaction(
        TransactionRole.APPROVE, "0x" + "a1" * 32, Fate.CONFIRMED, Sender.WALLET
    )
    assert (swap.role, swap.hash) == (TransactionRole.SWAP, "0x" + "b2" * 32)
    for number in (1, 2):
        (bundle,) = found.pop(f"oldBatchRow000{number}")
        assert (bundle.role, bundle.fate, bundle.by) == (
            TransactionRole.BUNDLE, Fate.CONFIRMED, Sender.BATCH,
        )  # fmt: skip
        assert bundle.address == derive_address("evm", bytes([number]) * 32)
    (part,) = found.pop("oldBatchRow0003")
    assert (part.role, part.fate, part.hash) == (TransactionRole.DEPOSIT, Fate.SENT, "5" * 88)
    assert found == {}


def test_one_order_is_told_as_all_of_them_are(path: Path) -> None:
    journal = Journal.open(old_journals.written(path), ManualClock(NOW))
    every = journal.transactions.all()
    assert every
    for service_id in journal.orders.index.ids():
        assert journal.transactions.of(service_id) == every.get(service_id, ())


@pytest.mark.parametrize(
    ("place", "end", "fate"),
    [
        (WALLET_PAYMENT, "sent", Fate.SENT),
        (WALLET_PAYMENT, "done", Fate.CONFIRMED),
        (WALLET_PAYMENT, "FAILED", Fate.FAILED),
        (WALLET_PAYMENT, "ABANDONED", None),
        (WALLET_PAYMENT, "REPLACED", None),
        (PAYMENT, "done", Fate.SENT),
    ],
)
def test_a_payment_keeps_its_transaction(
    journal: Journal, place: str, end: str, fate: Fate | None
) -> None:
    call = journal.calls.add_payment(ID, b"{}", path=place)
    assert journal.transactions.of(ID) == ()
    journal.calls.mark_signed(call, HASH)
    if end == "done":
        # A higher fee has another hash, and that one counts.
        journal.calls.mark_done(call, status=200, request_id=None, hash_=OTHER)
    elif end != "sent":
        journal.calls.mark_refused(call, code=end, hash_=OTHER)
    by = Sender.WALLET if place == WALLET_PAYMENT else Sender.FAUCET
    hash_ = HASH if end == "sent" else OTHER
    expected = () if fate is None else (OrderTransaction(TransactionRole.DEPOSIT, hash_, fate, by),)
    assert journal.transactions.of(ID) == expected


def seen(journal: Journal, **changes: Any) -> None:
    journal.orders.record([(order(**{**PAID, **changes}), "stream", False)])


def test_the_deposit_that_the_service_named_outlives_its_link(journal: Journal, path: Path) -> None:
    paid_out = {
        "hash_url": f"https://etherscan.io/tx/{OTHER}",
        "in_transaction_out_hash": OTHER,
        "display_status": "SWAP_COMPLETED",
    }
    seen(journal)
    seen(journal, **paid_out)
    journal.close()
    again = Journal.open(path, ManualClock(NOW))
    (told,) = again.transactions.of(ID)
    assert told == OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.SEEN, Sender.SERVICE)
    entry = known_order(again, ID)
    over = TrackedOrder(entry.order, None, None, True, NOW, "journal")
    assert dict(order_facts(over, NOW, (told,)))["Deposit hash"] == HASH
    assert members(order_document(over, NOW, (told,)))["depositHash"] == HASH
    (row,) = export_rows([over], NOW, again.transactions.all())
    assert (row["depositHash"], row["payoutHash"]) == (HASH, OTHER)


def test_an_update_without_another_link_asks_nothing_more(journal: Journal) -> None:
    seen(journal)
    said: list[str] = []
    journal._file._connection.set_trace_callback(said.append)
    for minute in range(3):
        seen(journal, modified=NOW + timedelta(minutes=minute), eta=minute)
    assert said
    assert not [one for one in said if "told_deposit" in one]


def test_the_transactions_of_a_swap_on_chains_are_told_each_by_its_name() -> None:
    reset, approve, failed, swap = (
        OrderTransaction(role, f"0x{digit * 64}", fate, Sender.WALLET)
        for role, digit, fate in (
            (TransactionRole.RESET, "1", Fate.CONFIRMED),
            (TransactionRole.APPROVE, "2", Fate.CONFIRMED),
            (TransactionRole.SWAP, "3", Fate.FAILED),
            (TransactionRole.SWAP, "4", Fate.SENT),
        )
    )
    made = (reset, approve, failed, swap)
    of = tracked(is_dex=True, deposit_address=None)
    facts = order_facts(of, NOW, made)
    assert ("Reset hash", reset.hash) in facts
    assert ("Approval hash", approve.hash) in facts
    assert ("Swap hash", f"{failed.hash}, failed and moved nothing but its gas") in facts
    assert ("Swap hash", f"{swap.hash}, sent") in facts
    assert ("Deposit hash", "") in facts
    document = members(order_document(of, NOW, made))
    assert document["transactions"][2] == {
        "for": "swap", "hash": failed.hash, "state": "failed", "by": "wallet",
    }  # fmt: skip
    assert (document["depositHash"], document["paidTo"]) == (None, None)
    (row,) = export_rows([of], NOW, {ID: made})
    assert (row["approveHash"], row["swapHash"]) == (f"{reset.hash} {approve.hash}", swap.hash)
    assert swap.hash in export_bytes([of], NOW, ExportForm.CSV, {ID: made}).decode()


def test_the_service_may_name_another_deposit_than_was_sent() -> None:
    named = OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.SEEN, Sender.SERVICE)
    facts = dict(order_facts(tracked(**ARRIVED), NOW, (OWN, named)))
    assert (facts["Deposit hash"], facts["Service names"]) == (OTHER, HASH)
    alike = OrderTransaction(TransactionRole.DEPOSIT, "0x" + "AB" * 32, Fate.SEEN, Sender.SERVICE)
    own = OrderTransaction(TransactionRole.DEPOSIT, "0x" + "ab" * 32, Fate.CONFIRMED, Sender.WALLET)
    assert dict(order_facts(tracked(**ARRIVED), NOW, (own, alike)))["Service names"] == ""


def test_what_this_desk_paid_is_not_asked_for_again() -> None:
    """The service has not seen it: all it says is that it waits."""
    of = tracked(deposit_tag="4711")
    assert dict(order_facts(of, NOW))["To"] == grouped_address(DEPOSIT)
    for fate in (Fate.SENT, Fate.CONFIRMED):
        own = OrderTransaction(TransactionRole.DEPOSIT, OTHER, fate, Sender.WALLET)
        facts = dict(order_facts(of, NOW, (own,)))
        assert "Pay" not in facts
        assert "To" not in facts
        assert facts["Was paid to"] == grouped_address(DEPOSIT)
        assert facts["Paid with memo"] == "4711"
        assert facts["Do not pay again"] == ON_ITS_WAY
        where = "on its way to" if fate is Fate.SENT else "at"
        assert facts["Money"] == f"{where} the deposit address, by transaction {OTHER}."
        assert ("sends the same transaction again" in facts["Next"]) is (fate is Fate.SENT)
        document = members(order_document(of, NOW, (own,)))
        assert document["deposit"] is None
        assert document["paidTo"] == {
            "address": DEPOSIT,
            "memo": "4711",
            "chain": "bitcoin",
            "arrived": False,
            "warning": ON_ITS_WAY,
        }
        said = [json.dumps(document, default=str), *order_row(of, NOW, (own,))]
        for one in (*said, order_sentence(of, NOW, (own,))):
            assert "send the deposit within" not in one
    failed = OrderTransaction(TransactionRole.DEPOSIT, OTHER, Fate.FAILED, Sender.WALLET)
    assert "Pay" in dict(order_facts(of, NOW, (failed,)))
    assert members(order_document(of, NOW, (failed,)))["paidTo"] is None


def test_after_the_deadline_the_money_is_where_this_desk_sent_it() -> None:
    late = NOW + timedelta(minutes=31)
    of = tracked()
    assert dict(order_facts(of, late))["Money"] == "in your wallet, if you sent nothing."
    facts = dict(order_facts(of, late, (OWN,)))
    assert facts["Money"] == f"on its way to the deposit address, by transaction {OTHER}."
    assert facts["State"].startswith("The deadline passed. Do not send to this order any more")
    hidden = dict(order_facts(tracked("Do not pay it."), NOW, (OWN,)))
    assert hidden["Do not pay"] == "Do not pay it."


BUNDLE = OrderTransaction(TransactionRole.BUNDLE, OTHER, Fate.CONFIRMED, Sender.BATCH, "0xpaidhere")
NAMED = OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.SEEN, Sender.SERVICE)
OVER = {"display_status": "SWAP_COMPLETED", "in_status": 5}


@pytest.mark.parametrize(
    ("of", "made", "address"),
    [
        pytest.param(tracked(), (), None, id="nobody paid"),
        pytest.param(tracked(), (NAMED,), None, id="it waits all the same"),
        pytest.param(tracked(**ARRIVED), (), DEPOSIT, id="paid by hand"),
        pytest.param(tracked("hidden", **ARRIVED), (), None, id="hidden"),
        pytest.param(tracked("hidden", **ARRIVED), (NAMED,), None, id="hidden, and named"),
        pytest.param(tracked("hidden", **OVER), (), DEPOSIT, id="hidden, and over"),
        pytest.param(tracked("of a batch"), (BUNDLE,), "0xpaidhere", id="by its batch"),
        pytest.param(tracked("hidden"), (OWN,), DEPOSIT, id="hidden, and paid here"),
        pytest.param(
            tracked(display_status="EXPIRED", in_status=9), (), None, id="closed without a deposit"
        ),
        pytest.param(tracked(is_dex=True, **ARRIVED), (), None, id="a swap has no deposit"),
    ],
)
def test_where_the_deposit_went(
    of: TrackedOrder, made: tuple[OrderTransaction, ...], address: str | None
) -> None:
    place = deposit_destination(of, made)
    assert (place.address if place is not None else None) == address
    document = members(order_document(of, NOW, made))
    assert (document["paidTo"] is None) is (address is None)
    if address is not None:
        assert "do not send to it again" in document["paidTo"]["warning"]
        assert document["deposit"] is None


def test_a_memo_is_told_of_the_place_it_belongs_to() -> None:
    place = deposit_destination(tracked("of a batch", deposit_tag="4711"), (BUNDLE,))
    assert place.memo is None


def test_the_address_of_the_creation_is_told_when_the_service_leaves_it_out(
    journal: Journal,
) -> None:
    journal.orders.record([(order(deposit_tag="4711"), "create", False)])
    later = order(deposit_address=None, deposit_tag=None, **ARRIVED)
    journal.orders.record([(later, "stream", False)])
    entry = known_order(journal, ID)
    place = deposit_destination(TrackedOrder(entry.order, None, None, False, NOW, "journal"), ())
    assert (place.address, place.memo, place.arrived) == (DEPOSIT, "4711", True)
