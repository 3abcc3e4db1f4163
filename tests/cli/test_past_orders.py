"""Orders that ended long ago: told from the journal, also while nobody answers for the service."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cli.desks import InProcess
from flows.orders import NOW, RECIPIENT, created_here, intent, order
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal

REFUND = "0xAb" + "3" * 38
DONE = {"display_status": "SWAP_COMPLETED", "status": 4}


@pytest.fixture
def past(here: InProcess) -> InProcess:
    """A live profile whose service cannot be reached."""
    (here.home / "config.toml").write_text(
        'profile = "main"\n[profiles.main]\nurl = "http://127.0.0.1:9/v2"\npartner_id = "p"\n'
    )
    journal = Journal.open(here.home / "profiles" / "main" / "journal.db", ManualClock(NOW))
    created_here(journal, order(service_id="pastPaidByFaucet", **DONE))
    open_ones = [order(service_id=f"pastBatchRow000{n}", deposit_address=None) for n in (1, 2, 3)]
    journal.orders.record((one, "list", False) for one in open_ones)
    journal.orders.record([(order(service_id="pastForeignOne", **DONE), "list", True)])
    journal.close()
    return here


@pytest.mark.parametrize("words", [("list",), ("show", "pastPaidByFaucet")])
def test_a_create_of_unknown_outcome_keeps_no_order_waiting(
    words: tuple[str, ...], past: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That there is no order takes a minute to prove; what is known is told before."""
    monkeypatch.setattr("swapdesk.cli.order_reports.TELLING_SECONDS", 0.1)
    journal = Journal.open(past.home / "profiles" / "main" / "journal.db", ManualClock(NOW))
    lost = intent()
    journal.intents.add(lost, "create", "digest")
    # Just now: what was sent long ago is looked for once, without a wait.
    journal.intents.mark_sent(lost.id, datetime.now(UTC))
    journal.close()
    told = past("orders", *words, "--json")
    assert told.code == 0
    assert (
        "0.5 BTC to ETH, standard: the service has not said within 0.1 s whether it created the"
        " order. Nothing was paid. An open desk and the next command that creates"
        " look for longer, which settles it."
    ) in told.stderr
    assert "Looking for its order, for 0.1 s at most." in told.stderr
    if words == ("list",):
        assert [one["intentId"] for one in told.document["unknown"]] == [lost.id]


def test_a_completed_order_is_shown_by_the_beginning_of_its_id(past: InProcess) -> None:
    told = past("orders", "show", "pastPaid", "--json")
    assert told.code == 0
    assert told.document["serviceId"] == "pastPaidByFaucet"
    assert told.document["displayStatus"] == "SWAP_COMPLETED"
    assert "The service could not be asked" in told.stderr
    assert "As last known" in told.stderr


def test_a_beginning_of_several_orders_names_them(past: InProcess) -> None:
    told = past.refused(2, "AMBIGUOUS_ORDER", "orders", "show", "pastBatchRow")
    assert told["money"] == "where it was; nothing was sent"
    assert told["message"] == (
        "3 orders begin with pastBatchRow: pastBatchRow0001, pastBatchRow0002, pastBatchRow0003."
    )


def test_an_order_is_found_by_its_addresses_hashes_and_request(past: InProcess) -> None:
    """Which they are: ``tests/flows/test_order_index.py``."""
    name = REFUND[:10].upper()
    journal = Journal.open(past.home / "profiles" / "main" / "journal.db", ManualClock(NOW))
    found = order(service_id="pastFoundOne", refund_address=REFUND, **DONE)
    journal.orders.record([(found, "list", True)])
    journal.close()
    told = past("orders", "show", name, "--json")
    assert (told.code, told.document["serviceId"]) == (0, "pastFoundOne")
    listed = past("orders", "list", "--filter", name, "--json")
    assert [one["serviceId"] for one in listed.document["orders"]] == ["pastFoundOne"]


def test_a_name_of_several_orders_names_them_and_one_of_none_says_what_was_searched(
    past: InProcess,
) -> None:
    several = past.refused(2, "AMBIGUOUS_ORDER", "orders", "show", RECIPIENT)
    assert f"5 orders have {RECIPIENT} in an address" in several["message"]
    none = past("orders", "list", "--filter", "0xnowhere", "--json")
    assert none.document["orders"] == []
    assert "Searched in 5 orders: ids, tokens" in none.stderr
    assert "request ids" in none.stderr


def test_a_failed_order_that_was_dealt_with_is_put_away(past: InProcess) -> None:
    journal = Journal.open(past.home / "profiles" / "main" / "journal.db", ManualClock(NOW))
    stuck = {"display_status": "FAILED", "status": 6, "in_status": 3, "action_required": True}
    journal.orders.record([(order(service_id="pastStuckOne", **stuck), "list", True)])
    journal.close()
    assert past("orders", "show", "pastStuckOne", "--json").document["putAway"] is False
    away = past("orders", "put-away", "pastStuckOne", "--json")
    assert away.document["putAway"] is True
    assert away.stderr.count("could not be asked") == 1, away.stderr
    listed = past("orders", "list", "--filter", "state:away", "--json").document["orders"]
    assert [one["serviceId"] for one in listed] == ["pastStuckOne"]
    undone = past("orders", "put-away", "pastStuckOne", "--undo", "--json")
    assert (undone.code, undone.document["putAway"]) == (0, False)
    past.refused(2, "NOT_FAILED", "orders", "put-away", "pastPaidByFaucet")


def test_the_list_has_completed_orders_too(past: InProcess) -> None:
    told = past.made("orders", "list")
    names = {one["serviceId"] for one in told["orders"]}
    assert {"pastPaidByFaucet", "pastForeignOne"} < names
    assert told["total"] == len(names) == 5
