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


SAME, POSSIBLE, OTHER = OrderMatch
ENDS = intent().valid_until
OURS, THEIRS = derive_address("bitcoin", b"o" * 32), derive_address("bitcoin", b"t" * 32)
FIXED = {"fixed": True}


@pytest.mark.parametrize(
    ("asked", "change", "verdict"),
    [
        ({}, {}, SAME),
        ({}, {"created": SINCE - timedelta(seconds=1)}, OTHER),
        ({}, {"in_token_id": "f" * 24}, OTHER),
        ({}, {"out_token_id": BTC.id}, OTHER),
        ({}, {"receiver_address": derive_address("evm", b"o" * 32)}, OTHER),
        ({}, {"receiver_tag": "7"}, OTHER),
        ({}, {"anonymous": True}, OTHER),
        ({}, {"in_amount": Decimal("0.4")}, OTHER),
        # What is absent leaves it possible.
        ({}, {"created": None}, POSSIBLE),
        ({}, {"in_token_id": None}, POSSIBLE),
        ({}, {"out_token_id": None}, POSSIBLE),
        ({}, {"receiver_address": None}, POSSIBLE),
        ({}, {"anonymous": None}, POSSIBLE),
        ({}, {"in_amount": None}, POSSIBLE),
        # Made after the quote ended, it may be another home's.
        ({}, {"created": ENDS + SKEW}, SAME),
        ({}, {"created": ENDS + SKEW + timedelta(seconds=1)}, POSSIBLE),
        # The rate tells two payments apart where it is said; a fixed one promised one output.
        (FIXED, {"fixed": True}, SAME),
        (FIXED, {"fixed": False}, OTHER),
        (FIXED, {}, POSSIBLE),
        ({}, {"fixed": True}, OTHER),
        (FIXED, {"fixed": True, "out_amount": intent().amount_out + 1}, POSSIBLE),
        (FIXED, {"fixed": True, "out_amount": None}, POSSIBLE),
        ({}, {"out_amount": Decimal(1)}, SAME),
        # Another refund address is the payment of another home.
        ({"refund_address": OURS}, {}, SAME),
        ({"refund_address": OURS}, {"refund_address": None}, SAME),
        ({"refund_address": OURS}, {"refund_address": THEIRS}, OTHER),
        ({}, {"refund_address": THEIRS}, OTHER),
    ],
)
def test_what_contradicts_decides_and_what_is_absent_does_not(
    asked: dict[str, Any], change: dict[str, Any], verdict: OrderMatch
) -> None:
    wanted = intent(**asked)
    assert match(wanted, order(wanted, **change), since=SINCE) is verdict


def test_the_smallest_order_a_service_gives_is_possible() -> None:
    smallest = Order(service_id="h8Kq2P", created=NOW, status=0, in_amount=Decimal("0.5"))
    assert match(intent(memo="7"), smallest, since=SINCE) is OrderMatch.POSSIBLE


def test_a_stated_output_is_the_same_payment_whatever_a_quote_asks_for_it() -> None:
    stated = intent(fixed=True, receive=True, amount_out=Decimal(2))
    again = intent(fixed=True, receive=True, amount_out=Decimal(2), amount_in=Decimal("0.6"))
    assert stated.fingerprint == again.fingerprint
    assert stated.fingerprint != intent(amount_in=Decimal(2)).fingerprint
    assert intent().fingerprint != intent(amount_in=Decimal("0.6")).fingerprint
