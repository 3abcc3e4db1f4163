"""What commands say of orders: from the journal, also of another version or while nobody answers,
and never to pay one that is hidden or late."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli.desks import InProcess
from flows import old_journals
from flows.orders import DEPOSIT, NOW, RECIPIENT, created_here, intent, order
from swapdesk.cli.order_reports import (
    deposit_facts,
    order_document,
    order_facts,
    order_row,
)
from swapdesk.cli.output import members
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_migration import SCHEMA_VERSION
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import DisplayStatus
from tui.terminal_window import TerminalWindow

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
    begin_create(journal.ledger, lost, "digest")
    # Just now: what was sent long ago is looked for once, without a wait.
    journal.ledger.move(lost.id, State.SENT, server_at=datetime.now(UTC))
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
    """Which they are: ``tests/flows/test_journal.py``."""
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


NEWER = (
    f"journal.db was written by a newer swapdesk (its version {SCHEMA_VERSION + 1}, this one knows"
    f" {SCHEMA_VERSION}); start that swapdesk again: every order stands in the file, and nothing"
    " was changed."
)


def newer(home: Path) -> Path:
    """The journal of a live profile that nobody answers for."""
    (home / "config.toml").write_text(
        'profile = "main"\n[profiles.main]\nurl = "http://127.0.0.1:9/v2"\npartner_id = "p"\n'
    )
    path = old_journals.written(home / "profiles" / "main" / "journal.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    return path


@pytest.mark.parametrize(
    "words", [("list",), ("show", "oldPaid"), ("export",)], ids=lambda one: one[0]
)
def test_a_command_refuses_a_newer_journal(here: InProcess, words: tuple[str, ...]) -> None:
    path = newer(here.home)
    content = path.read_bytes()
    ended = here("orders", *words, "--json")
    assert ended.code == 9
    assert ended.stdout == ""
    assert ended.error["code"] == "JOURNAL_NEWER"
    assert ended.error["message"] == NEWER
    assert ended.error["money"] == "where it was; every order stands in the journal"
    assert ended.error["next"] == "you: start the newer swapdesk"
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "words",
    [
        ("orders", "list"),
        ("orders", "show", "oldPaid"),
        ("orders", "export", "--out", "kept.csv"),
        ("orders", "watch", "oldPaid"),
        ("orders", "put-away", "oldPaid"),
        ("fund", "oldPaid"),
        ("batch", "status", "a" * 32),
    ],
    ids=" ".join,
)
def test_orders_are_not_told_from_a_journal_that_cannot_be_used(
    here: InProcess, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That none is known would be the file's fault."""
    monkeypatch.chdir(here.home)
    Path("kept.csv").write_text("of yesterday")
    path = old_journals.written(here.home / "profiles" / "sandbox" / "journal.db")
    path.chmod(0o644)
    ended = here(*words, "--json")
    assert (ended.code, ended.error["code"], ended.stdout) == (9, "NO_JOURNAL", "")
    assert ended.error["message"] == (
        "The journal cannot be used: journal.db must be a plain file of mode 0600. Which orders"
        " there are stands in it."
    )
    assert ended.error["money"] == "where it was; nothing was sent"
    assert "swapdesk api GET /orders" in ended.error["next"]
    assert Path("kept.csv").read_text() == "of yesterday"
    assert not (here.home / "sandbox").exists()


def test_no_sandbox_is_started_beside_a_journal_that_is_refused(here: InProcess) -> None:
    path = old_journals.written(here.home / "profiles" / "sandbox" / "journal.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    here.refused(9, "JOURNAL_NEWER", "quote", "1", "btc", "eth")
    assert not (here.home / "sandbox").exists()
    assert not (here.home / "logs").exists()


def test_the_desk_refuses_a_newer_journal(tmp_path: Path) -> None:
    path = newer(tmp_path)
    content = path.read_bytes()
    env = {
        **os.environ,
        "SWAPDESK_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
    }
    window = TerminalWindow([sys.executable, "-m", "swapdesk"], env, 250, 30)
    try:
        window.until(lambda: window.process.poll() is not None, "its end")
        window.read_until_quiet()
        assert window.process.wait() == 9, window.text
        assert NEWER in window.text
    finally:
        window.close()
    assert path.read_bytes() == content


LATE = NOW + timedelta(minutes=31)
DIFFERS = "The order pays another recipient."


def tracked(withheld: str | None = None, **changes: Any) -> TrackedOrder:
    return TrackedOrder(
        order=order(**changes),
        intent=None,
        withheld=withheld,
        ended=False,
        seen_at=NOW,
        source="create",
    )


def everything(of: TrackedOrder, now: datetime) -> list[str]:
    """The four forms in which commands print an order."""
    return [
        encode_json(members(order_document(of, now))).decode(),
        "\n".join(f"{label}: {value}" for label, value in order_facts(of, now)),
        " ".join(order_row(of, now)),
        order_sentence(of, now),
    ]


def test_a_waiting_order_is_to_be_paid_before_its_deadline() -> None:
    for said in everything(tracked(), NOW):
        assert "send the deposit within 30:00" in said
    assert DEPOSIT in everything(tracked(), NOW)[0]
    assert deposit_facts(tracked(), NOW)[0] == ("Pay", "0.5 BTC")


def test_what_is_to_be_sent_is_whole_units_of_the_token() -> None:
    noisy = replace(tracked(in_amount=Decimal("0.1234567890000001")), intent=intent())
    said = members(order_document(noisy, NOW))
    assert said["deposit"]["amount"] == Decimal("0.12345679")
    assert said["order"]["inAmount"] == Decimal("0.1234567890000001")
    (pay, note, *_) = deposit_facts(noisy, NOW)
    assert pay == ("Pay", "0.12345679 BTC on bitcoin")
    assert "0.1234567890000001 BTC" in note[1]
    assert order_row(noisy, NOW)[2] == "0.12345679"
    assert "0.12345679 BTC to" in order_sentence(noisy, NOW)


@pytest.mark.parametrize(
    ("of", "now", "word"),
    [
        pytest.param(tracked(DIFFERS), NOW, "Do not pay", id="withheld"),
        pytest.param(tracked(), LATE, "Deadline over", id="late"),
        pytest.param(tracked(DIFFERS), LATE, "Do not pay", id="withheld and late"),
    ],
)
def test_no_form_says_to_pay_what_must_not_be_paid(
    of: TrackedOrder, now: datetime, word: str
) -> None:
    for said in everything(of, now):
        assert "send the deposit" not in said
    assert deposit_facts(of, now) == []
    document = members(order_document(of, now))
    assert (document["state"], document["deposit"]) == (word, None)
    assert order_row(of, now)[1] == word


def test_a_refund_without_an_amount_is_told_in_every_form() -> None:
    silent = replace(
        tracked(
            display_status=DisplayStatus.REFUNDED.value, in_status=7, refund_address=DEPOSIT,
            refund_hash="8f2c91d0", refund_chain="bitcoin",
        ),
        intent=intent(),
        ended=True,
    )  # fmt: skip
    facts = dict(order_facts(silent, NOW))
    assert facts["Came back"] == "the BTC; the service does not say how much"
    assert facts["Refund to"].replace(" ", "") == DEPOSIT
    assert facts["Refund hash"] == "8f2c91d0"
    assert facts["State"].endswith("The service does not say how much")
    assert facts["Next"] == "nobody: nothing is left to do"
    _, word, sent, token, back, of, *_ = order_row(silent, NOW)
    assert (word, sent, token, back, of) == ("Refunded", "0.5", "BTC", "—", "")
    assert ", the BTC came back, standard" in order_sentence(silent, NOW)
    said = members(order_document(silent, NOW))
    assert "the BTC came back" in said["money"]
    assert "refundAmount" not in said["order"]


def test_a_completed_order_names_what_was_sent_and_the_payout_of_its_route() -> None:
    done = DisplayStatus.SWAP_COMPLETED.value
    standard = tracked(display_status=done, in_status=4, in_transaction_out_hash="0xaa")
    private = tracked(display_status=done, in_status=4, out_transaction_out_hash="0xbb")
    assert dict(order_facts(standard, NOW))["Payout hash"] == "0xaa"
    assert dict(order_facts(private, NOW))["Payout hash"] == "0xbb"
    # Of what came the service says nothing; a chain does.
    assert dict(order_facts(standard, NOW))["Asked for"] == "0.5 BTC"
    own = (OrderTransaction("deposit", "aa", "confirmed", "wallet"),)
    paid = replace(standard, intent=intent())
    assert dict(order_facts(paid, NOW, own))["You sent"] == "0.5 BTC on Bitcoin"
    assert "Asked for" not in dict(order_facts(paid, NOW, own))
    short = replace(
        tracked(display_status=done, in_status=5, out_amount=Decimal("8.7")), intent=intent()
    )
    assert dict(order_facts(short, NOW))["Asked for"] == "0.5 BTC"
    assert "You sent" not in dict(order_facts(short, NOW))
    assert "You send" in dict(order_facts(tracked(), NOW))
    expired = tracked(display_status=DisplayStatus.EXPIRED.value)
    assert "You were to send" in dict(order_facts(expired, NOW))
