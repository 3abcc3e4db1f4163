"""The transactions of an order: those this desk sent and the deposit that the service named, kept
with the order, and told wherever it is told. Of no other transaction anything is said."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows import orders
from flows.orders import BTC, DEPOSIT, ETH, NOW, intent, order
from flows.support.cases import DONE, EXCHANGING, EXPIRED
from rows import each_row
from swapdesk.cli.order_reports import order_document, order_facts, order_row
from swapdesk.cli.output import members
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.orders.deposit_destination import ON_ITS_WAY, deposit_destination
from swapdesk.flows.orders.order_export import export_bytes, export_rows
from swapdesk.flows.orders.order_merge import linked_deposit
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.order_transactions import Fate, OrderTransaction, Sender
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import By, begin_payment, commit_signed, end_payment
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token

ID = order().service_id
HASH = "8f2c91d04b1e77ab" * 4
OTHER = "ab" * 32
tracked = partial(orders.tracked, intent(), deposit_tag="4711")


def token(of: TokenFacts, explorer: str) -> Token:
    chain = Chain(id="1", name=of.chain, short_name=of.chain, kind=of.kind, explorer_url=explorer)
    return Token(id=of.id, chain=of.chain, chain_data=chain, decimals=8, symbol=of.symbol, name="")


def deposit(hash_: str, fate: Fate, by: Sender = "wallet") -> OrderTransaction:
    return OrderTransaction("deposit", hash_, fate, by)


OWN = deposit(OTHER, "sent")
NAMED = deposit(HASH, "seen", "service")
PAID: dict[str, Any] = {
    "in_token": token(BTC, "https://mempool.space/tx/{txHash}"),
    "out_token": token(ETH, "https://etherscan.io/tx/{txHash}"),
    "hash_url": f"https://mempool.space/tx/{HASH}",
    **EXCHANGING,
}
ALIKE = {"out_token": token(ETH, "https://mempool.space/tx/{txHash}")}


@each_row(
    ("changes", "told"),
    [
        (ALIKE, True),
        ({"display_status": "SWAP_COMPLETED"}, True),
        ({"display_status": "SWAP_COMPLETED", **ALIKE}, False),
        ({"display_status": "SWAP_COMPLETED", "out_token": None}, False),
        ({"in_transaction_out_hash": HASH}, False),
        ({"refund_hash": HASH}, False),
        ({"hash_url": f"https://etherscan.io/tx/{OTHER}"}, False),
        ({"hash_url": f"https://mempool.space/tx/{HASH}?a=<b>"}, False),
        ({"hash_url": "https://mempool.space/tx/"}, False),
        ({"hash_url": None}, False),
        ({"in_token": None}, False),
        ({"in_token": token(BTC, "https://mempool.space/")}, False),
    ],
)
def test_what_may_be_another_transaction_is_not_called_the_deposit(
    changes: dict[str, Any], told: bool
) -> None:
    assert (linked_deposit(order(**{**PAID, **changes})) == HASH) is told


@pytest.mark.parametrize(
    ("by", "end", "fate"),
    [
        ("wallet", "sent", "sent"),
        ("wallet", "done", "confirmed"),
        ("wallet", "FAILED", "failed"),
        ("wallet", "ABANDONED", None),
        ("wallet", "REPLACED", None),
        ("faucet", "done", "sent"),
    ],
)
def test_a_payment_keeps_its_transaction(
    journal: Journal, by: By, end: str, fate: Fate | None
) -> None:
    payment = begin_payment(journal.ledger, ID, by, b"{}")
    assert journal.orders.transactions_of(ID) == ()
    commit_signed(journal.ledger, payment.id, HASH)
    if end == "done":
        # A higher fee has another hash, and that one counts.
        end_payment(journal.ledger, payment, OTHER)
    elif end != "sent":
        journal.ledger.move(payment.id, State.REFUSED, code=end, hash=OTHER)
    hash_ = HASH if end == "sent" else OTHER
    expected = () if fate is None else (deposit(hash_, fate, by),)
    assert journal.orders.transactions_of(ID) == expected


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
    (told,) = again.orders.transactions_of(ID)
    assert told == NAMED
    over = TrackedOrder(again.orders.get(ID).order, None, None, True, NOW, "journal")
    assert dict(order_facts(over, NOW, (told,)))["Deposit hash"] == HASH
    assert members(order_document(over, NOW, (told,)))["depositHash"] == HASH
    (row,) = export_rows([over], NOW, again.orders.transactions())
    assert (row["depositHash"], row["payoutHash"]) == (HASH, OTHER)


def test_the_transactions_of_a_swap_on_chains_are_told_each_by_its_name() -> None:
    reset, approve, failed, swap = (
        OrderTransaction(role, f"0x{digit * 64}", fate, "wallet")
        for role, digit, fate in (
            ("reset", "1", "confirmed"),
            ("approve", "2", "confirmed"),
            ("swap", "3", "failed"),
            ("swap", "4", "sent"),
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
    assert swap.hash in export_bytes([of], NOW, "csv", {ID: made}).decode()


def test_the_service_may_name_another_deposit_than_was_sent() -> None:
    facts = dict(order_facts(tracked(**EXCHANGING), NOW, (OWN, NAMED)))
    assert (facts["Deposit hash"], facts["Service names"]) == (OTHER, HASH)
    alike = deposit("0x" + "AB" * 32, "seen", "service")
    own = deposit("0x" + "ab" * 32, "confirmed")
    assert dict(order_facts(tracked(**EXCHANGING), NOW, (own, alike)))["Service names"] == ""


def test_what_this_desk_paid_is_not_asked_for_again() -> None:
    """The service has not seen it: all it says is that it waits."""
    of = tracked()
    assert dict(order_facts(of, NOW))["To"] == grouped_address(DEPOSIT)
    for fate in ("sent", "confirmed"):
        own = deposit(OTHER, fate)
        facts = dict(order_facts(of, NOW, (own,)))
        assert "Pay" not in facts
        assert "To" not in facts
        assert facts["Was paid to"] == grouped_address(DEPOSIT)
        assert facts["Paid with memo"] == "4711"
        assert facts["Do not pay again"] == ON_ITS_WAY
        where = "on its way to" if fate == "sent" else "at"
        assert facts["Money"] == f"{where} the deposit address, by transaction {OTHER}."
        assert ("sends the same transaction again" in facts["Next"]) is (fate == "sent")
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
    failed = deposit(OTHER, "failed")
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


BUNDLE = OrderTransaction("bundle", OTHER, "confirmed", "batch", "0xpaidhere")


@each_row(
    ("of", "made", "address"),
    [
        pytest.param(tracked(), (), None, id="nobody paid"),
        pytest.param(tracked(), (NAMED,), None, id="it waits all the same"),
        pytest.param(tracked(**EXCHANGING), (), DEPOSIT, id="paid by hand"),
        pytest.param(tracked("hidden", **EXCHANGING), (), None, id="hidden"),
        pytest.param(tracked("hidden", **EXCHANGING), (NAMED,), None, id="hidden, and named"),
        pytest.param(tracked("hidden", **DONE), (), DEPOSIT, id="hidden, and over"),
        pytest.param(tracked("of a batch"), (BUNDLE,), "0xpaidhere", id="by its batch"),
        pytest.param(tracked("hidden"), (OWN,), DEPOSIT, id="hidden, and paid here"),
        pytest.param(tracked(**EXPIRED), (), None, id="closed without a deposit"),
        pytest.param(tracked(is_dex=True, **EXCHANGING), (), None, id="a swap has no deposit"),
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
        # A memo belongs to the place that it was given for.
        assert place.memo == (None if made == (BUNDLE,) else "4711")
