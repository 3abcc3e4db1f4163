"""The duel of the three kinds of routes, and why one is missing."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from flows.test_ranking import LATER, NOW, quote
from flows.test_waterfall import SOLD, WISH, board
from swapdesk.flows.quotes.quote_columns import compare_route_types
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.wire.quotes import RouteType


def test_each_kind_is_its_best_valid_route() -> None:
    asked = board(
        quote(1, "2"),
        quote(3, "2.1"),
        quote(2, "1.9", type="private", swap=None, swap_name=None),
        quote(4, "3", type="dex"),
    )
    standard, private, chain = compare_route_types(asked, NOW)
    assert standard.holds == "one exchange, Venue 3"
    assert private.holds == "two exchanges, one after the other"
    assert private.knows == "each knows one side only"
    assert chain.holds == "nobody; a contract on Bitcoin"
    assert [way.missing for way in compare_route_types(asked, LATER)] == ["expired"] * 3


@pytest.mark.parametrize(
    ("wish", "kind", "said"),
    [
        (replace(WISH, types=(RouteType.STANDARD,)), 1, "not asked for"),
        (replace(WISH, providers=("aa",)), 1, "not asked for: chosen providers leave it out"),
        (replace(WISH, markup=Decimal(1)), 2, "not asked for: a markup leaves it out"),
        (replace(WISH, fixed=True, floating=False), 2, "has no fixed rate"),
        (replace(WISH, token_out=SOLD), 0, "the same token goes by private routes only"),
        (WISH, 0, "the service offers none for these tokens"),
    ],
)
def test_a_missing_kind_says_why(wish: QuoteRequest, kind: int, said: str) -> None:
    assert compare_route_types(board(wish=wish), NOW)[kind].missing == said


def test_a_missing_kind_repeats_the_reason_of_its_route() -> None:
    refused = quote(1, None, error="no liquidity", type="dex")
    assert compare_route_types(board(refused), NOW)[2].missing == 'the service says: "no liquidity"'
