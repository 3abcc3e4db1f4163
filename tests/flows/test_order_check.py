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
from service.world import BITCOIN
from service.world import USDC as TOKEN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.creation.order_verification import check_order, check_repeat
from swapdesk.flows.intents.intent import TokenFacts

OTHER = derive_address("evm", b"o" * 32)
OTHER_DEPOSIT = derive_address("bitcoin", b"x" * 32)


REFUND = {"refund_address": derive_address("bitcoin", b"f" * 32)}
MIDDLE = {"route": "private", "intermediate_refund": "4" + "A" * 94}
FIXED = {"fixed": True, "amount_in": Decimal("0.5"), "amount_out": Decimal("14.498")}
STATED = {**FIXED, "receive": True, "amount_out": Decimal(2)}
MINE = derive_address("evm", b"m" * 32)
CONTRACT = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDC = {
    "token_in": replace(ETH, symbol="USDC", contract=CONTRACT, decimals=6),
    "refund_address": MINE,
}
NAMED = {"token_out": TokenFacts.of(TOKEN)}
OTHER_TOKEN = "the token to receive differs"


@pytest.mark.parametrize(
    ("confirmed", "change", "said"),
    [
        ({}, {}, ""),
        ({}, {"in_token_id": ETH.id}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": "LTC"}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": None}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": "btc"}, ""),
        ({}, {"out_token_id": BTC.id}, "the token to receive differs"),
        (NAMED, {"out_token": TOKEN}, ""),
        (NAMED, {"out_token": TOKEN, "out_token_id": None}, ""),
        (NAMED, {"out_token": TOKEN.model_copy(update={"address": CONTRACT})}, OTHER_TOKEN),
        (NAMED, {"out_token": TOKEN.model_copy(update={"id": BTC.id})}, OTHER_TOKEN),
        (NAMED, {"out_token": TOKEN.model_copy(update={"chain_data": BITCOIN})}, OTHER_TOKEN),
        ({}, {"receiver_address": OTHER}, "the recipient differs"),
        ({}, {"receiver_address": None}, "the recipient differs"),
        ({}, {"receiver_address": RECIPIENT.lower()}, ""),
        ({}, {"receiver_tag": "77"}, "the memo of the recipient differs"),
        ({}, {"anonymous": True}, "it takes the private route"),
        ({}, {"anonymous": None}, "it takes the private route"),
        ({"route": "private", "provider": None}, {"anonymous": False}, "it is not private"),
        ({}, {"in_amount": Decimal("0.50005001")}, "it asks for 0.50005001 BTC instead of 0.5"),
        ({}, {"in_amount": Decimal("0.4499")}, "it asks for 0.4499 BTC instead of 0.5"),
        ({}, {"in_amount": Decimal("0.50005")}, ""),
        ({}, {"in_amount": Decimal("0.49")}, ""),
        ({}, {"in_amount": None}, "it does not say what to pay"),
        ({}, {"in_amount": Decimal(0)}, "it does not say what to pay"),
        ({}, {"out_amount": None}, "it does not say what you get"),
        ({}, {"out_amount": Decimal("14.524108") * Decimal("0.99")}, ""),
        ({}, {"expires": NOW + timedelta(seconds=29)}, "its deadline is too near"),
        ({}, {"expires": NOW + timedelta(seconds=30)}, ""),
        ({}, {"expires": None}, "its deadline is too near"),
        (REFUND, {}, ""),
        (REFUND, {"refund_address": None}, "the refund address differs"),
        (REFUND, {"refund_address": OTHER_DEPOSIT}, "the refund address differs"),
        (MIDDLE, {}, ""),
        (
            MIDDLE,
            {"intermediate_refund_address": "4" + "B" * 94},
            "the refund address of the middle differs",
        ),
        # A fixed rate is a promise to the last digit.
        ({}, {"fixed": True}, "its rate is fixed"),
        (FIXED, {"fixed": False}, "its rate is not fixed"),
        (FIXED, {"fixed": True}, ""),
        (FIXED, {"fixed": True, "out_amount": Decimal("14.4980000000000002")}, ""),
        (FIXED, {"fixed": True, "out_amount": Decimal("14.5")}, ""),
        (
            FIXED,
            {"fixed": True, "out_amount": Decimal("14.4979999999999")},
            "it pays 14.4979999999999 ETH instead of",
        ),
        (
            FIXED,
            {"fixed": True, "in_amount": Decimal("0.500000000001")},
            "it asks for 0.500000000001 BTC instead of 0.5",
        ),
        (STATED, {"fixed": True}, ""),
        (
            STATED,
            {"fixed": True, "out_amount": Decimal("1.99")},
            "it pays 1.99 ETH instead of the fixed 2",
        ),
        # No exchange can have given these deposit addresses.
        ({}, {"deposit_address": OTHER}, "its deposit address is no address on Bitcoin"),
        (USDC, {"deposit_address": derive_address("evm", b"d" * 32)}, ""),
        (
            USDC,
            {"deposit_address": CONTRACT.lower()},
            "its deposit address is no address on Ethereum",
        ),
        (USDC, {"deposit_address": RECIPIENT}, "its deposit address is the recipient"),
        (USDC, {"deposit_address": RECIPIENT.lower()}, "its deposit address is the recipient"),
        (USDC, {"deposit_address": MINE}, "its deposit address is the refund address"),
        (USDC, {"deposit_address": RECIPIENT, "deposit_tag": "7741"}, ""),
    ],
)
def test_a_hard_difference_hides_the_address(
    confirmed: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    wanted = intent(**confirmed)
    check = check_order(wanted, order(wanted, **change), now=NOW)
    assert check.payable is (not said), check.hard
    assert (check.verdict.withheld is None) is (not said)
    assert any(one.startswith(said) for one in check.hard) is bool(said)
    assert said in (check.verdict.withheld or "")


def test_less_output_hides_the_address_until_it_is_accepted() -> None:
    check = check_order(intent(), order(out_amount=Decimal("14.3")), now=NOW)
    assert (check.hard, check.payable) == ((), False)
    assert "1.54% less" in (check.verdict.withheld or "")


@pytest.mark.parametrize(("provider", "changed"), [({}, False), ({"in_": "co"}, True)])
def test_another_provider_is_shown_and_not_refused(provider: dict[str, Any], changed: bool) -> None:
    check = check_order(intent(), order(**provider), now=NOW)
    assert (check.payable, check.provider_changed) == (True, changed)


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
