"""What an order exchanges, by the names of this desk, and what came of it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from flows.orders import BTC, NOW, intent, order
from swapdesk.flows.orders.order_fields import ProceedsOutcome, get_label, proceeds, shown, symbols
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus


def test_a_token_is_called_as_it_was_confirmed() -> None:
    said = order(in_symbol="USDT", out_symbol="BTC")
    assert symbols(said, intent()) == ("BTC", "ETH")
    assert symbols(said) == ("USDT", "BTC")


def test_another_token_than_confirmed_keeps_the_words_of_the_service() -> None:
    other = order(in_symbol="DOGE", in_token_id="6689b73ec90e45f3b3e51599")
    assert symbols(other, intent()) == ("DOGE", "ETH")


def test_a_token_that_nobody_names() -> None:
    bare = order(in_symbol=None, out_symbol=None, in_token_id=None, out_token_id=None)
    assert symbols(bare) == ("?", "?")
    assert symbols(bare, intent()) == ("BTC", "ETH")


def test_a_sentence_takes_the_name_of_the_desk() -> None:
    lying = order(in_symbol="USDC", out_symbol="GOLD")
    tracked = TrackedOrder(lying, intent(), None, False, NOW, "journal")
    said = order_sentence(tracked, NOW)
    assert "0.5 BTC to 14.524108 ETH" in said
    assert "GOLD" not in said
    assert "USDC" not in said


@pytest.mark.parametrize(
    ("display", "outcome", "label", "spoken"),
    [
        (DisplayStatus.EXCHANGE_IN_PROGRESS, ProceedsOutcome.AHEAD, "You get", " to 14.524108 ETH"),
        (DisplayStatus.SWAP_COMPLETED, ProceedsOutcome.GOT, "You got", " to 14.524108 ETH"),
        (
            DisplayStatus.FAILED,
            ProceedsOutcome.MISSED,
            "You were to get",
            ", was to be 14.524108 ETH",
        ),
        (
            DisplayStatus.EXPIRED,
            ProceedsOutcome.MISSED,
            "You were to get",
            ", was to be 14.524108 ETH",
        ),
        (
            DisplayStatus.DELETED,
            ProceedsOutcome.MISSED,
            "You were to get",
            ", was to be 14.524108 ETH",
        ),
        (DisplayStatus.REFUNDED, ProceedsOutcome.CAME_BACK, "Came back", ", came back 0.4999 BTC"),
    ],
)
def test_what_came_of_it(
    display: DisplayStatus, outcome: ProceedsOutcome, label: str, spoken: str
) -> None:
    over = order(display_status=display.value, refund_amount=Decimal("0.4999"))
    found = proceeds(over, intent())
    assert (found.outcome, get_label(found.outcome)) == (outcome, label)
    tracked = TrackedOrder(over, intent(), None, True, NOW, "journal")
    assert f"0.5 BTC{spoken}, standard" in order_sentence(tracked, NOW)


def test_a_list_shows_nothing_where_nothing_came() -> None:
    failed = proceeds(order(display_status="FAILED"))
    silent = proceeds(order(display_status="REFUNDED"), intent())
    back = proceeds(order(display_status="REFUNDED", refund_amount=Decimal("0.3")), intent())
    assert (shown(failed), shown(silent), shown(back)) == (("—", ""), ("—", ""), ("0.3", "BTC"))


def test_a_refund_of_an_unknown_amount_is_said_without_one() -> None:
    tracked = TrackedOrder(order(display_status="REFUNDED"), intent(), None, True, NOW, "journal")
    assert "0.5 BTC, the BTC came back, standard" in order_sentence(tracked, NOW)


def test_a_name_of_the_same_token_follows_the_catalogue() -> None:
    renamed = intent(token_in=replace(BTC, symbol="XBT"))
    assert symbols(order(), renamed) == ("XBT", "ETH")
