"""Which order an intent became: what contradicts decides, what is absent does not."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from flows.orders import BTC, NOW, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.creation.reconciliation import SKEW, OrderMatch, match
from swapdesk.wire.orders import Order

SINCE = NOW - timedelta(seconds=10)


def test_the_order_as_confirmed_is_the_same() -> None:
    assert match(intent(), order(), since=SINCE) is OrderMatch.SAME


@pytest.mark.parametrize(
    "change",
    [
        {"created": SINCE - timedelta(seconds=1)},
        {"in_token_id": "f" * 24},
        {"out_token_id": BTC.id},
        {"receiver_address": derive_address("evm", b"o" * 32)},
        {"receiver_tag": "7"},
        {"anonymous": True},
        {"in_amount": Decimal("0.4")},
    ],
)
def test_one_contradiction_makes_it_another_order(change: dict[str, Any]) -> None:
    assert match(intent(), order(**change), since=SINCE) is OrderMatch.OTHER


@pytest.mark.parametrize(
    "absent",
    ["created", "in_token_id", "out_token_id", "receiver_address", "anonymous", "in_amount"],
)
def test_what_is_absent_leaves_it_possible(absent: str) -> None:
    assert match(intent(), order(**{absent: None}), since=SINCE) is OrderMatch.POSSIBLE


def test_the_smallest_order_a_service_gives_is_possible() -> None:
    smallest = Order(service_id="h8Kq2P", created=NOW, status=0, in_amount=Decimal("0.5"))
    assert match(intent(memo="7"), smallest, since=SINCE) is OrderMatch.POSSIBLE


def test_the_rate_tells_two_payments_apart_where_it_is_said() -> None:
    asked = intent(fixed=True)
    assert match(asked, order(asked, fixed=True), since=SINCE) is OrderMatch.SAME
    assert match(asked, order(asked, fixed=False), since=SINCE) is OrderMatch.OTHER
    assert match(asked, order(asked), since=SINCE) is OrderMatch.POSSIBLE
    assert match(intent(), order(fixed=True), since=SINCE) is OrderMatch.OTHER


def test_an_order_made_after_the_quote_ended_is_only_possible() -> None:
    ends = intent().valid_until
    assert match(intent(), order(created=ends + SKEW), since=SINCE) is OrderMatch.SAME
    late = order(created=ends + SKEW + timedelta(seconds=1))
    assert match(intent(), late, since=SINCE) is OrderMatch.POSSIBLE


def test_another_refund_address_is_the_payment_of_another_home() -> None:
    ours, theirs = derive_address("bitcoin", b"o" * 32), derive_address("bitcoin", b"t" * 32)
    asked = intent(refund_address=ours)
    assert match(asked, order(asked), since=SINCE) is OrderMatch.SAME
    assert match(asked, order(asked, refund_address=None), since=SINCE) is OrderMatch.SAME
    assert match(asked, order(asked, refund_address=theirs), since=SINCE) is OrderMatch.OTHER
    assert match(intent(), order(refund_address=theirs), since=SINCE) is OrderMatch.OTHER


def test_a_fixed_rate_promised_one_output() -> None:
    asked = intent(fixed=True)
    other = order(asked, fixed=True, out_amount=asked.amount_out + 1)
    assert match(asked, other, since=SINCE) is OrderMatch.POSSIBLE
    unsaid = order(asked, fixed=True, out_amount=None)
    assert match(asked, unsaid, since=SINCE) is OrderMatch.POSSIBLE
    assert match(intent(), order(out_amount=Decimal(1)), since=SINCE) is OrderMatch.SAME


def test_a_stated_output_is_the_same_payment_whatever_a_quote_asks_for_it() -> None:
    stated = intent(fixed=True, receive=True, amount_out=Decimal(2))
    again = intent(fixed=True, receive=True, amount_out=Decimal(2), amount_in=Decimal("0.6"))
    assert stated.fingerprint == again.fingerprint
    assert stated.fingerprint != intent(amount_in=Decimal(2)).fingerprint
    assert intent().fingerprint != intent(amount_in=Decimal("0.6")).fingerprint
