"""Orders of this desk's batches among all that it follows: told apart from those of others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from flows.orders import NOW, order
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.standing import Standing
from swapdesk.flows.journal.batch_records import NewGroup, NewRow, RowEnd, RowState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_summary import summarise
from swapdesk.flows.tracking.known_orders import KnownOrders
from swapdesk.wire.orders import DisplayStatus

GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"
ORDER = order(multi_id=GROUP)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal.open(tmp_path / "journal.db", ManualClock())
    yield made
    made.close()


def created(journal: Journal) -> None:
    """The group, as a batch writes it down."""
    row = NewRow(1, 2, {"to": "@bob"})
    journal.batches.add(
        "a" * 32, "payout.csv", "digest", [NewGroup("base", "bundle", "{}", (row,))]
    )
    assert journal.batches.mark_sent("a" * 32, 1, NOW)
    ends = [RowEnd(0, RowState.CREATED, ORDER.service_id)]
    journal.batches.mark_created("a" * 32, 1, GROUP, ends)


def test_an_order_of_a_batch_is_paid_by_it_and_hides_its_address(journal: Journal) -> None:
    created(journal)
    seen = KnownOrders(journal, ManualClock()).see(ORDER, "stream", None).order
    assert seen is not None
    assert seen.in_batch
    assert seen.standing is Standing.FOREIGN
    assert seen.withheld is not None
    summary = summarise(seen, NOW + timedelta(minutes=1))
    assert summary.word == "With its batch"
    assert (summary.actor, summary.due) == ("you", "pay the batch; b shows it")
    assert not summary.payable


def test_a_group_of_somebody_else_stays_foreign(journal: Journal) -> None:
    created(journal)
    other = order(multi_id="somebody4sTvWzYcDfGhJz")
    for one in (other, order()):
        seen = KnownOrders(journal, ManualClock()).see(one, "stream", None).order
        assert seen is not None
        assert not seen.in_batch
        assert summarise(seen, NOW + timedelta(minutes=1)).word == "Not of this desk"


def test_an_order_seen_before_its_group_was_written_down_is_known_after_it(
    journal: Journal,
) -> None:
    known = KnownOrders(journal, ManualClock())
    early = known.see(ORDER, "stream", None).order
    assert early is not None
    assert not early.in_batch
    created(journal)
    later = known.see(ORDER, "stream", early).order
    assert later is not None
    assert later.in_batch


def test_a_new_start_knows_it_from_the_journal(journal: Journal) -> None:
    created(journal)
    journal.orders.record([(ORDER, "stream", False)])
    known = KnownOrders(journal, ManualClock())
    known.load()
    tracked = known.get(ORDER.service_id)
    assert tracked is not None
    assert tracked.in_batch


def test_a_contradiction_is_said_of_an_order_of_a_batch(journal: Journal) -> None:
    created(journal)
    journal.orders.record([(ORDER, "stream", False)])
    known = KnownOrders(journal, ManualClock())
    known.load()
    moved = ORDER.model_copy(update={"deposit_address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"})
    seen = known.see(moved, "stream", known.get(ORDER.service_id)).order
    assert seen is not None
    assert seen.standing is Standing.CONTRADICTS
    assert seen.order.display_status == DisplayStatus.WAITING_FOR_DEPOSIT
    assert summarise(seen, NOW + timedelta(minutes=1)).word == "Do not pay"
