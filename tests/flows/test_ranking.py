"""Ranking: only usable routes, by what they pay, stable, and honest about what is missing.

What a route costs and promises: lines that sum or say they do not, the best of each kind of
route, and the least that can arrive. Nothing is invented.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.signing import swap_intent
from flows.test_recipients import BTC, ETH
from rows import each_row
from swapdesk.flows.creation.order_verification import confirmed_least, promised_least
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.quotes.quote_columns import (
    SumVerdict,
    Waterfall,
    compare_route_types,
    remark,
    waterfall,
)
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, end_of, value_difference
from swapdesk.flows.quotes.ranking import (
    Arrangement,
    Ranking,
    comparison_key,
    fees_kind,
    former_places,
    is_known_kind,
    rank,
)
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.quotes import Quote

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
LATER = NOW + timedelta(seconds=60)


def quote(number: int, out: str | None = "1", **fields: Any) -> Quote:
    amounts = {} if out is None else {"amount_out": Decimal(out), "net_amount_out": Decimal(out)}
    return Quote(
        **{
            "quote_id": f"{number:024x}",
            "type": "standard",
            "swap": f"v{number}",
            "swap_name": f"Venue {number}",
            **amounts,
            **fields,
        }
    )


WISH = QuoteRequest(BTC, ETH, Decimal("0.5"))
TO_RECEIVE = QuoteRequest(BTC, ETH, Decimal(2), receive=True)


def ranked(*quotes: Quote, wish: QuoteRequest = WISH) -> Ranking:
    return rank([(one, one.valid_until or LATER) for one in quotes], wish, NOW)


def order(ranking: Ranking) -> list[str | None]:
    return [row.quote.swap for row in ranking.rows]


def test_a_quote_that_is_repeated_is_one_and_two_of_one_id_are_none() -> None:
    twice = quote(1, "5")
    ranking = ranked(twice, quote(2, "4"), twice.model_copy())
    assert order(ranking) == ["v1", "v2"]
    assert ranking.unusable == ()
    other = quote(1, "9", swap="v9")
    ranking = ranked(twice, quote(2, "4"), other, quote(1, None, error="too low"))
    assert order(ranking) == ["v2"]
    assert [one.reason for one in ranking.unusable] == [
        "another quote of this answer has the same id",
        "another quote of this answer has the same id",
        "too low",
    ]


def comparable(asked: Quote) -> bool:
    """Whether the desk can compare it, on amounts that can be believed."""
    out, net = asked.amount_out, asked.net_amount_out
    if asked.type not in ("standard", "private", "dex") or out is None:
        return False
    twelve = Context(prec=12)
    return net is None or twelve.plus(net) <= twelve.plus(out)


amounts = st.one_of(
    st.none(),
    st.decimals(min_value=-100, max_value=10**12, allow_nan=False, allow_infinity=False, places=8),
)


@st.composite
def boards(draw: st.DrawFn) -> list[Quote]:
    quotes = []
    for number in range(draw(st.integers(0, 12))):
        out, net = draw(amounts), draw(amounts)
        quotes.append(
            Quote(
                quote_id=None if draw(st.integers(0, 9)) == 0 else f"{number:024x}",
                type=draw(st.sampled_from(["standard", "private", "dex"])),
                swap=f"v{number}",
                swap_name=f"Venue {number}",
                amount_out=out,
                net_amount_out=net,
                duration=draw(st.one_of(st.none(), st.integers(1, 60).map(Decimal))),
                fixed=draw(st.booleans()),
                filtered=draw(st.integers(0, 4)) == 0,
                error="no route" if draw(st.integers(0, 4)) == 0 else None,
                valid_until=NOW + timedelta(seconds=draw(st.integers(-5, 60))),
            )
        )
    return quotes


FEES = [
    quote(1, "10", net_amount_out=Decimal("8")),
    quote(2, "9", net_amount_out=Decimal("8.5")),
]
PRIVATE = quote(1, None, type="private", swap_name=None, amount_out=Decimal(2))
ABOUT = {"fixed": True, "amount_in": Decimal(1), "valid_until": LATER}
BOTH_AMOUNTS = [
    quote(0, "3", amount_type="send", **ABOUT),
    quote(1, "3", amount_type="receive", **ABOUT),
    quote(2, "2", amount_type="HOVERING"),
]
SAME = "1.000000000000001"
TIES = [
    quote(1, SAME, swap_name="Zeta", duration=Decimal(5)),
    quote(2, "1", swap_name="alpha", duration=Decimal(5)),
    quote(3, SAME, swap_name="Zeta", duration=Decimal(5), fixed=True),
    quote(4, "1", duration=Decimal(3)),
    quote(5, "1.00000000001", duration=None),
]


@each_row(
    ("rows", "asked", "names"),
    [
        pytest.param(FEES, WISH, "v2 v1", id="net"),
        pytest.param([quote(2, "1"), PRIVATE], WISH, "v1 v2", id="a private row states no net"),
        pytest.param([quote(1, "-0.5"), quote(2, "0")], WISH, "v2 v1", id="nothing is left"),
        pytest.param(
            [quote(1, "14.5", net_amount_out=Decimal("14.500000000000002"))],
            WISH,
            "v1",
            id="the noise of a double makes no net amount larger",
        ),
        pytest.param(TIES, WISH, "v5 v4 v3 v2 v1", id="ties: shorter, then fixed, then by name"),
        pytest.param(BOTH_AMOUNTS, WISH, "v0 v2", id="a row about what arrives"),
        pytest.param(
            BOTH_AMOUNTS,
            replace(TO_RECEIVE, amount=Decimal(3)),
            "v1",
            id="a row about what is sent",
        ),
    ],
)
def test_what_a_route_pays_after_its_fees_decides(
    rows: list[Quote], asked: QuoteRequest, names: str
) -> None:
    assert order(ranked(*rows, wish=asked)) == names.split()


@example([quote(1, "0"), quote(2, "-1")], random.Random(0), 0)
@given(boards(), st.randoms(use_true_random=False), st.integers(0, 70))
def test_only_usable_routes_are_ranked_by_what_they_pay(
    quotes: list[Quote], shuffler: random.Random, seconds: int
) -> None:
    ranking = ranked(*quotes)
    keys = [Context(prec=12).plus(row.key) for row in ranking.rows]
    assert keys == sorted(keys, reverse=True)
    assert [row.place for row in ranking.rows] == list(range(1, len(keys) + 1))
    for row in ranking.rows:
        assert row.quote.error is None
        assert not row.quote.filtered
        assert row.quote.quote_id is not None
        assert row.expires_at > NOW
        assert row.key == comparison_key(row.quote)
        assert comparable(row.quote)
        # The cursor finds its quote by its id.
        assert ranking.find(row.quote_id) == row
        assert ranking.follow(row) == row
        # Differences are measured from the best.
        assert row.vs_best_amount == min(row.key - ranking.best.key, 0)
        if ranking.best.key > 0:
            assert (row.vs_best_percent == 0) is (row.vs_best_amount == 0)
        else:
            assert row.vs_best_percent is None
    for entry in ranking.unusable:
        good = entry.quote.error is None and not entry.quote.filtered
        fresh = entry.quote.valid_until is not None and entry.quote.valid_until > NOW
        assert not (good and fresh and comparable(entry.quote) and entry.quote.quote_id)
        assert entry.reason
    assert len(ranking.rows) + len(ranking.unusable) == len(quotes)
    assert ranking.find("f" * 24) is None
    # The order of the answer does not matter.
    shuffled = list(quotes)
    shuffler.shuffle(shuffled)
    assert order(ranked(*shuffled)) == order(ranking)
    # No route that pays nothing or has ended is chosen unasked.
    now = NOW + timedelta(seconds=seconds)
    chosen = ranking.default_at(now)
    if chosen is None:
        assert all(row.key <= 0 or row.expires_at <= now for row in ranking.rows)
    else:
        assert chosen.key > 0
        assert chosen.expires_at > now
        assert is_known_kind(chosen.quote)


def reverse(number: int, takes: str | None, **fields: Any) -> Quote:
    amount = None if takes is None else Decimal(takes)
    return quote(number, fields.pop("out", "2"), amount_in=amount, **{"fixed": True, **fields})


@each_row(
    ("row", "asked", "reason", "server_says"),
    [
        (quote(1, "90", type="bridge"), WISH, "this desk does not know this kind of route", False),
        (quote(1, None, net_amount_out=Decimal(9)), WISH, "no amount in the answer", False),
        (quote(1, None), WISH, "no amount in the answer", False),
        (
            quote(1, "1", net_amount_out=Decimal("14.5")),
            WISH,
            "the net amount exceeds what is paid out",
            False,
        ),
        (quote(1, "90", valid_until=NOW), WISH, "expired: ask again", False),
        (quote(1, "90", error="broken"), WISH, "broken", True),
        (
            quote(1, "90", filtered=True, filtered_reason="price_impact"),
            WISH,
            "filtered: price impact is too high",
            False,
        ),
        (
            quote(1, "90", filtered=True, filtered_reason="different_recipient"),
            WISH,
            "filtered: it would pay a different recipient",
            False,
        ),
        (
            quote(1, "90", filtered=True, filtered_reason="full_moon"),
            WISH,
            "filtered: full_moon",
            True,
        ),
        (quote(1, "90", filtered=True), WISH, "filtered: no reason given", True),
        (
            quote(1, None, error="too low", min=Decimal("0.75")),
            WISH,
            "below minimum: this route takes 0.75 BTC or more",
            False,
        ),
        (
            quote(1, None, error="too high", max=Decimal("0.1")),
            WISH,
            "above maximum: this route takes 0.1 BTC or less",
            False,
        ),
        (quote(1, None, error="odd", max=Decimal(0)), WISH, "odd", True),
        (reverse(1, None), TO_RECEIVE, "it does not say how much it takes", False),
        (reverse(1, "0"), TO_RECEIVE, "it does not say how much it takes", False),
        (
            reverse(1, "0.5", fixed=False),
            TO_RECEIVE,
            "its rate is not fixed, so the amount may move",
            False,
        ),
        (reverse(1, "0.4", out="1.98"), TO_RECEIVE, "it pays 1.98 ETH, less than asked for", False),
    ],
)
def test_a_row_that_cannot_be_believed_as_shown_is_not_ranked(
    row: Quote, asked: QuoteRequest, reason: str, server_says: bool
) -> None:
    ranking = ranked(row, reverse(2, "0.5", out="1.9999"), wish=asked)
    assert order(ranking) == ["v2"]
    assert [(one.reason, one.server_says) for one in ranking.unusable] == [(reason, server_says)]


def test_a_rate_that_nobody_says_how_long_it_is_kept_is_not_executed() -> None:
    fixed, floating = quote(1, "3", fixed=True), quote(2, "2")
    ranking = rank([(one, end_of(one, NOW)) for one in (fixed, floating)], WISH, NOW)
    assert order(ranking) == ["v2"]
    assert [one.reason for one in ranking.unusable] == [
        "it does not say until when its rate is kept"
    ]


def test_reverse_quotes_are_ranked_by_what_they_take() -> None:
    ranking = ranked(reverse(1, "0.51"), reverse(2, "0.50"), wish=TO_RECEIVE)
    assert order(ranking) == ["v2", "v1"]
    assert [row.figure for row in ranking.rows] == [Decimal("0.50"), Decimal("0.51")]
    assert [row.vs_best_amount for row in ranking.rows] == [0, Decimal("0.01")]
    assert [row.vs_best_percent for row in ranking.rows] == [0, 2]
    assert [row.key for row in ranking.rows] == [2, 2]


def test_fees_that_are_not_in_the_ranking_are_marked() -> None:
    fee = {"type": "standard", "fee_usd": Decimal("5"), "amount_out_usd": Decimal("100")}
    gross = quote(1, "10", **fee)
    right = quote(2, None, amount_out=Decimal(10), net_amount_out=Decimal("9.5"), **fee)
    off = quote(3, None, amount_out=Decimal(10), net_amount_out=Decimal("9.0"), **fee)
    badges = {
        row.quote.swap: row.badges for row in ranked(gross, right, off, quote(4, "-0.5")).rows
    }
    assert badges == {"v1": ("gross",), "v2": (), "v3": ("differs",), "v4": ("pays nothing",)}
    assert [fees_kind(one) for one in (gross, quote(4), PRIVATE)] == ["usd", "in price", "in price"]


def test_after_a_refresh_the_cursor_stays_on_the_provider() -> None:
    before = ranked(quote(1, "3"), quote(2, "2"))
    after = ranked(
        quote(11, "1", swap="v1"), quote(12, "2", swap="v2"), quote(13, None, swap="v3", error="x")
    )
    followed = after.follow(before.rows[0])
    assert (followed.quote_id, followed.place) == (f"{11:024x}", 2)
    assert former_places(before, after) == {f"{11:024x}": 1, f"{12:024x}": 2}
    assert ranked(quote(12, swap="v9")).follow(before.rows[0]) is None
    # A private row is never followed to another one.
    (private, other) = (ranked(quote(at, "3", type="private", swap=None)) for at in (1, 2))
    assert other.follow(private.rows[0]) is None
    assert former_places(private, other) == {}


@each_row(
    ("out_usd", "level"),
    [
        ("1100", "silent"),
        ("1000", "silent"),
        ("990.01", "silent"),
        ("990", "note"),
        ("970.01", "note"),
        ("970", "amber"),
        ("900.01", "amber"),
        ("900", "typed"),
        ("700.01", "typed"),
        ("700", "refused"),
        ("0", "refused"),
    ],
)
def test_the_ladder_of_losses(out_usd: str, level: str) -> None:
    row = ranked(quote(1, "1", amount_out_usd=Decimal(out_usd))).rows[0]
    found = value_difference(Decimal(2), Decimal(500), row)
    assert (found.level, found.percent) == (level, (Decimal(out_usd) / 1000 - 1) * 100)
    assert found.needs_consent is (level in ("typed", "refused"))


def worth(dollars: str, **fields: Any) -> Quote:
    return quote(1, "1", amount_out_usd=Decimal(dollars), **fields)


NET = {"amount_in_usd": Decimal(100), "net_amount_out": Decimal("0.8")}


@each_row(
    ("row", "price_in", "price_out", "percent", "typed"),
    [
        # The value is that of the net amount.
        (worth("100", **NET), None, None, "-20", "20"),
        # A missing price asks for consent.
        (worth("5"), None, None, None, None),
        (worth("5"), "0", None, None, None),
        (quote(1, "1"), "5", None, None, None),
        # What is claimed is held against the price of what arrives; 1,000 dollars are sold.
        (worth("1000000000"), "1000", "10", "-99", None),
        (worth("1001"), "1000", "1000", "0.1", None),
        (worth("1249"), "1000", "1000", "24.9", None),
        (worth("1251"), "1000", "1000", "0", None),
    ],
)
def test_the_value_of_a_route(
    row: Quote,
    price_in: str | None,
    price_out: str | None,
    percent: str | None,
    typed: str | None,
) -> None:
    prices = [None if price is None else Decimal(price) for price in (price_in, price_out)]
    found = value_difference(Decimal(1), prices[0], ranked(row).rows[0], price_out=prices[1])
    assert found.typed_text == (typed or "")
    if percent is None:
        assert (found.percent, found.level, found.needs_consent) == (None, "amber", True)
    else:
        assert found.percent == Decimal(percent)


SOLD = BTC.model_copy(update={"price": Decimal(96420)})
PRICED = QuoteRequest(SOLD, ETH, Decimal("0.5"))


def board(*quotes: Quote, wish: QuoteRequest = PRICED) -> QuoteResult:
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


def explained(*quotes: Quote, wish: QuoteRequest = PRICED) -> Waterfall:
    asked = board(*quotes, wish=wish)
    return waterfall(asked, asked.ranking.rows[0])


def step(found: Waterfall, label: str) -> Any:
    return next((one for one in found.steps if one.label == label), None)


Facts = dict[str, dict[str, Any] | None]
"""Of the steps by their labels; None for one that is not there."""
MARKED = {"fee_usd": Decimal("60.8"), "amount_out_usd": Decimal(38)}
ON_CHAIN = dex(bridge_fee_usd=Decimal("12.40"), applied_api_markup=Decimal(0))
PRIVATE_ROUTE = quote(1, "14.4", type="private")
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


@each_row(
    ("row", "wish", "verdict", "said", "steps"),
    [
        pytest.param(
            ON_CHAIN,
            PRICED,
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
            PRICED,
            DIFFERS,
            "Δ 0.75%: the lines give A, the service says B. Ranked by the service's number.",
            {},
            id="does not add up",
        ),
        pytest.param(
            dex(net="14.527790"),
            PRICED,
            GROSS,
            "The service took no fee out of this amount: it flatters the route.",
            {"Provider fee": {"part": "outside"}},
            id="gross",
        ),
        pytest.param(
            dex(net="14.527790", amount_out_usd=None),
            PRICED,
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
            PRICED,
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
            PRICED,
            UNSTATED,
            "The service pays out A and calls B net; it does not say why.",
            {},
            id="unexplained",
        ),
        pytest.param(
            dex(out="0.01", net="-0.006", **MARKED),
            PRICED,
            SUMS,
            "The fees take more than the provider pays out.",
            {},
            id="fees above the amount",
        ),
        pytest.param(
            quote(1, "14.5", applied_api_markup=Decimal("0.50")),
            PRICED,
            SUMS,
            "",
            {"Partner markup": {"word": "0.5%"}},
            id="markup",
        ),
        pytest.param(
            quote(1, "14.5", api_markup_value=Decimal(50), markup_type="bp"),
            PRICED,
            SUMS,
            "",
            {"Partner markup": {"word": "50 bp"}},
            id="markup in points",
        ),
        pytest.param(
            quote(1, "14.5", api_markup_value=Decimal(50), markup_type="HOVERING"),
            PRICED,
            SUMS,
            "",
            {"Partner markup": {"word": "50 HOVERING, an unknown unit"}},
            id="markup in an unknown unit",
        ),
        pytest.param(
            PRIVATE_ROUTE,
            replace(PRICED, use_xmr=True),
            SUMS,
            "",
            {"Middle": PINNED},
            id="middle pinned",
        ),
        pytest.param(PRIVATE_ROUTE, PRICED, SUMS, "", {"Middle": CHOSEN}, id="middle not told"),
        pytest.param(
            PRIVATE_ROUTE,
            replace(PRICED, use_xmr=False),
            SUMS,
            "",
            {"Middle": CHOSEN},
            id="middle any",
        ),
        pytest.param(
            quote(1, "14.5"),
            replace(PRICED, use_xmr=True),
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


@each_row(
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


@each_row(
    ("wish", "kind", "said"),
    [
        (PRICED, 2, 'the service says: "no liquidity"'),
        (replace(PRICED, types=(RouteType.STANDARD,)), 1, "not asked for"),
        (replace(PRICED, providers=("aa",)), 1, "not asked for: chosen providers leave it out"),
        (replace(PRICED, markup=Decimal(1)), 2, "not asked for: a markup leaves it out"),
        (replace(PRICED, fixed=True, floating=False), 2, "has no fixed rate"),
        (replace(PRICED, token_out=SOLD), 0, "the same token goes by private routes only"),
        (PRICED, 0, "the service offers none for these tokens"),
    ],
)
def test_a_missing_kind_says_why(wish: QuoteRequest, kind: int, said: str) -> None:
    refused = quote(1, None, error="no liquidity", type="dex")
    assert compare_route_types(board(refused, wish=wish), NOW)[kind].missing == said


ON_A_CHAIN = quote(1, "14.5", type="dex")
REVERSE = quote(1, "2.001", amount_in=Decimal("0.07"), fixed=True)


@each_row(
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
    asked = board(row, wish=replace(PRICED, **wish))
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
