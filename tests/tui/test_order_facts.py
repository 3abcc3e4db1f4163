"""The facts of one order: what was promised, what was done, links and payout memos."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from flows.orders import BTC, ETH, NOW
from flows.test_order_transactions import token
from swapdesk.chain.addresses.payments import short_memo_label
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Sender, TransactionRole
from swapdesk.flows.orders.deposit_destination import ON_ITS_WAY
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.screens.deposit import deposit_state
from swapdesk.tui.screens.order import order_facts, transaction_page
from swapdesk.tui.spans import line_of, plain_text
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.tui.widgets.order_table import pair_spans
from swapdesk.wire.chains import Chain
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.tokens import Token
from tui.known_orders import HASH, XRP, Known, ended, ended_now, exchanging, waiting

LINK = f"https://explorer.example/tx/{HASH}"


def facts(known: Known, *, live: bool = False, **confirmed: Any) -> dict[str, str]:
    """Label to text."""
    shown = found(known, live=live, **confirmed)
    return {fact.label: "".join(span.text for span in line_of(fact.value)) for fact in shown}


def found(
    known: Known, made: Sequence[OrderTransaction] = (), *, live: bool = False, **confirmed: Any
) -> list[Fact]:
    """The facts of an order as its screen has them."""
    of = replace(known.intent, **confirmed) if known.intent is not None else None
    tracked = TrackedOrder(known.states[-1], of, None, ended_now(known.states[-1]), NOW, "stream")
    return order_facts(tracked, order_status(tracked, NOW), NOW, made, live=live)


@pytest.mark.parametrize("state", [waiting, exchanging])
def test_before_the_end_the_order_only_says_an_amount(state: Any) -> None:
    known = state(ManualClock(NOW), out_amount=Decimal("1.7"), quoted_out_amount=Decimal("1.8"))
    said = facts(known)["Quoted"]
    assert said.startswith("1.8 at Halyard, the order says 1.7 ETH")
    assert "executed" not in said


def test_a_completed_order_was_executed() -> None:
    known = ended(
        ManualClock(NOW),
        "c5Rf1JzAsDfGhJkLqWeRtY",
        DisplayStatus.SWAP_COMPLETED,
        out_amount=Decimal("1.7"),
        quoted_out_amount=Decimal("1.8"),
    )
    assert "executed 1.7 ETH" in facts(known)["Quoted"]


def test_an_amount_that_is_rounded_above_stands_exactly_among_the_facts() -> None:
    exact = Decimal("0.06934956")
    shown = facts(exchanging(ManualClock(NOW), in_amount=exact))
    assert shown["Asked for"] == "0.06934956 BTC"
    less = exchanging(ManualClock(NOW), in_amount=exact, out_amount=Decimal(12))
    assert facts(less)["Asked for"] == "0.06934956 BTC"
    assert "You sent" not in facts(exchanging(ManualClock(NOW))), "0.5 BTC is exact above"


def test_no_explorer_is_named_for_a_sandbox_transaction() -> None:
    known = exchanging(ManualClock(NOW), hash_url=LINK)
    shown = facts(known)
    assert shown["Link"] == "sandbox transaction, no explorer knows it"
    assert "Deposit tx" not in shown, "nobody says of which transaction it is"
    assert LINK not in shown.values()
    assert facts(known, live=True)["Link"] == LINK


def test_a_payout_stands_once_with_what_is_to_be_said_of_it() -> None:
    known = exchanging(ManualClock(NOW), hash_url=LINK, in_transaction_out_hash=HASH)
    labels = [fact.label for fact in found(known)]
    assert labels.count("Payout tx") == 1
    assert "Deposit tx" not in labels
    (payout,) = (fact for fact in found(known) if fact.label == "Payout tx")
    assert (payout.address, payout.link) == (HASH, "")
    assert payout.below == ("sandbox transaction, no explorer knows it",)
    (payout,) = (fact for fact in found(known, live=True) if fact.label == "Payout tx")
    assert payout.below == ()


def test_the_page_of_a_transaction_is_that_of_its_chain() -> None:
    """``explorerUrl`` is the template; ``hashUrl`` stands where it differs (contract 5.1)."""
    chain = Chain(
        id="1",
        name="Ethereum",
        short_name="ethereum",
        kind="evm",
        explorer_url="https://etherscan.io/tx/{txHash}",
    )
    token = Token(id=ETH.id, chain="ethereum", chain_data=chain, decimals=18, symbol="ETH", name="")
    other = chain.model_copy(update={"hash_url": "https://blockchair.com/tx/{txHash}"})
    assert transaction_page(token, "0x1") == "https://etherscan.io/tx/0x1"
    asked = token.model_copy(update={"chain_data": other})
    assert transaction_page(asked, "0x1") == "https://blockchair.com/tx/0x1"
    assert transaction_page(None, "0x1") == ""


def test_the_payout_tag_stands_under_its_word() -> None:
    known = exchanging(ManualClock(NOW), receiver_tag="42")
    assert facts(known)["With memo"] == "42"
    none = exchanging(ManualClock(NOW), out_token=None)
    assert facts(none, token_out=XRP, memo_waived=True)["With tag"] == "none, as you typed"
    assert "With tag" not in facts(none, token_out=XRP)


def test_a_label_is_one_whole_word() -> None:
    assert short_memo_label("destination tag") == "Tag"
    assert short_memo_label("memo") == "Memo"


def test_a_refund_without_an_amount_is_told_on_order_and_deposit_card() -> None:
    known = ended(ManualClock(NOW), "r2No5AzAsDfGhJkLqWeRtY", DisplayStatus.REFUNDED)
    assert facts(known)["Refunded"] == "the service does not say how much"
    of = TrackedOrder(known.states[-1], known.intent, None, True, NOW, "stream")
    card = {fact.label: fact for fact in deposit_state(of, NOW).facts}
    said = plain_text(line_of(card["Came back"].value))
    assert said == "the BTC; the service does not say how much"
    assert plain_text(pair_spans(of)) == "0.5 BTC \N{RIGHTWARDS ARROW} the BTC came back"


OTHER = "0x" + "ab" * 32
SENT = OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.CONFIRMED, Sender.WALLET)


@pytest.mark.parametrize("live", [True, False])
def test_what_this_desk_sent_stands_with_its_page(live: bool) -> None:
    """Also once the order's link is the payout's."""
    known = exchanging(
        ManualClock(NOW),
        in_token=token(BTC, "https://mempool.space/tx/{txHash}"),
        hash_url="https://else.example/1",
    )
    swap = OrderTransaction(TransactionRole.SWAP, OTHER, Fate.FAILED, Sender.WALLET)
    shown = {fact.label: fact for fact in found(known, (SENT, swap), live=live)}
    assert shown["Deposit tx"].copied == HASH
    assert shown["Swap tx"].note == "failed"
    assert shown["Deposit tx"].link == (f"https://mempool.space/tx/{HASH}" if live else "")
    assert bool(shown["Deposit tx"].below) is not live
    assert shown["Went to"].address == known.states[-1].deposit_address


def test_a_deposit_that_is_paid_here_has_no_place_to_pay_to() -> None:
    known = waiting(ManualClock(NOW))
    of = TrackedOrder(known.states[-1], known.intent, None, False, NOW, "stream")
    labels = [fact.label for fact in order_facts(of, order_status(of, NOW), NOW, live=False)]
    assert "Deposit to" in labels
    assert "Send" in labels
    made = (OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.SENT, Sender.WALLET),)
    shown = {
        fact.label: fact
        for fact in order_facts(of, order_status(of, NOW, made), NOW, made, live=False)
    }
    assert "Deposit to" not in shown
    assert "Send" not in shown
    assert shown["Went to"].below == (ON_ITS_WAY,)
    assert shown["Deposit tx"].note == "sent"


def test_the_deposit_the_service_named_before_is_told_when_its_link_is_another() -> None:
    told = OrderTransaction(TransactionRole.DEPOSIT, HASH, Fate.SEEN, Sender.SERVICE)
    known = ended(ManualClock(NOW), "c5Rf1JzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED)
    shown = {fact.label: fact for fact in found(known, (told,))}
    assert shown["Deposit tx"].address == HASH
    assert "Deposit tx" not in {fact.label for fact in found(known)}
