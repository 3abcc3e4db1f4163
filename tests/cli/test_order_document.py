"""What commands say of an order: never to pay one that is hidden or late."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from flows.orders import DEPOSIT, NOW, intent, order
from swapdesk.cli.order_reports import (
    deposit_facts,
    order_document,
    order_facts,
    order_row,
)
from swapdesk.cli.output import members
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Sender, TransactionRole
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import DisplayStatus

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


def test_the_reason_is_read_aloud() -> None:
    assert f"Do not pay: {DIFFERS}" in order_sentence(tracked(DIFFERS), NOW)
    detected = tracked(DIFFERS, display_status=DisplayStatus.DEPOSIT_DETECTED.value)
    assert f"Do not pay: {DIFFERS}" in order_sentence(detected, NOW)


def test_after_the_deadline_the_money_is_only_where_it_was_left() -> None:
    assert (
        members(order_document(tracked(), LATE))["money"] == "in your wallet, if you sent nothing."
    )
    assert members(order_document(tracked(), LATE))["next"] == "the service: it closes the order"


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


def test_a_refund_with_an_amount_is_told_exactly() -> None:
    back = tracked(
        display_status=DisplayStatus.REFUNDED.value, in_status=7, refund_amount=Decimal("0.49994")
    )
    assert dict(order_facts(back, NOW))["Came back"] == "0.49994 BTC"


def test_a_completed_order_names_what_was_sent_and_the_payout_of_its_route() -> None:
    done = DisplayStatus.SWAP_COMPLETED.value
    standard = tracked(display_status=done, in_status=4, in_transaction_out_hash="0xaa")
    private = tracked(display_status=done, in_status=4, out_transaction_out_hash="0xbb")
    assert dict(order_facts(standard, NOW))["Payout hash"] == "0xaa"
    assert dict(order_facts(private, NOW))["Payout hash"] == "0xbb"
    # Of what came the service says nothing; a chain does.
    assert dict(order_facts(standard, NOW))["Asked for"] == "0.5 BTC"
    own = (OrderTransaction(TransactionRole.DEPOSIT, "aa", Fate.CONFIRMED, Sender.WALLET),)
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
