"""The least that can arrive: a figure only where somebody promised it."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from flows.signing import swap_intent
from flows.test_ranking import quote
from flows.test_waterfall import WISH, board
from swapdesk.flows.creation.minimum_received import NONE, Guarantor, guaranteed, guaranteed_by
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.quotes import Quote


def of(one: Quote, wish: QuoteRequest = WISH) -> object:
    asked = board(one, wish=wish)
    return guaranteed(asked, asked.ranking.rows[0])


def test_a_floating_rate_promises_no_amount() -> None:
    assert of(quote(1, "14.5")) == of(quote(1, "14.5", type="private")) == NONE
    assert NONE.least is None
    floating = swap_intent(route="standard", dex=None, fixed=False)
    assert guaranteed_by(floating) == NONE


def test_a_fixed_rate_is_promised_by_the_service() -> None:
    found = guaranteed(asked := board(quote(1, "14.5", fixed=True)), asked.ranking.rows[0])
    assert (found.by, found.least) == (Guarantor.SERVICE, Decimal("14.5"))
    reverse = replace(WISH, amount=Decimal(2), receive=True)
    asked = board(quote(1, "2.001", amount_in=Decimal("0.07"), fixed=True), wish=reverse)
    assert guaranteed(asked, asked.ranking.rows[0]).least == 2
    fixed = swap_intent(route="standard", dex=None, fixed=True, net_amount_out=Decimal("0.3"))
    assert guaranteed_by(fixed).least == Decimal("0.3")


def test_on_a_chain_the_least_is_what_the_wallet_is_promised() -> None:
    intent = swap_intent()
    found = guaranteed_by(intent)
    promise = promise_of(intent)
    assert found.by is Guarantor.CHAIN
    assert found.least == from_base_units(promise.least_units, promise.buy.decimals)
    assert found.least == Decimal("0.298829345")


def test_before_it_is_frozen_the_slippage_that_was_asked_for_counts() -> None:
    row = quote(1, "14.5", type="dex")
    for asked, least in ((None, "14.4275"), (Decimal(2), "14.21"), (Decimal(0), "14.5")):
        wish = replace(WISH, slippage=asked)
        found = guaranteed(one := board(row, wish=wish), one.ranking.rows[0])
        assert (found.by, found.least) == (Guarantor.CHAIN, Decimal(least))
