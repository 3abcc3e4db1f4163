"""What a route costs and promises: lines that sum or say they do not, the best of each kind of
route, and the least that can arrive. Nothing is invented."""

from __future__ import annotations

from datetime import timedelta
from decimal import Context, Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.signing import swap_intent
from flows.test_ranking import LATER, NOW, quote
from flows.test_recipients import BTC, ETH
from swapdesk.flows.creation.order_verification import (
    confirmed_least,
    promised_least,
)
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.quotes.quote_columns import (
    SumVerdict,
    Waterfall,
    compare_route_types,
    remark,
    waterfall,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import Arrangement, rank
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.quotes import Quote

SOLD = BTC.model_copy(update={"price": Decimal(96420)})
WISH = QuoteRequest(SOLD, ETH, Decimal("0.5"))


def board(*quotes: Quote, wish: QuoteRequest = WISH) -> QuoteResult:
    ends = [(one, one.valid_until or LATER) for one in quotes]
    return QuoteResult(NOW, NOW, rank(ends, wish, NOW), wish)


def dex(number: int = 1, out: str = "14.527790", net: str = "14.509331", **fields: Any) -> Quote:
    amounts = {
        "amount_out": Decimal(out),
        "net_amount_out": Decimal(net),
        "amount_out_usd": Decimal("48102.39"),
        "fee_usd": Decimal("61.12"),
        "gas": Decimal(1_240_000),
        "gas_usd": Decimal("4.10"),
        **fields,
    }
    return quote(number, None, type="dex", **amounts)


def explained(*quotes: Quote, wish: QuoteRequest = WISH) -> Waterfall:
    asked = board(*quotes, wish=wish)
    return waterfall(asked, asked.ranking.rows[0])


def step(found: Waterfall, label: str) -> Any:
    return next((one for one in found.steps if one.label == label), None)


Facts = dict[str, dict[str, Any] | None]
"""Of the steps by their labels; None for one that is not there."""
MARKED = {"fee_usd": Decimal("60.8"), "amount_out_usd": Decimal(38)}
ON_CHAIN = dex(bridge_fee_usd=Decimal("12.40"), applied_api_markup=Decimal(0))
PRIVATE = quote(1, "14.4", type="private")
CHOSEN = {
    "word": "not told",
    "known": "unknown",
    "amount": None,
    "how": "the service chooses where the legs meet",
}
PINNED = {
    "word": "XMR",
    "known": "you",
    "part": "send",
    "how": "the legs meet on Monero",
}
SUMS, DIFFERS, GROSS, UNSTATED = get_args(SumVerdict)


@pytest.mark.parametrize(
    ("row", "wish", "verdict", "said", "steps"),
    [
        pytest.param(
            ON_CHAIN,
            WISH,
            SUMS,
            "",
            {
                "You send": {
                    "amount": Decimal("0.5"),
                    "unit": "sold",
                    "known": "you",
                    "how": "$48,210.00 at $96,420.00",
                },
                "Provider pays out": {"known": "service"},
                "Provider fee": {"known": "derived", "how": "$61.12 ÷ $3,311.06"},
                "Partner markup": {"amount": 0},
                "Gas": {"part": "outside", "how": "1,240,000 gas, $4.10"},
                "Bridge fee": {"amount": Decimal("12.40"), "unit": "usd"},
                "All-in": {"how": "net − gas, rank stays 1"},
                "Check": {"how": "the lines above add up"},
            },
            id="on a chain",
        ),
        pytest.param(
            dex(net="14.4"),
            WISH,
            DIFFERS,
            "Δ 0.75%: the lines give A, the service says B. Ranked by the service's number.",
            {},
            id="does not add up",
        ),
        pytest.param(
            dex(net="14.527790"),
            WISH,
            GROSS,
            "The service took no fee out of this amount: it flatters the route.",
            {"Provider fee": {"part": "outside"}},
            id="gross",
        ),
        pytest.param(
            dex(net="14.527790", amount_out_usd=None),
            WISH,
            GROSS,
            "The service took no fee out of this amount: it flatters the route.",
            {
                "Provider fee": {
                    "amount": Decimal("61.12"),
                    "unit": "usd",
                    "part": "outside",
                },
                "Gas": {"unit": "usd"},
                "All-in": {"known": "unknown"},
                "Value difference": {"word": "?"},
            },
            id="gross without a price",
        ),
        pytest.param(
            # Nothing stands beside what is paid out, so nothing was added.
            quote(1, "14.5"),
            WISH,
            SUMS,
            "",
            {
                "Provider fee": {"word": "in price", "known": "unknown", "amount": None},
                "Partner markup": {"word": "?", "known": "unknown"},
                "Gas": None,
                "Bridge fee": None,
                "Middle": None,
                "Check": {"how": "net is what is paid out"},
                "All-in": {"how": "net, no gas, rank stays 1"},
            },
            id="fee in the price",
        ),
        pytest.param(
            quote(1, None, amount_out=Decimal(10), net_amount_out=Decimal(9)),
            WISH,
            UNSTATED,
            "The service pays out A and calls B net; it does not say why.",
            {},
            id="unexplained",
        ),
        pytest.param(
            dex(out="0.01", net="-0.006", **MARKED),
            WISH,
            SUMS,
            "The fees take more than the provider pays out.",
            {},
            id="fees above the amount",
        ),
        pytest.param(
            quote(1, "14.5", applied_api_markup=Decimal("0.50")),
            WISH,
            SUMS,
            "",
            {"Partner markup": {"word": "0.5%"}},
            id="markup",
        ),
        pytest.param(
            quote(1, "14.5", api_markup_value=Decimal(50), markup_type="bp"),
            WISH,
            SUMS,
            "",
            {"Partner markup": {"word": "50 bp"}},
            id="markup in points",
        ),
        pytest.param(
            quote(1, "14.5", api_markup_value=Decimal(50), markup_type="HOVERING"),
            WISH,
            SUMS,
            "",
            {"Partner markup": {"word": "50 HOVERING, an unknown unit"}},
            id="markup in an unknown unit",
        ),
        pytest.param(
            PRIVATE, replace(WISH, use_xmr=True), SUMS, "", {"Middle": PINNED}, id="middle pinned"
        ),
        pytest.param(PRIVATE, WISH, SUMS, "", {"Middle": CHOSEN}, id="middle not told"),
        pytest.param(
            PRIVATE, replace(WISH, use_xmr=False), SUMS, "", {"Middle": CHOSEN}, id="middle any"
        ),
        pytest.param(
            quote(1, "14.5"),
            replace(WISH, use_xmr=True),
            SUMS,
            "",
            {"Middle": None},
            id="no middle",
        ),
        pytest.param(
            quote(1, "2", amount_in=Decimal("0.07"), fixed=True),
            QuoteRequest(SOLD, ETH, Decimal(2), receive=True),
            SUMS,
            "",
            {
                "You send": {"amount": Decimal("0.07"), "known": "service"},
                "All-in": {"unit": "sold"},
            },
            id="in reverse",
        ),
    ],
)
def test_the_steps_of_a_route_name_their_sources(
    row: Quote, wish: QuoteRequest, verdict: SumVerdict, said: str, steps: Facts
) -> None:
    found = explained(row, wish=wish)
    assert (found.verdict, remark(found, "A", "B")) == (verdict, said)
    for label, facts in steps.items():
        one = step(found, label)
        told = None if one is None else {name: getattr(one, name) for name in facts or ()}
        assert told == facts, label


def test_amounts_follow_from_the_prices_of_the_answer() -> None:
    found = explained(ON_CHAIN)
    assert Decimal("-0.0185") < step(found, "Provider fee").amount < Decimal("-0.0184")
    all_in = found.net + step(found, "Gas").amount
    assert abs(step(found, "All-in").amount - all_in) < Decimal("1e-20")
    assert step(found, "Value difference").how.endswith(" of $48,210.00")
    gross = explained(dex(net="14.527790"))
    assert gross.lines == gross.net


money = st.decimals(min_value="0.000001", max_value=10**9, places=6)


@given(money, money, st.decimals(min_value=0, max_value=10**6, places=2), st.booleans())
def test_the_lines_are_what_is_paid_out_and_every_summed_step(
    out: Decimal, out_usd: Decimal, fee: Decimal, true_net: bool
) -> None:
    net = min(out, out - fee * out / out_usd) if true_net else out * Decimal("0.9")
    net = net.quantize(Decimal("1e-18"), context=Context(prec=80))
    found = explained(
        dex(out=f"{out:f}", net=f"{net:f}", amount_out_usd=out_usd, fee_usd=fee, gas_usd=None)
    )
    summed = [one.amount for one in found.of("line") if one.amount is not None]
    assert abs(sum(summed) - found.lines) <= (abs(found.lines) + out) * Decimal("1e-20")
    near = abs(found.net - found.lines) <= out * Decimal("0.005")
    assert (found.verdict in ("sums", "gross")) is near
    assert step(found, "Gas").word == "gas ?"


GAS = [
    dex(1, net="14.50", gas_usd=Decimal("0.10")),
    dex(2, net="14.51", gas_usd=Decimal(400)),
    dex(3, net="14.52", gas_usd=None),
    quote(4, "14.45", duration=Decimal(3)),
]
TIMES = [
    quote(1, "14.6", duration=None),
    quote(2, "14.5", duration=Decimal(9)),
    quote(3, "14.4", duration=Decimal(2)),
]
PLAIN = [("v1", 1), ("v2", 2), ("v3", 3)]
ONLY_STANDARD = Arrangement().narrowed(RouteType.STANDARD)


@pytest.mark.parametrize(
    ("rows", "arrangement", "places", "best"),
    [
        (GAS, Arrangement(), [("v3", 1), ("v2", 2), ("v1", 3), ("v4", 4)], "v3"),
        # Unknown gas comes last.
        (GAS, Arrangement().switched(), [("v1", 1), ("v4", 2), ("v2", 3), ("v3", 4)], "v1"),
        (
            GAS,
            Arrangement("time"),
            [("v4", 4), ("v3", 1), ("v2", 2), ("v1", 3)],
            "v3",
        ),
        # An unknown duration is last, and the places are those of the net.
        (TIMES, Arrangement("time"), [("v3", 3), ("v2", 2), ("v1", 1)], "v1"),
        # A filter hides rows and changes no place.
        (GAS, ONLY_STANDARD, [("v4", 4)], None),
        (TIMES, ONLY_STANDARD.narrowed(RouteType.STANDARD), PLAIN, "v1"),
        (TIMES, Arrangement().sorted_on().sorted_on().sorted_on(), PLAIN, "v1"),
    ],
)
def test_rows_stand_as_they_are_arranged(
    rows: list[Quote], arrangement: Arrangement, places: list[tuple[str, int]], best: str | None
) -> None:
    placed = arrangement.arrange(board(*rows).ranking, NOW)
    assert [(one.row.quote.swap, one.place) for one in placed] == places
    assert next((one.row.quote.swap for one in placed if one.best), None) == best


def test_differences_follow_the_best_row_that_is_still_valid() -> None:
    soon = NOW + timedelta(seconds=5)
    asked = board(quote(1, "3", valid_until=soon), quote(2, "2"), quote(3, "1"))
    later = Arrangement().arrange(asked.ranking, NOW + timedelta(seconds=6))
    assert [one.best for one in later] == [False, True, False]
    assert [one.vs_best_amount for one in later] == [1, 0, -1]


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
        (WISH, 2, 'the service says: "no liquidity"'),
        (replace(WISH, types=(RouteType.STANDARD,)), 1, "not asked for"),
        (replace(WISH, providers=("aa",)), 1, "not asked for: chosen providers leave it out"),
        (replace(WISH, markup=Decimal(1)), 2, "not asked for: a markup leaves it out"),
        (replace(WISH, fixed=True, floating=False), 2, "has no fixed rate"),
        (replace(WISH, token_out=SOLD), 0, "the same token goes by private routes only"),
        (WISH, 0, "the service offers none for these tokens"),
    ],
)
def test_a_missing_kind_says_why(wish: QuoteRequest, kind: int, said: str) -> None:
    refused = quote(1, None, error="no liquidity", type="dex")
    assert compare_route_types(board(refused, wish=wish), NOW)[kind].missing == said


ON_A_CHAIN = quote(1, "14.5", type="dex")
REVERSE = quote(1, "2.001", amount_in=Decimal("0.07"), fixed=True)


@pytest.mark.parametrize(
    ("row", "wish", "least"),
    [
        (quote(1, "14.5"), {}, None),
        (quote(1, "14.5", type="private"), {}, None),
        (quote(1, "14.5", fixed=True), {}, "14.5"),
        (REVERSE, {"amount": Decimal(2), "receive": True}, "2"),
        (ON_A_CHAIN, {}, "14.4275"),
        (ON_A_CHAIN, {"slippage": Decimal(2)}, "14.21"),
        (ON_A_CHAIN, {"slippage": Decimal(0)}, "14.5"),
    ],
)
def test_the_least_is_what_somebody_promised(
    row: Quote, wish: dict[str, Any], least: str | None
) -> None:
    asked = board(row, wish=replace(WISH, **wish))
    promised = None if least is None else Decimal(least)
    assert promised_least(asked, asked.ranking.rows[0]) == promised


def test_the_least_of_an_intent_is_that_of_its_route_on_a_chain_what_the_wallet_is_promised() -> (
    None
):
    intent = swap_intent()
    least = confirmed_least(intent)
    promise = promise_of(intent)
    assert least == from_base_units(promise.least_units, promise.buy.decimals)
    assert least == Decimal("0.298829345")
    floating = swap_intent(route="standard", dex=None, fixed=False)
    assert confirmed_least(floating) is None
    fixed = swap_intent(route="standard", dex=None, fixed=True, net_amount_out=Decimal("0.3"))
    assert confirmed_least(fixed) == Decimal("0.3")
