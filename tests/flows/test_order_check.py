"""Every way in which a created order may differ from what was confirmed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.orders import BTC, ETH, NOW, RECIPIENT, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.creation.order_verification import check_order, check_repeat

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
        ({"in_amount": Decimal("0.4499")}, "it asks for 0.4499 BTC instead of 0.5"),
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


FIXED = {"fixed": True, "amount_in": Decimal("0.5"), "amount_out": Decimal("14.498")}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fixed": False}, "its rate is not fixed"),
        ({"out_amount": Decimal("14.4979999999999")}, "it pays 14.4979999999999 ETH instead of"),
        ({"in_amount": Decimal("0.500000000001")}, "it asks for 0.500000000001 BTC instead of 0.5"),
    ],
)
def test_a_fixed_rate_is_a_promise_to_the_last_digit(change: dict[str, Any], said: str) -> None:
    promised = intent(**FIXED)
    check = check_order(promised, order(promised, **{"fixed": True, **change}), now=NOW)
    assert any(one.startswith(said) for one in check.hard), check.hard
    assert not check.payable


@pytest.mark.parametrize(
    "change",
    [{}, {"out_amount": Decimal("14.4980000000000002")}, {"out_amount": Decimal("14.5")}],
)
def test_a_fixed_promise_that_is_kept_is_payable(change: dict[str, Any]) -> None:
    promised = intent(**FIXED)
    assert check_order(promised, order(promised, **{"fixed": True, **change}), now=NOW).payable


def test_a_reverse_order_pays_what_was_stated_for_what_was_quoted() -> None:
    stated = intent(**{**FIXED, "receive": True, "amount_out": Decimal(2)})
    kept = order(stated, fixed=True)
    assert check_order(stated, kept, now=NOW).payable
    less = check_order(stated, order(stated, fixed=True, out_amount=Decimal("1.99")), now=NOW)
    assert less.hard == ("it pays 1.99 ETH instead of the fixed 2",)


def test_a_floating_intent_never_becomes_a_fixed_order() -> None:
    assert "its rate is fixed" in check_order(intent(), order(fixed=True), now=NOW).hard


def test_another_refund_address_in_the_middle_is_a_hard_difference() -> None:
    asked = intent(route="private", intermediate_refund="4" + "A" * 94)
    assert check_order(asked, order(asked), now=NOW).payable
    other = order(asked, intermediate_refund_address="4" + "B" * 94)
    assert "the refund address of the middle differs" in check_order(asked, other, now=NOW).hard


@given(st.decimals("0.00000001", "1000", places=8), st.decimals("0", "1000", places=8))
def test_less_than_a_fixed_promise_is_never_payable(promise: Decimal, paid: Decimal) -> None:
    promised = intent(**{**FIXED, "amount_out": promise, "net_amount_out": promise})
    check = check_order(promised, order(promised, fixed=True, out_amount=paid), now=NOW)
    assert check.payable is (paid >= promise)
    assert check.lower_by is None


@given(
    st.decimals("0.00000001", "1000", places=8),
    st.decimals("0.00000001", "1000", places=8),
    st.decimals("0", "10", places=2),
)
def test_a_floating_output_is_payable_within_the_tolerance_only(
    confirmed: Decimal, paid: Decimal, tolerance: Decimal
) -> None:
    asked = intent(amount_out=confirmed, net_amount_out=confirmed)
    check = check_order(asked, order(asked, out_amount=paid), now=NOW, lower_tolerance=tolerance)
    assert check.hard == ()
    assert check.payable is ((confirmed - paid) * 100 <= tolerance * confirmed)


def test_a_deposit_address_that_cannot_be_the_exchanges_hides_the_order() -> None:
    contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    token = replace(ETH, symbol="USDC", contract=contract, decimals=6)
    mine = derive_address("evm", b"m" * 32)
    confirmed = intent(token_in=token, refund_address=mine)
    ours = derive_address("evm", b"d" * 32)
    assert check_order(confirmed, order(confirmed, deposit_address=ours), now=NOW).payable
    for address, said in (
        (contract.lower(), "its deposit address is no address on Ethereum"),
        (RECIPIENT, "its deposit address is the recipient"),
        (RECIPIENT.lower(), "its deposit address is the recipient"),
        (mine, "its deposit address is the refund address"),
    ):
        check = check_order(confirmed, order(confirmed, deposit_address=address), now=NOW)
        assert said in check.hard
    account = order(confirmed, deposit_address=RECIPIENT, deposit_tag="7741")
    assert check_order(confirmed, account, now=NOW).payable
