"""The moment of confirmation: what is frozen is what was checked, all of it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from flows.orders import NOW
from flows.test_recipients import BTC, ETH, EVM, XRP
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.confirm_intent import NotLockable, lock_for_review
from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payees.recipients import (
    RecipientCheck,
    check_memo,
    check_recipient,
    check_refund,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import rank
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token


def board(token_in: Token, **fields: Any) -> QuoteResult:
    quote = Quote(quote_id="a" * 24, type="standard", swap="hy", amount_out=Decimal(1), **fields)
    ranking = rank([quote], now=NOW, expires=lambda _: NOW + timedelta(seconds=60))
    return QuoteResult(NOW, NOW, ranking, QuoteRequest(token_in, ETH, Decimal(100)))


def refund_of(text: str, token: Token, book: AddressBook, **given: Any) -> RecipientCheck:
    return check_refund(text, token, required=True, book=book, paid={}, **given)


def frozen(token_in: Token, refund: RecipientCheck | None, book: AddressBook) -> Intent:
    asked = board(token_in, requires_refund_address=True)
    recipient = check_recipient(EVM, ETH, book=book, paid={})
    memo = check_memo("", False, ETH)
    (row,) = asked.ranking.rows
    kind = IntentKind.EXCHANGE
    return lock_for_review(kind, row, asked, recipient, memo, refund, ManualClock(NOW))


def test_the_refund_memo_of_a_name_is_posted_with_its_address(book: AddressBook) -> None:
    refund = refund_of("@rita", XRP, book)
    intent = frozen(XRP, refund, book)
    assert (intent.refund_address, intent.refund_memo) == (refund.address, "20117")


def test_a_given_refund_memo_stands_before_that_of_the_name(book: AddressBook) -> None:
    assert frozen(XRP, refund_of("@rita", XRP, book, memo="7"), book).refund_memo == "7"
    assert frozen(XRP, refund_of("@rita", XRP, book, memo=""), book).refund_memo is None


@pytest.mark.parametrize("wrong", ["not a tag", "4294967296"])
def test_a_refund_memo_that_is_none_is_refused(wrong: str, book: AddressBook) -> None:
    refund = refund_of("@rita", XRP, book, memo=wrong)
    assert not refund.ok
    assert refund.problem
    with pytest.raises(NotLockable):
        frozen(XRP, refund, book)


def test_a_chain_without_memos_takes_no_refund_memo(book: AddressBook) -> None:
    refund = refund_of("@cold", BTC, book, memo="1")
    assert refund.problem == "Bitcoin has no memos. Leave it empty."


def test_no_refund_address_has_no_memo(book: AddressBook) -> None:
    with pytest.raises(NotLockable):
        frozen(XRP, None, book)
    free = check_refund("", XRP, required=False, book=book, paid={}, memo="7")
    assert free.memo is None
