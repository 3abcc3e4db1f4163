"""The waterfall: lines that sum or say they do not, and nothing invented."""

from __future__ import annotations

from datetime import timedelta
from decimal import Context, Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.test_ranking import LATER, NOW, quote
from flows.test_recipients import BTC, ETH
from swapdesk.flows.quotes.quote_order import Arrangement, QuoteOrder, all_in
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, ranked_for
from swapdesk.flows.quotes.waterfall import (
    Known,
    Part,
    SumVerdict,
    Unit,
    Waterfall,
    remark,
    waterfall,
)
from swapdesk.wire.quotes import Quote, RouteType

SOLD = BTC.model_copy(update={"price": Decimal(96420)})
WISH = QuoteRequest(SOLD, ETH, Decimal("0.5"))


def board(*quotes: Quote, wish: QuoteRequest = WISH) -> QuoteResult:
    ends = [(one, one.valid_until or LATER) for one in quotes]
    return QuoteResult(NOW, NOW, ranked_for(wish, ends, NOW), wish)


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
    return next(one for one in found.steps if one.label == label)


def test_an_on_chain_route_sums_and_names_its_sources() -> None:
    found = explained(dex(bridge_fee_usd=Decimal("12.40"), applied_api_markup=Decimal(0)))
    assert found.verdict is SumVerdict.SUMS
    sends = step(found, "You send")
    assert (sends.amount, sends.unit, sends.known) == (Decimal("0.5"), Unit.SOLD, Known.YOU)
    assert sends.how == "$48,210.00 at $96,420.00"
    assert step(found, "Provider pays out").known is Known.SERVICE
    fee = step(found, "Provider fee")
    assert fee.known is Known.DERIVED
    assert fee.how == "$61.12 ÷ $3,311.06"
    assert Decimal("-0.0185") < fee.amount < Decimal("-0.0184")
    assert step(found, "Partner markup").amount == 0
    gas = step(found, "Gas")
    assert (gas.part, gas.how) == (Part.OUTSIDE, "1,240,000 gas, $4.10")
    bridge = step(found, "Bridge fee")
    assert (bridge.amount, bridge.unit) == (Decimal("12.40"), Unit.USD)
    assert abs(step(found, "All-in").amount - found.net - gas.amount) < Decimal("1e-20")
    assert step(found, "All-in").how == "net − gas, rank stays 1"
    assert step(found, "Value difference").how.endswith(" of $48,210.00")
    assert remark(found, "a", "b") == ""
    assert step(found, "Check").how == "the lines above add up"


def test_lines_that_do_not_add_up_say_both_numbers() -> None:
    found = explained(dex(net="14.4"))
    assert found.verdict is SumVerdict.DIFFERS
    assert remark(found, "14.509331", "14.4") == (
        "Δ 0.75%: the lines give 14.509331, the service says 14.4. Ranked by the service's number."
    )


def test_a_fee_that_is_not_in_net_is_named_gross_and_not_summed() -> None:
    found = explained(dex(net="14.527790"))
    assert found.verdict is SumVerdict.GROSS
    assert found.lines == found.net
    assert step(found, "Provider fee").part is Part.OUTSIDE
    unpriced = explained(dex(net="14.527790", amount_out_usd=None))
    assert unpriced.verdict is SumVerdict.GROSS
    fee = step(unpriced, "Provider fee")
    assert (fee.amount, fee.unit, fee.part) == (Decimal("61.12"), Unit.USD, Part.OUTSIDE)
    assert step(unpriced, "Gas").unit is Unit.USD
    assert step(unpriced, "All-in").known is Known.UNKNOWN
    assert step(unpriced, "Value difference").word == "?"


def test_a_centralized_route_has_its_fee_in_the_price() -> None:
    found = explained(quote(1, "14.5"))
    assert found.verdict is SumVerdict.SUMS
    fee = step(found, "Provider fee")
    assert (fee.word, fee.known, fee.amount) == ("in price", Known.UNKNOWN, None)
    assert not found.of(Part.OUTSIDE)
    # Nothing stands beside what is paid out, so nothing was added.
    assert step(found, "Check").how == "net is what is paid out"
    assert step(found, "All-in").how == "net, no gas, rank stays 1"


def test_a_net_that_nothing_explains_is_said_to_be_unexplained() -> None:
    found = explained(quote(1, None, amount_out=Decimal(10), net_amount_out=Decimal(9)))
    assert found.verdict is SumVerdict.UNSTATED
    assert remark(found, "10", "9") == (
        "The service pays out 10 and calls 9 net; it does not say why."
    )


def test_fees_above_the_amount_leave_a_negative_net() -> None:
    found = explained(
        dex(out="0.01", net="-0.006", amount_out_usd=Decimal(38), fee_usd=Decimal("60.8"))
    )
    assert found.verdict is SumVerdict.SUMS
    assert remark(found, "a", "b") == "The fees take more than the provider pays out."


def test_a_markup_is_inside_what_is_paid_out() -> None:
    marked = explained(quote(1, "14.5", applied_api_markup=Decimal("0.50")))
    assert (step(marked, "Partner markup").word, marked.verdict) == ("0.5%", SumVerdict.SUMS)
    points = explained(quote(1, "14.5", api_markup_value=Decimal(50), markup_type="bp"))
    assert step(points, "Partner markup").word == "50 bp"
    unknown = explained(quote(1, "14.5", api_markup_value=Decimal(50), markup_type="HOVERING"))
    assert step(unknown, "Partner markup").word == "50 HOVERING, an unknown unit"
    unsaid = step(explained(quote(1, "14.5")), "Partner markup")
    assert (unsaid.word, unsaid.known) == ("?", Known.UNKNOWN)


def test_the_middle_of_a_private_route_is_named_where_it_was_pinned_and_else_not_told() -> None:
    private = quote(1, "14.4", type="private")
    pinned = step(explained(private, wish=replace(WISH, use_xmr=True)), "Middle")
    assert (pinned.word, pinned.known, pinned.part) == ("XMR", Known.YOU, Part.SEND)
    assert pinned.how == "the legs meet on Monero"
    for wish in (WISH, replace(WISH, use_xmr=False)):
        chosen = step(explained(private, wish=wish), "Middle")
        assert (chosen.word, chosen.known, chosen.amount) == ("not told", Known.UNKNOWN, None)
        assert chosen.how == "the service chooses where the legs meet"
    direct = explained(quote(1, "14.5"), wish=replace(WISH, use_xmr=True))
    assert "Middle" not in [one.label for one in direct.steps]


def test_in_reverse_the_service_says_what_is_sent() -> None:
    wish = QuoteRequest(SOLD, ETH, Decimal(2), receive=True)
    found = explained(quote(1, "2", amount_in=Decimal("0.07"), fixed=True), wish=wish)
    sends = step(found, "You send")
    assert (sends.amount, sends.known) == (Decimal("0.07"), Known.SERVICE)
    assert step(found, "All-in").unit is Unit.SOLD


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
    summed = [one.amount for one in found.of(Part.LINE) if one.amount is not None]
    assert abs(sum(summed) - found.lines) <= (abs(found.lines) + out) * Decimal("1e-20")
    near = abs(found.net - found.lines) <= out * Decimal("0.005")
    assert (found.verdict in (SumVerdict.SUMS, SumVerdict.GROSS)) is near
    assert step(found, "Gas").word == "gas ?"


def test_all_in_puts_unknown_gas_last_and_keeps_net_places_elsewhere() -> None:
    cheap = dex(1, net="14.50", gas_usd=Decimal("0.10"))
    dear = dex(2, net="14.51", gas_usd=Decimal(400))
    unsaid = dex(3, net="14.52", gas_usd=None)
    asked = board(cheap, dear, unsaid, quote(4, "14.45", duration=Decimal(3)))
    by_net = Arrangement().arrange(asked.ranking, NOW)
    assert [one.row.quote.swap for one in by_net] == ["v3", "v2", "v1", "v4"]
    shown = Arrangement().switched().arrange(asked.ranking, NOW)
    assert [one.row.quote.swap for one in shown] == ["v1", "v4", "v2", "v3"]
    assert [one.place for one in shown] == [1, 2, 3, 4]
    assert shown[-1].figure is None
    assert shown[0].best
    by_time = Arrangement(QuoteOrder.TIME).arrange(asked.ranking, NOW)
    assert (by_time[0].row.quote.swap, by_time[0].place) == ("v4", 4)
    assert all_in(asked.ranking.rows[0]) is None


def test_by_time_an_unknown_duration_is_last_and_keeps_its_place() -> None:
    asked = board(
        quote(1, "14.6", duration=None),
        quote(2, "14.5", duration=Decimal(9)),
        quote(3, "14.4", duration=Decimal(2)),
    )
    by_time = Arrangement(QuoteOrder.TIME).arrange(asked.ranking, NOW)
    assert [one.row.quote.swap for one in by_time] == ["v3", "v2", "v1"]
    assert [one.place for one in by_time] == [3, 2, 1]


def test_a_filter_hides_rows_and_changes_no_place() -> None:
    asked = board(dex(1, net="14.51"), quote(2, "14.4"))
    only = Arrangement().narrowed(RouteType.STANDARD)
    (one,) = only.arrange(asked.ranking, NOW)
    assert (one.place, one.best) == (2, False)
    assert only.narrowed(RouteType.STANDARD).only is None
    assert Arrangement().sorted_on().sorted_on().sorted_on() == Arrangement()


def test_differences_follow_the_best_row_that_is_still_valid() -> None:
    soon = NOW + timedelta(seconds=5)
    asked = board(quote(1, "3", valid_until=soon), quote(2, "2"), quote(3, "1"))
    later = Arrangement().arrange(asked.ranking, NOW + timedelta(seconds=6))
    assert [one.best for one in later] == [False, True, False]
    assert [one.vs_best_amount for one in later] == [1, 0, -1]


@given(st.lists(st.tuples(money, st.integers(0, 90)), min_size=1, max_size=8), st.integers(0, 90))
def test_exactly_one_valid_row_is_best_in_every_order(
    rows: list[tuple[Decimal, int]], passed: int
) -> None:
    asked = board(
        *(
            quote(at, f"{amount:f}", valid_until=NOW + timedelta(seconds=left + 1))
            for at, (amount, left) in enumerate(rows, start=1)
        )
    )
    now = NOW + timedelta(seconds=passed)
    for order in QuoteOrder:
        placed = Arrangement(order).arrange(asked.ranking, now)
        assert sorted(one.place for one in placed) == list(range(1, len(rows) + 1))
        best = [one for one in placed if one.best]
        valid = [one for one in placed if not one.row.expired(now)]
        assert len(best) == (1 if valid else 0)
        if best:
            most = max(one.figure for one in valid if one.figure is not None)
            assert best[0].figure is not None
            assert abs(best[0].figure - most) <= most * Decimal("1e-11")
