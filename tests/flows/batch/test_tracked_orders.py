"""Orders of this desk's batches among all that it follows: told apart from those of others."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from flows.following import announced, sighted, tracker_of
from flows.orders import NEED, NOW, built, created_batch, group_of, order
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.bundles import (
    Bundle,
    accept_bundle,
    add_bundle,
    begin_transaction,
    begin_withdrawal,
    move_bundle,
    sign_bundle,
)
from swapdesk.flows.batch.progress import BatchProgress, Payouts, batch_progress
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.payments import Sum, commit_signed, end_transaction
from swapdesk.wire.orders import DisplayStatus

GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"
ORDER = order(multi_id=GROUP)
SENDER = OWNER = "0x5e"
BATCH = f"{1:032x}"


def created(journal: Journal) -> None:
    """The group, as a batch writes it down."""
    created_batch(journal, BATCH, GROUP, ORDER.service_id)


def test_an_order_of_a_batch_is_paid_by_it_and_hides_its_address(journal: Journal) -> None:
    """Also where it was seen before its group was written down, and after a new start; one of a
    group of somebody else stays foreign."""
    known = tracker_of(journal)
    assert not sighted(known, ORDER).in_batch
    created(journal)
    seen = sighted(known, ORDER)
    assert seen.in_batch
    assert seen.standing is DepositRelease.FOREIGN
    assert seen.withheld is not None
    summary = order_status(seen, NOW + timedelta(minutes=1))
    assert summary.word == "With its batch"
    assert (summary.actor, summary.act) == ("you", "pay the batch; b shows it")
    assert not summary.payable
    for one in (order(multi_id="somebody4sTvWzYcDfGhJz"), order()):
        seen = sighted(tracker_of(journal), one)
        assert not seen.in_batch
        assert order_status(seen, NOW + timedelta(minutes=1)).word == "Not of this desk"
    journal.orders.record([(ORDER, "stream", False)])
    assert tracker_of(journal).get(ORDER.service_id).in_batch


def test_a_contradiction_is_said_of_an_order_of_a_batch(journal: Journal) -> None:
    created(journal)
    journal.orders.record([(ORDER, "stream", False)])
    moved = ORDER.model_copy(update={"deposit_address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"})
    seen = sighted(tracker_of(journal), moved)
    assert seen.standing is DepositRelease.CONTRADICTS
    assert seen.order.display_status == DisplayStatus.WAITING_FOR_DEPOSIT
    assert order_status(seen, NOW + timedelta(minutes=1)).word == "Do not pay"


class Followed:
    """The tracker's order of a group whose bundle is written down step by step."""

    def __init__(self, journal: Journal) -> None:
        created(journal)
        journal.orders.record([(ORDER, "stream", False)])
        self.journal = journal
        self.known = tracker_of(journal)

    def built(self, service_id: str = ORDER.service_id) -> Bundle:
        return add_bundle(
            self.journal.ledger, group_of(self.journal, BATCH).act.id, built(service_id)
        )

    def sent(self, service_id: str = ORDER.service_id) -> Bundle:
        bundle = self.built(service_id)
        self.funded()
        assert sign_bundle(self.journal.ledger, bundle, ["0x51"])
        assert move_bundle(self.journal.ledger, bundle, State.SENT, server_at=NOW)
        return bundle

    def funded(self) -> None:
        intent, ledger = f"{GROUP} fund 1 0xdd", self.journal.ledger
        act = begin_transaction(ledger, "fund", group_of(self.journal, BATCH).act.id, NEED, intent)
        commit_signed(ledger, act.id, "0xf0")
        end_transaction(ledger, act, State.DONE, hash_="0xf0")

    def summary(self, minutes: int = 1) -> OrderStatus:
        """What is said once the desk has looked at its batches."""
        self.known.look_at_payments()
        tracked = self.known.get(ORDER.service_id)
        return order_status(tracked, NOW + timedelta(minutes=minutes))


def test_an_unpaid_order_of_a_batch_is_due_before_its_deadline(journal: Journal) -> None:
    said = Followed(journal).summary()
    assert said.money == "in your wallet; no deposit was paid."
    assert (said.place, said.actor) == ("in your wallet.", "you")
    assert said.by.startswith("before ")


def test_the_money_of_a_bundle_that_failed_is_in_the_smart_account_of_its_orders(
    journal: Journal, clock: ManualClock
) -> None:
    followed = Followed(journal)
    bundle = followed.sent()
    accept_bundle(journal.ledger, bundle)
    moving = followed.summary()
    assert (moving.word, moving.actor) == ("Batch under way", "the service")
    assert moving.money == "on its way from your smart account to 1 deposit address."
    move_bundle(journal.ledger, bundle, State.REFUSED, code="FAILED", reason="given up")
    for minutes in (1, 60):
        said = followed.summary(minutes)
        assert said.money == f"in your smart account {SENDER}; this bundle paid nobody."
        assert (said.place, said.actor) == ("in your smart account.", "you")
        assert said.act == (
            "pay the batch; b shows it,"
            " or take the money back: swapdesk wallet withdraw --chain base, or w and d in an open"
            " desk"
        )
        assert said.brief == "you: pay the batch; b shows it"
        assert said.cause.startswith("The bundle failed. The service says: given up. ")
    # Closed by the service it is there still, and a new start of the desk knows it.
    closed = ORDER.model_copy(update={"display_status": "EXPIRED", "in_status": 9})
    sighted(followed.known, closed, "read")
    followed.known._committed([ORDER.service_id])
    journal.orders.record([(closed, "read", True)])
    again = tracker_of(journal, clock)
    for known in (followed.known, again):
        tracked = known.get(ORDER.service_id)
        said = order_status(tracked, NOW + timedelta(minutes=60))
        assert (said.word, said.closed, said.actor) == ("Deadline over", True, "you")
        assert said.money == f"in your smart account {SENDER}; this bundle paid nobody."
        assert said.cause.startswith("The bundle failed. The service says: given up. ")
    clock.advance(60)
    taken = (Sum("USDC", 6, "0xdd", 243 * 10**6),)
    act = begin_withdrawal(journal.ledger, "w", OWNER, SENDER, "base", taken)
    commit_signed(journal.ledger, act.id, "0xba")
    end_transaction(journal.ledger, act, State.DONE, hash_="0xba")
    followed.known.look_at_payments()
    tracked = followed.known.get(ORDER.service_id)
    assert tracked.batch_payment.money.startswith("back in your wallet, by transaction 0xba")
    said = followed.summary(60)
    assert (said.word, said.place) == ("Expired", "in your wallet.")
    assert said.cause.startswith("The bundle failed. The service says: given up. No deposit came")


def test_nobody_is_asked_to_pay_what_its_bundle_paid(journal: Journal) -> None:
    """Between the bundle and the word of the service, also once the deadline has passed."""
    followed = Followed(journal)
    bundle = followed.sent()
    move_bundle(journal.ledger, bundle, State.DONE, hash="0xbdf9")
    for minutes in (1, 60):
        said = followed.summary(minutes)
        assert (said.word, said.actor) == ("Paid by batch", "the exchange")
        assert said.money == "at the deposit address, by transaction 0xbdf9."
        assert "pay the batch" not in said.act
    # Nor is it in the wallet because the service closed the order.
    closed = ORDER.model_copy(update={"display_status": "EXPIRED", "in_status": 9})
    said = order_status(sighted(followed.known, closed, "read"), NOW + timedelta(minutes=60))
    assert said.money == "at the deposit address, by transaction 0xbdf9."
    assert (said.actor, said.act) == ("you", f"write to support with order {ORDER.service_id}")
    assert said.cause.startswith("Its batch was paid, and the service saw no deposit. No deposit")


def test_an_order_that_a_bundle_left_out_was_not_paid_by_it(journal: Journal) -> None:
    followed = Followed(journal)
    bundle = followed.sent("another4sTvWzYcDfGhJzkk")
    move_bundle(journal.ledger, bundle, State.DONE, hash="0xbdf9")
    said = followed.summary()
    assert said.money == "in your wallet; its batch was paid without this order."
    assert said.actor == "nobody"


def test_only_orders_whose_batch_moved_are_told_anew(journal: Journal) -> None:
    followed = Followed(journal)
    assert announced(followed.known) == []
    followed.built()
    followed.funded()
    assert announced(followed.known) == [ORDER.service_id]
    assert announced(followed.known) == []


def test_a_look_asks_once_for_a_group_and_not_for_each_of_its_orders(journal: Journal) -> None:
    followed = Followed(journal)
    others = [ORDER.model_copy(update={"service_id": f"{at:022d}"}) for at in range(49)]
    for one in others:
        sighted(followed.known, one, "list")
    followed.known.look_at_payments()
    asked: list[str] = []
    connection = journal._file._connection
    connection.set_trace_callback(asked.append)
    assert announced(followed.known) == []
    connection.set_trace_callback(None)
    assert len(asked) == 1
    followed.built()
    followed.funded()
    assert len(announced(followed.known)) == 50


def test_what_arrived_is_with_the_recipients_and_nobody_acts(journal: Journal) -> None:
    """From the bundle that paid to the last payout, and where one of the orders failed."""
    followed = Followed(journal)
    bundle = followed.sent()
    assert batch_progress(journal, BATCH).unpaid_rows == {1}
    move_bundle(journal.ledger, bundle, State.DONE, hash="0xbdf9")
    assert not batch_progress(journal, BATCH).unpaid_rows

    def told(state: DisplayStatus | None) -> BatchProgress:
        changed = {"display_status": state, "status": state}
        orders = {} if state is None else {ORDER.service_id: ORDER.model_copy(update=changed)}
        return replace(batch_progress(journal, BATCH), orders=orders)

    for before in (None, DisplayStatus.EXCHANGE_IN_PROGRESS):
        moving = told(before)
        assert moving.whereabouts == "at 1 deposit address, by transaction 0xbdf9"
        assert moving.next == "the exchanges: they pay the recipients; o shows the orders"
    arrived = told(DisplayStatus.SWAP_COMPLETED)
    assert arrived.whereabouts == "with the recipients; the order is completed"
    assert arrived.brief == "with the recipients"
    assert arrived.next == "nobody: everything arrived; o shows the orders"
    assert "in your smart account" in arrived.paid
    failed = told(DisplayStatus.FAILED)
    assert failed.whereabouts == "0 of 1 order arrived at the recipients, 1 ended otherwise"
    assert failed.next.startswith("you: look at the order that ended otherwise")


def test_orders_of_several_payouts_are_counted_once_each() -> None:
    some = Payouts(total=20, arrived=12, otherwise=1, smart=True)
    assert some.whereabouts == (
        "12 of 20 orders arrived at the recipients, 1 ended otherwise, 7 are with the exchanges"
    )
    whole = Payouts(total=20, arrived=20, otherwise=0, smart=True)
    assert whole.whereabouts == "with the recipients; all 20 orders are completed"
    assert whole.next("look", "left") == "nobody: everything arrived; look; left"
    assert replace(whole, smart=False).next("look", "left").endswith("look")
