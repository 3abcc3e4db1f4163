"""Writing calls by hand in the journal: before they leave, and how each ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.orders import Order


def test_a_call_without_an_end_is_unresolved_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    journal = Journal.open(tmp_path / "journal.db", clock)
    journal.calls.add("POST", "/exchanges", b'{"quoteId":"q"}')
    journal.close()
    again = Journal.open(tmp_path / "journal.db", clock)
    (call,) = again.calls.unresolved()
    assert (call.method, call.path, call.state) == ("POST", "/exchanges", StepState.SENT)
    assert call.sent_at == clock.now()
    again.close()


def test_only_unknown_ends_stay_unresolved(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db", ManualClock())
    ids = [journal.calls.add("POST", "/exchanges", b"{}") for _ in range(4)]
    order = Order(service_id="abcdefghijklmnopqrstuv")
    journal.calls.mark_created(ids[0], order, status=200, request_id="r-1")
    journal.calls.mark_refused(ids[1], code="INVALID_SWAP", status=422)
    journal.calls.mark_done(ids[2], status=200, request_id=None)
    journal.calls.mark_unknown(ids[3], code="NO_ANSWER")
    assert [call.id for call in journal.calls.unresolved()] == [ids[3]]
    known = journal.orders.get(order.service_id)
    assert known.intent_id is None
    journal.close()


def test_without_a_file_nothing_is_noted_and_so_nothing_is_sent(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db", ManualClock())
    journal.close()
    with pytest.raises(JournalUnavailable):
        journal.calls.add("POST", "/exchanges", b"{}")
