"""The news of the first screen: the newest states of any order, and the tokens of one's own."""

from __future__ import annotations

from flows.orders import NOW, created_here, order
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.tracking.recent_activity import recent_events
from swapdesk.wire.orders import DisplayStatus, LegStatus


def test_the_newest_states_come_first_and_only_so_many(
    journal: Journal, clock: ManualClock
) -> None:
    created_here(journal, order())
    clock.advance(60)
    other = order(service_id="w2Bn8LxCvBnM4k5j6h7g8f")
    journal.orders.record([(other, "list", False)])
    clock.advance(60)
    moved = order(
        display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value,
        in_status=LegStatus.EXCHANGING.value,
    )
    journal.orders.record([(moved, "stream", False)])
    found = recent_events(journal, 2)
    assert [(one.order, one.word) for one in found] == [
        ("h8Kq2P", "Exchanging"),
        ("w2Bn8L", "Waiting for you"),
    ]
    assert [(NOW - one.at).total_seconds() for one in found] == [-120, 0]
    assert len(recent_events(journal, 9)) == 3
    journal.close()
