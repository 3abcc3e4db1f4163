"""What was asked before is written as it was asked."""

from __future__ import annotations

from decimal import Decimal

from flows.orders import NOW, intent, order
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import parse_intent_line
from swapdesk.flows.quotes.recent import recent_lines


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
    lines = recent_lines(known, catalog)
    assert [line.text for line in lines] == ["=2 btc eth", "0.5 btc eth"]
    read = parse_intent_line(lines[0].text, catalog, book)
    assert (read.ready, read.receive, read.amount) == (True, True, 2)
