"""Every way in which a created order may differ from what was confirmed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from flows.orders import BTC, ETH, NOW, RECIPIENT, intent, order
from swapdesk.chain.addresses.derive import derive_address
from swapdesk.flows.order_check import check_order, check_repeat

OTHER = derive_address("evm", b"o" * 32)
OTHER_DEPOSIT = derive_address("bitcoin", b"x" * 32)


def test_an_order_as_confirmed_is_payable() -> None:
    check = check_order(intent(), order(), now=NOW)
    assert check.payable
    assert check.withheld is None
    assert not check.provider_changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"in_token_id": ETH.id}, "the token to send differs"),
        ({"in_token_id": None, "in_symbol": "LTC"}, "the token to send differs"),
        ({"in_token_id": None, "in_symbol": None}, "the token to send differs"),
        ({"out_amount": None}, "it does not say what you get"),
        ({"out_token_id": BTC.id}, "the token to receive differs"),
        ({"receiver_address": OTHER}, "the recipient differs"),
        ({"receiver_address": None}, "the recipient differs"),
        ({"receiver_tag": "77"}, "the memo of the recipient differs"),
        ({"anonymous": True}, "it takes the private route"),
        ({"anonymous": None}, "it takes the private route"),
        ({"in_amount": Decimal("0.50005001")}, "it asks for 0.50005001 BTC instead of 0.5"),
        ({"in_amount": None}, "it does not say what to pay"),
        ({"in_amount": Decimal(0)}, "it does not say what to pay"),
        ({"expires": NOW + timedelta(seconds=29)}, "its deadline is too near"),
        ({"expires": None}, "its deadline is too near"),
        ({"deposit_address": OTHER}, "its deposit address is no address on Bitcoin"),
    ],
)
def test_a_hard_difference_hides_the_address(change: dict[str, Any], said: str) -> None:
    check = check_order(intent(), order(**change), now=NOW)
    assert said in check.hard
    assert not check.payable
    assert said in (check.withheld or "")


@pytest.mark.parametrize(
    "change",
    [
        {"in_amount": Decimal("0.50005")},
        {"in_amount": Decimal("0.49")},
        {"expires": NOW + timedelta(seconds=30)},
        {"receiver_address": RECIPIENT.lower()},
        {"in_token_id": None, "in_symbol": "btc"},
        {"out_amount": Decimal("14.524108") * Decimal("0.99")},
    ],
)
def test_what_is_within_tolerance_stays_payable(change: dict[str, Any]) -> None:
    assert check_order(intent(), order(**change), now=NOW).payable


def test_less_output_hides_the_address_until_it_is_accepted() -> None:
    check = check_order(intent(), order(out_amount=Decimal("14.3")), now=NOW)
    assert not check.hard
    assert check.lower_by is not None
    assert check.lower_by > 1
    assert "1.54% less" in (check.withheld or "")


def test_a_private_order_that_comes_back_with_one_leg_is_refused() -> None:
    private = intent(route="private", provider=None)
    check = check_order(private, order(private, anonymous=False), now=NOW)
    assert check.hard == ("it is not private",)


def test_a_refund_address_must_be_recorded_as_given() -> None:
    wanted = intent(refund_address=derive_address("bitcoin", b"f" * 32))
    assert check_order(wanted, order(wanted), now=NOW).payable
    for recorded in (None, OTHER_DEPOSIT):
        check = check_order(wanted, order(wanted, refund_address=recorded), now=NOW)
        assert "the refund address differs" in check.hard


def test_another_provider_is_shown_and_not_refused() -> None:
    check = check_order(intent(), order(in_="co", swap_name="Cobalt"), now=NOW)
    assert check.payable
    assert check.provider_changed


@pytest.mark.parametrize(
    "change",
    [
        {"deposit_address": OTHER_DEPOSIT},
        {"deposit_tag": "104882716"},
        {"in_amount": Decimal("0.51")},
    ],
)
def test_the_repeated_order_must_repeat_what_is_paid(change: dict[str, Any]) -> None:
    assert check_repeat(order(), order()) == ()
    assert len(check_repeat(order(), order(**change))) == 1


def test_what_is_compared_is_the_net_amount_that_was_confirmed() -> None:
    better = intent(net_amount_out=Decimal("15"))
    assert check_order(better, order(better), now=NOW).lower_by is not None
