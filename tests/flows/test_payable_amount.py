"""What to send: whole units of the token, never less than the service asks for."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.orders import BTC, NOW, intent, order
from service.world import BITCOIN
from service.world import BTC as LISTED
from swapdesk.cli.order_reports import deposit_of
from swapdesk.flows.creation.order_verification import check_order
from swapdesk.flows.orders.deposit_destination import (
    PayableAmount,
    amount_to_pay,
    payable_amount,
)
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.screens.deposit import payment_of
from swapdesk.tui.screens.order import order_facts
from swapdesk.wire.encoding.numbers import as_double, to_base_units

UNIT = Decimal("0.000001")


def pay(amount: str, decimals: int | None = 6) -> PayableAmount:
    found = payable_amount(order(in_amount=Decimal(amount), in_symbol="XRP"), decimals)
    return found


@pytest.mark.parametrize("amount", ["0.5", "0.50", "2500", "0.123456", "1.2340000000"])
def test_what_the_token_can_hold_is_sent_as_returned(amount: str) -> None:
    found = pay(amount)
    assert (str(found.exact), found.note) == (amount, None)


@pytest.mark.parametrize(
    ("amount", "sent", "how"),
    [
        ("0.30000000000000004", "0.3", "without the noise"),
        ("0.29999999999999999", "0.3", "without the noise"),
        ("99999999.000000999999", "99999999.000001", "without the noise"),
        ("0.1234561", "0.123457", "rounded up"),
        ("0.1234569", "0.123457", "rounded up"),
        ("0.123456000002", "0.123457", "rounded up"),
        ("0.0000000000000001", "0.000001", "rounded up"),
    ],
)
def test_more_digits_than_the_token_has(amount: str, sent: str, how: str) -> None:
    found = pay(amount)
    assert (str(found.exact), found.shown.replace(",", "")) == (sent, sent)
    assert f"{amount} XRP" in found.note
    assert how in found.note


@given(st.integers(1, 10**15), st.integers(0, 18))
def test_the_noise_of_a_double_never_changes_what_is_sent(units: int, decimals: int) -> None:
    amount = as_double(Decimal(units).scaleb(-decimals))
    found = payable_amount(order(in_amount=amount), decimals)
    assert to_base_units(found.exact, decimals) == units


@given(st.decimals(min_value="0.0000000001", max_value=10**9, places=12))
def test_never_less_and_never_a_unit_more(amount: Decimal) -> None:
    found = payable_amount(order(in_amount=amount), 6)
    assert to_base_units(found.exact, 6) > 0
    assert -UNIT * UNIT <= found.exact - amount < UNIT


def test_no_amount_and_no_decimals() -> None:
    assert payable_amount(order(in_amount=None), 6) is None
    assert str(pay("0.30000000000000004", None).exact) == "0.30000000000000004"


def test_the_decimals_are_those_of_the_confirmed_token() -> None:
    noisy = order(in_amount=Decimal("0.5000000001"))
    tracked = TrackedOrder(noisy, intent(), None, False, NOW, "create")
    found = amount_to_pay(tracked)
    assert str(found.exact) == "0.50000001"


def test_the_token_and_its_chain_are_called_as_they_were_confirmed() -> None:
    """The id of a token is compared; the words an order writes beside it are not believed."""
    chain = BITCOIN.model_copy(update={"short_name": BTC.chain, "name": "Litecoin"})
    token = LISTED.model_copy(
        update={"id": BTC.id, "symbol": "USDT", "address": None, "chain_data": chain}
    )
    renamed = order(in_token=token, in_symbol="USDT", in_amount=Decimal("0.5000000001"))
    assert check_order(intent(), renamed, now=NOW).verdict.payable
    tracked = TrackedOrder(renamed, intent(), None, False, NOW, "create")
    payment = payment_of(tracked, NOW)
    assert (payment.amount, payment.network) == ("0.50000001 BTC", "Bitcoin")
    assert "USDT" not in payment.note
    facts = order_facts(tracked, order_status(tracked, NOW), NOW, live=False)
    send = next(fact for fact in facts if fact.label == "Send")
    assert (send.value, send.note, send.copied) == ("0.50000001 BTC", "on Bitcoin", "0.50000001")
    deposit = deposit_of(tracked, NOW)
    assert (deposit.symbol, deposit.chain) == ("BTC", "bitcoin")
