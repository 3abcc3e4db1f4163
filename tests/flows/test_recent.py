"""What this desk asked before, written as it was asked, and what became of its orders at each
provider."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from msgspec.structs import replace

from flows.marketplace import token
from flows.orders import NOW, intent, order
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.creation.confirm_intent import (
    NotAgain,
    TypedBefore,
    came_to_nothing,
    same_again,
)
from swapdesk.flows.intents.intent import DepositRelease, Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import parse_intent_line
from swapdesk.flows.quotes.quote_request import PLAIN
from swapdesk.flows.quotes.recent import (
    ProviderRecord,
    _said,
    newest_intents,
    provider_records,
    recent_lines,
    record_lines,
)
from swapdesk.flows.tracking.open_business import markets_of
from swapdesk.wire.orders import DisplayStatus


def asked(catalog: Catalog, **changes: object) -> Intent:
    sold, bought = TokenFacts.of(token(catalog, "btc")), TokenFacts.of(token(catalog, "eth"))
    return intent(token_in=sold, token_out=bought, **changes)


def test_a_stated_output_is_asked_for_again_as_such(catalog: Catalog, book: AddressBook) -> None:
    reverse = asked(catalog, fixed=True, receive=True, amount_out=Decimal(2))
    plain = asked(catalog)
    known = [
        TrackedOrder(order(one, service_id=f"{at}"), one, None, False, NOW, "list")
        for at, one in enumerate((reverse, plain))
    ]
    lines = recent_lines(newest_intents(known), catalog)
    assert [line.text for line in lines] == ["=2 btc eth", "0.5 btc eth"]
    read = parse_intent_line(lines[0].text, catalog, book)
    assert (read.ready, read.receive, read.amount) == (True, True, 2)


def test_the_same_line_asked_for_years_is_one_and_hides_none(catalog: Catalog) -> None:
    daily = asked(catalog)
    orders = [
        TrackedOrder(order(one, service_id=f"{at:04d}"), one, None, False, NOW, "list")
        for at, one in enumerate(
            replace(daily, recipient=f"0x{day:040x}", frozen_at=NOW - timedelta(days=day))
            for day in range(900)
        )
    ]
    once = asked(catalog, amount_in=Decimal(3), frozen_at=NOW - timedelta(days=950))
    orders.append(TrackedOrder(order(once, service_id="once"), once, None, False, NOW, "list"))
    intents = newest_intents(reversed(orders))
    assert len({_said(one) for one in intents}) == 2
    assert [one.frozen_at for one in intents] == sorted(
        (one.frozen_at for one in intents), reverse=True
    )
    lines = recent_lines(intents, catalog)
    assert [(line.text, line.at) for line in lines] == [
        ("0.5 btc eth", NOW),
        ("3 btc eth", once.frozen_at),
    ]
    assert len(newest_intents(orders, 10)) == 10
    assert newest_intents(orders, 10) == newest_intents(reversed(orders), 10)


def test_what_came_to_nothing_is_asked_for_again_as_it_was_typed(catalog: Catalog) -> None:
    named = asked(catalog, recipient_label="@bob", memo="7", refund_address="bc1qrefund")
    expired = TrackedOrder(order(named, display_status="EXPIRED"), named, None, True, NOW, "list")
    again = same_again(expired, catalog, PLAIN)
    assert came_to_nothing(expired)
    assert (again.wish.amount, again.wish.token_out.symbol) == (Decimal("0.5"), "ETH")
    assert again.typed == TypedBefore("@bob", "7", "bc1qrefund")
    reverse = asked(catalog, fixed=True, receive=True, amount_out=Decimal(2))
    asked_back = same_again(replace(expired, intent=reverse), catalog, PLAIN)
    assert (asked_back.wish.receive, asked_back.wish.amount) == (True, 2)
    assert asked_back.typed.recipient == reverse.recipient
    # One that was made elsewhere has the input that the service tells.
    ids = {"in_token_id": named.token_in.id, "out_token_id": named.token_out.id}
    told = order(named, display_status="FAILED", receiver_tag="9", **ids)
    foreign = TrackedOrder(told, None, None, True, NOW, "list")
    again = same_again(foreign, catalog, PLAIN)
    assert (again.typed.recipient, again.typed.memo) == (told.receiver_address, "9")
    gone = replace(foreign, order=told.model_copy(update={"out_token_id": "f" * 24}))
    with pytest.raises(NotAgain):
        same_again(gone, catalog, PLAIN)


@pytest.mark.parametrize(
    ("display", "standing", "nothing"),
    [
        ("EXPIRED", DepositRelease.RELEASED, True),
        ("FAILED", DepositRelease.FOREIGN, True),
        ("REFUNDED", DepositRelease.RELEASED, True),
        ("WAITING_FOR_DEPOSIT", DepositRelease.DIFFERS, True),
        ("WAITING_FOR_DEPOSIT", DepositRelease.RELEASED, False),
        ("EXCHANGE_IN_PROGRESS", DepositRelease.RELEASED, False),
        ("SWAP_COMPLETED", DepositRelease.RELEASED, False),
        ("SOMETHING_NEW", DepositRelease.RELEASED, False),
    ],
)
def test_only_what_came_to_nothing_is_asked_for_again(
    display: str, standing: DepositRelease, nothing: bool
) -> None:
    told = order(display_status=display)
    assert came_to_nothing(TrackedOrder(told, None, None, False, NOW, "list", standing)) is nothing


def test_markets_are_those_of_the_newest_intents(catalog: Catalog) -> None:
    newer = replace(asked(catalog), token_out=TokenFacts.of(token(catalog, "sol")))
    older = asked(catalog, frozen_at=NOW - timedelta(days=1))
    unknown = replace(older, token_in=replace(older.token_in, id="f" * 24))
    found = markets_of([newer, unknown, older], catalog, 9)
    assert [one.id for one in found] == [
        newer.token_in.id,
        newer.token_out.id,
        older.token_out.id,
    ]
    assert markets_of([newer, older], catalog, 2) == found[:2]


def ended(display, *, of=None, minutes=None, out=None, **changes):
    of = of or intent()
    changes["display_status"] = display.value
    if minutes is not None:
        changes["order_finished_received"] = NOW + timedelta(minutes=minutes)
    if out is not None:
        changes["out_amount"] = Decimal(out)
    return TrackedOrder(order(of, **changes), of, None, True, NOW, "stream")


DONE, BACK, LOST = DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED


def test_a_record_counts_ends_and_takes_medians():
    quoted = intent().amount_out
    orders = [
        ended(DONE, minutes=10, out=quoted),
        ended(DONE, minutes=12, out=quoted * Decimal("0.99")),
        ended(DONE, minutes=60, out=quoted * Decimal("1.01")),
        ended(BACK),
        ended(LOST),
    ]
    assert provider_records(orders) == {
        "hy": ProviderRecord(3, 1, 1, Decimal(12), Decimal(14), Decimal(0))
    }


def test_what_has_not_ended_or_is_not_ours_counts_nowhere():
    waiting = ended(DisplayStatus.WAITING_FOR_DEPOSIT)
    expired = ended(DisplayStatus.EXPIRED)
    private = ended(DONE, in_=None)
    other_desk = ended(DONE)
    other_desk = TrackedOrder(other_desk.order, None, None, True, NOW, "stream")
    assert provider_records([waiting, expired, private, other_desk]) == {}


def test_an_order_that_tells_no_times_is_counted_all_the_same():
    quoted = intent().amount_out
    record = provider_records([ended(DONE, out=quoted, eta=None)])["hy"]
    assert (record.completed, record.minutes, record.said) == (1, None, None)
    early = ended(DONE, minutes=-5, out=quoted)
    assert provider_records([early])["hy"].minutes is None


def test_the_record_in_words():
    record = ProviderRecord(3, 1, 0, Decimal(12), Decimal(14), Decimal("-0.5"))
    assert record_lines(record) == [
        ("Your orders there", "3 of 4 completed"),
        ("Refunded", "1"),
        ("Took, median", "12m, said ~14m"),
        ("Paid to the quote", "−0.50%"),
    ]
    assert record_lines(None) == [("Your orders there", "none has ended yet")]
