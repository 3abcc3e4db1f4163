"""Where a deposit is: in the wallet, on its way, or never to be sent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from flows.orders import NOW, order
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_money, deposit_phase
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

WAITING = TrackedOrder(
    order=order(expires=NOW + timedelta(minutes=10)),
    intent=None,
    withheld=None,
    ended=False,
    seen_at=NOW,
    source="create",
)


def test_until_it_is_sent_you_send_it_within_the_deadline() -> None:
    money = deposit_money(WAITING, NOW, sent=False)
    assert (money.where, money.urgent) == ("in your wallet.", False)
    assert money.next == "you: send the deposit within 10:00"
    assert deposit_money(WAITING, NOW + timedelta(minutes=9), sent=False).urgent


def test_once_it_left_it_is_on_its_way_and_nothing_is_asked_of_you() -> None:
    for now in (NOW, NOW + timedelta(minutes=11)):
        money = deposit_money(WAITING, now, sent=True)
        assert "on its way to" in money.where
        assert money.next == "the chain: it confirms the deposit"
        assert not money.urgent


def test_what_the_service_says_later_stands() -> None:
    done = WAITING.order.model_copy(update={"display_status": DisplayStatus.SWAP_COMPLETED.value})
    money = deposit_money(replace(WAITING, order=done, ended=True), NOW, sent=True)
    assert money.next == "nobody: nothing is left to do"


def test_a_hidden_or_expired_address_is_not_to_be_paid() -> None:
    hidden = deposit_money(replace(WAITING, withheld="It differs."), NOW, sent=False)
    assert hidden.next == "you: read why the address is hidden"
    over = deposit_money(WAITING, NOW + timedelta(minutes=11), sent=False)
    assert over.next == "nobody: do not send to its address any more"


def test_an_address_is_drawn_until_its_deadline_and_no_longer() -> None:
    last = WAITING.order.expires - timedelta(milliseconds=1)
    assert deposit_phase(WAITING, last) is DepositPhase.WAITING
    assert deposit_phase(WAITING, WAITING.order.expires) is DepositPhase.EXPIRED
    hidden = replace(WAITING, withheld="It differs.", standing=DepositRelease.DIFFERS)
    assert deposit_phase(hidden, last) is DepositPhase.HIDDEN


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (None, "the service: it sets up the deposit address"),
        (WAITING.order.deposit_address, "the service: it repeats the order"),
    ],
)
def test_until_the_service_gave_and_repeated_the_address_the_service_acts(
    address: str | None, said: str
) -> None:
    new = WAITING.order.model_copy(update={"deposit_address": address})
    one = replace(WAITING, order=new, withheld="Not yet.", standing=DepositRelease.UNREPEATED)
    money = deposit_money(one, NOW, sent=False)
    assert money.where == "in your wallet."
    assert money.next.startswith(said)
    over = deposit_money(one, NOW + timedelta(minutes=11), sent=False)
    assert over.next == "nobody: do not send to its address any more"
    assert deposit_phase(one, NOW) is DepositPhase.HIDDEN
    assert deposit_phase(one, NOW + timedelta(minutes=11)) is DepositPhase.EXPIRED
