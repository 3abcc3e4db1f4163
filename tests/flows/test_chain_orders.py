"""Orders of swaps on chains: the tracker says what the chain awaits, and asks for no deposit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from flows.orders import NOW, order
from flows.signing import TRADING, swap_intent
from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.orders.order_summary import OrderSummary, summarise
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wallet.accounts import Account, Kind, Origin
from swapdesk.wire.orders import DisplayStatus

ACCOUNT = Account(
    TRADING, Kind.EVM, "trading", "sandbox", Origin.CREATED, None, datetime(2025, 6, 1, tzinfo=UTC)
)


def told(display: DisplayStatus, after: timedelta = timedelta(0)) -> OrderSummary:
    intent = swap_intent()
    known = order(intent, is_dex=True, deposit_address=None, display_status=display, in_status=None)
    tracked = TrackedOrder(known, intent, None, ended=False, seen_at=NOW, source="stream")
    return summarise(tracked, NOW + after)


def test_before_its_transaction_the_chain_is_awaited() -> None:
    said = told(DisplayStatus.WAITING_FOR_DEPOSIT)
    assert said.word == "Waiting for the chain"
    assert said.actor == "the chain"
    assert not said.payable
    assert "until the transaction is executed" in said.money


def test_after_its_deadline_nobody_is_told_not_to_send() -> None:
    said = told(DisplayStatus.WAITING_FOR_DEPOSIT, timedelta(hours=1))
    assert said.word == "Deadline over"
    assert "send" not in said.told.lower()
    assert said.money == "in your wallet, if its transaction was not executed."


@pytest.mark.parametrize(
    ("display", "word"),
    [
        (DisplayStatus.DEPOSIT_DETECTED, "On the chain"),
        (DisplayStatus.EXPIRED, "Expired"),
        (DisplayStatus.FAILED, "Failed"),
    ],
)
def test_no_state_speaks_of_a_deposit(display: DisplayStatus, word: str) -> None:
    said = told(display)
    assert said.word == word
    assert "deposit" not in said.told.lower()


def test_what_the_wallet_lacks_is_said_before_it_is_confirmed() -> None:
    account = SwapAccount(ACCOUNT, ACCOUNT, (ACCOUNT,), read_only=False)
    assert account.lack(Decimal(5), "USDC") is None
    poor = SwapAccount(ACCOUNT, ACCOUNT, (ACCOUNT,), False, balance=Decimal(4), coin=Decimal(1))
    assert poor.lack(Decimal(5), "USDC") == "wallet trading has 4 USDC"
    assert poor.lack(Decimal(4), "USDC") is None
    filling = SwapAccount(ACCOUNT, None, (), False, balance=Decimal(0), filling=True)
    assert filling.lack(Decimal(5), "USDC") == "the faucet sends USDC to wallet trading"
    looking = SwapAccount(ACCOUNT, None, (), read_only=True)
    assert (
        looking.lack(Decimal(5), "USDC") == "another desk has the wallet; sign there, or close it"
    )
