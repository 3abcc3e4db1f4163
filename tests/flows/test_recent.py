"""What was asked before is written as it was asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from flows.orders import NOW, intent, order
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import parse_intent_line
from swapdesk.flows.quotes.recent import _said, newest_intents, recent_lines
from swapdesk.flows.tracking.latest import markets_of


def asked(catalog: Catalog, **changes: object) -> Intent:
    sold, bought = resolve("btc", catalog).token, resolve("eth", catalog).token
    assert sold is not None
    assert bought is not None
    return intent(token_in=TokenFacts.of(sold), token_out=TokenFacts.of(bought), **changes)


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


def test_markets_are_those_of_the_newest_intents(catalog: Catalog) -> None:
    bought = resolve("sol", catalog).token
    assert bought is not None
    newer = asked(catalog, frozen_at=NOW)
    newer = replace(newer, token_out=TokenFacts.of(bought))
    older = asked(catalog, frozen_at=NOW - timedelta(days=1))
    unknown = replace(older, token_in=replace(older.token_in, id="f" * 24))
    found = markets_of([newer, unknown, older], catalog, 9)
    assert [one.id for one in found] == [
        newer.token_in.id,
        newer.token_out.id,
        older.token_out.id,
    ]
    assert markets_of([newer, older], catalog, 2) == found[:2]
