"""A price list says what the prices are, in whatever sequence it is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.sandbox import exchange
from swapdesk.sandbox.exchange import PriceList
from swapdesk.sandbox.market import Market, book_of, limits_of, minutes_of
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import find_token
from swapdesk.service.venues.adapter import Terms

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MARKET = Market(7)
ROW = next(row for row in VENUE_ROWS if row.fixed_spread is not None)
TOKENS = [
    find_token("bitcoin", "BTC"),
    find_token("ethereum", "ETH"),
    find_token("ethereum", "USDC"),
]
PAIRS = [(one, other) for one in TOKENS for other in TOKENS if one is not other]
QUESTIONS = st.tuples(
    st.sampled_from(PAIRS),
    st.integers(0, 40).map(lambda seconds: NOON + timedelta(seconds=seconds)),
    st.builds(
        Terms, st.booleans(), st.just(value=False), st.sampled_from([Decimal(0), Decimal(1)])
    ),
    st.sampled_from([Decimal(1), Decimal(30), Decimal(200)]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(QUESTIONS, min_size=1, max_size=12), st.sampled_from([2, 1_024]))
def test_what_is_kept_is_what_would_be_said_anew(
    questions: list[tuple[exchange.Pair, datetime, Terms, Decimal]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "KEPT", most)
        prices = PriceList(ROW, MARKET)
        for pair, at, terms, speed in questions:
            assert prices.book(pair, at, terms) == book_of(MARKET, ROW, *pair, at, terms)
            assert prices.minutes(pair, speed) == minutes_of(ROW, *pair, speed)
            assert prices.limits(pair[0]) == limits_of(ROW, pair[0])


def test_a_book_stands_for_its_bucket_of_time() -> None:
    prices, floating = PriceList(ROW, MARKET), Terms()
    book = prices.book(PAIRS[0], NOON, floating)
    assert prices.book(PAIRS[0], NOON + timedelta(seconds=9), floating) is book
    assert prices.book(PAIRS[0], NOON + timedelta(seconds=10), floating) != book
