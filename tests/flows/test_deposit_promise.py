"""What the wallet is told of a deposit: what the order asks for, beside what was confirmed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from flows.deposits import PLACE, waiting
from flows.orders import NOW, intent, order
from flows.signing import TRADING
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.deposits.wallet_funding import (
    NotPayable,
    check_payable,
    deposit_payload,
    deposit_promise,
)
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.promise import DepositPromise

SOL = TokenFacts("6689b73ec90e45f3b3e51790", "SOL", "solana", "Solana", "sol", None, 9)
TRADER = derive_address("sol", b"t" * 32)
VENUE = derive_address("sol", b"v" * 32)


def account(kind: Kind, address: str) -> Account:
    return Account(address, kind, "trading", "sandbox", KeyOrigin.CREATED, None, NOW)


def on_solana(**changes: Any) -> TrackedOrder:
    """2.5 SOL for ether, at an exchange whose deposits carry a memo."""
    confirmed = intent(token_in=SOL, amount_in=Decimal("2.5"))
    made = order(confirmed, **{"deposit_address": VENUE, "deposit_tag": "70417", **changes})
    return TrackedOrder(made, confirmed, None, ended=False, seen_at=NOW, source="create")


def test_the_memo_and_the_amount_of_the_order_are_promised() -> None:
    tracked = on_solana(in_amount=Decimal("2.50001"))
    promise = deposit_promise(tracked, account(Kind.SOLANA, TRADER), Decimal(150))
    assert promise.deposit == DepositPromise(
        tracked.service_id, VENUE, "70417", 2_500_010_000, tracked.order.expires, None
    )
    assert (promise.account, promise.sell_units) == (TRADER, 2_500_000_000)
    check_payable(promise)


def test_a_token_is_paid_to_the_deposit_address_of_the_order() -> None:
    tracked = waiting(in_amount=Decimal("1000.05"))
    promise = deposit_promise(tracked, account(Kind.EVM, TRADING), None)
    payload = deposit_payload(promise)
    assert (payload.to, payload.value) == (promise.sell.contract, 0)
    assert payload.data[10:74].endswith(PLACE[2:].lower())
    assert int(payload.data[74:], 16) == 1_000_050_000


def test_a_memo_that_no_transfer_carries_is_not_left_out() -> None:
    promise = deposit_promise(waiting(deposit_tag="70417"), account(Kind.EVM, TRADING), None)
    with pytest.raises(NotPayable, match="memo"):
        deposit_payload(promise)


@pytest.mark.parametrize(
    "change",
    [
        {"deposit_address": None},
        {"deposit_address": "0x1234"},
        {"in_amount": None},
        {"in_amount": Decimal("0.0000001")},
        {"expires": None},
    ],
)
def test_an_order_that_does_not_say_all_of_it_is_not_paid(change: dict[str, Any]) -> None:
    with pytest.raises(NotPayable):
        deposit_promise(waiting(**change), account(Kind.EVM, TRADING), None)


def test_an_order_of_somebody_else_is_not_paid() -> None:
    with pytest.raises(NotPayable, match="not confirmed at this desk"):
        deposit_promise(replace(waiting(), intent=None), account(Kind.EVM, TRADING), None)
