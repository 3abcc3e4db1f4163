"""Under which request an order was created: what the diagnosis names to support."""

from __future__ import annotations

from pathlib import Path

import httpx2

from flows import old_journals
from flows.faulty_network import lose_answer, on
from flows.orders import NOW, created_here, intent, order
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import UNREPEATED
from swapdesk.flows.journal.batch_records import NewGroup, NewRow, RowEnd, RowState
from swapdesk.flows.journal.journal import Journal
from world import World

ORDER = order()


def named(journal: Journal) -> str | None:
    return journal.create_requests.of(ORDER.service_id)


async def test_the_request_of_a_create_that_was_answered_is_kept(trade: World) -> None:
    answered: list[str] = []

    trade.network.after = on(
        "POST", lambda _, response: answered.append(response.headers["x-request-id"])
    )
    outcome = await trade.created()
    assert [trade.journal.create_requests.of(outcome.order.service_id)] == answered
    assert answered[0]


async def test_a_name_that_cannot_be_shown_is_not_kept(trade: World) -> None:
    def spoil(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        response.headers["x-request-id"] = "r\u202e1".encode().decode("latin-1")
        return response

    trade.network.after = spoil
    outcome = await trade.created()
    assert trade.journal.create_requests.of(outcome.order.service_id) is None


async def test_an_order_that_was_found_again_has_no_request_to_name(trade: World) -> None:
    trade.network.after = lose_answer
    outcome = await trade.created()
    assert outcome.found_again
    assert trade.journal.create_requests.of(outcome.order.service_id) is None


def test_what_the_failed_answer_was_called_stays_when_its_order_is_found(journal: Journal) -> None:
    one = intent()
    journal.intents.add(one, "create", "digest")
    journal.intents.mark_sent(one.id, NOW)
    journal.intents.mark_unknown(one.id, code="HTTP_502", status=502, request_id="r-502")
    journal.intents.mark_created(one.id, ORDER, source="list", verdict=UNREPEATED, resolved=True)
    assert named(journal) == "r-502"


def test_the_steps_of_a_swap_that_follow_are_not_its_create(journal: Journal) -> None:
    one = intent()
    journal.intents.add(one, "create", "digest")
    journal.intents.mark_sent(one.id, NOW)
    journal.intents.mark_created(
        one.id, ORDER, source="create", verdict=UNREPEATED, request_id="r-1"
    )
    journal.swaps.sent(one.id, journal.swaps.begin(one.id, "swap", ""), hash="0xab")
    assert named(journal) == "r-1"


def test_an_order_of_a_batch_was_created_by_the_request_of_its_group(journal: Journal) -> None:
    row = NewRow(1, 2, {"to": "@bob"})
    batch = "a" * 32
    journal.batches.add(batch, "payout.csv", "digest", [NewGroup("base", "bundle", "{}", (row,))])
    assert journal.batches.mark_sent(batch, 1, NOW)
    ends = [RowEnd(0, RowState.CREATED, ORDER.service_id)]
    journal.batches.mark_created(batch, 1, "kXb7PqLmN4sTvWzYcDfGhJ", ends, request_id="r-7")
    assert named(journal) == "r-7"


def test_a_call_by_hand_is_named_and_a_payment_is_not(journal: Journal) -> None:
    paid = journal.calls.add_payment(ORDER.service_id, b"{}")
    journal.calls.mark_unknown(paid, code="NO_ANSWER", request_id="r-pay")
    assert named(journal) is None
    made = journal.calls.add("POST", "/exchanges", b"{}")
    journal.calls.mark_created(made, ORDER, status=200, request_id="r-9")
    assert named(journal) == "r-9"


def test_orders_without_a_known_request_name_none(journal: Journal, tmp_path: Path) -> None:
    assert named(journal) is None
    created_here(journal, ORDER)
    assert named(journal) is None
    old = Journal.open(old_journals.written(tmp_path / "old" / "journal.db"), ManualClock(NOW))
    assert old.create_requests.of("oldPaidByFaucet1") is None
    old.close()
