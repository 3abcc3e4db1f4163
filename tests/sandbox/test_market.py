from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from sampling import examples
from swapdesk.sandbox.market import PAYOUT_CONFIRMATIONS, Market, book_of, limits_of, minutes_of
from swapdesk.sandbox.tables import ASSETS, CHAIN_ROWS, VENUE_ROWS, ChainRow, VenueRow
from swapdesk.sandbox.world import (
    INTERMEDIARIES,
    WorldToken,
    find_token,
    trades,
    world_tokens,
)

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
VENUES = {row.name: row for row in VENUE_ROWS}
BTC, ETH = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
HALF = Decimal("0.5")


def test_a_price_is_a_function_of_seed_and_time() -> None:
    assert Market(7).prices(NOON) == Market(7).prices(NOON)
    assert Market(7).price("BTC", NOON) != Market(8).price("BTC", NOON)
    assert Market(7).price("BTC", NOON) != Market(7).price("BTC", NOON + timedelta(minutes=5))


def test_prices_stay_within_their_swing_and_move_smoothly() -> None:
    """Pairs of minutes of one day, all of them at full size."""
    market = Market(7)
    for minute in range(0, 1500, 1500 // examples(500)):
        before = market.prices(NOON + timedelta(minutes=minute))
        now = market.prices(NOON + timedelta(minutes=minute + 1))
        for code, price in now.items():
            asset = ASSETS[code]
            widest = asset.price * asset.swing / 10_000
            assert abs(price - asset.price) <= widest * Decimal("1.000001")
            # A minute is a seventh of the fastest knot: far less than the whole swing.
            assert abs(price - before[code]) <= widest * Decimal("0.25")


def amount_out(
    market: Market,
    venue: VenueRow,
    token_in: WorldToken,
    token_out: WorldToken,
    amount: Decimal,
    at: datetime,
) -> Decimal:
    return book_of(market, venue, token_in, token_out, at).bought(amount)


def test_quotes_are_pure_and_stand_for_ten_seconds() -> None:
    halyard = VENUES["Halyard"]
    first = amount_out(Market(7), halyard, BTC, ETH, HALF, NOON)
    assert first == amount_out(Market(7), halyard, BTC, ETH, HALF, NOON + timedelta(seconds=9))
    assert first != amount_out(Market(7), halyard, BTC, ETH, HALF, NOON + timedelta(seconds=10))
    assert first != amount_out(Market(8), halyard, BTC, ETH, HALF, NOON)


def test_exchanges_differ_and_take_their_spread() -> None:
    market = Market(7)
    mid = HALF * market.price("BTC", NOON) / market.price("ETH", NOON)
    outs = {
        row.name: amount_out(market, row, BTC, ETH, HALF, NOON)
        for row in VENUE_ROWS
        if trades(row, BTC) and trades(row, ETH)
    }
    assert len(set(outs.values())) == len(outs)
    assert all(mid * Decimal("0.97") < out < mid for out in outs.values())


def test_a_larger_amount_gets_a_worse_rate() -> None:
    market, halyard = Market(7), VENUES["Halyard"]
    rates = [
        amount_out(market, halyard, BTC, ETH, Decimal(amount), NOON) / Decimal(amount)
        for amount in ("0.1", "0.5", "2", "4")
    ]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == 4


def test_payouts_fit_the_token_for_every_pair_of_decimals() -> None:
    market, cobalt = Market(7), VENUES["Cobalt"]
    tokens = [token for token in world_tokens().values() if trades(cobalt, token)]
    assert {token.row.decimals for token in tokens} >= {0, 6, 8, 9, 12, 18, 24}
    for token in tokens:
        bounds = limits_of(cobalt, token)
        assert 0 < bounds.minimum < bounds.maximum
        for amount in (bounds.minimum, bounds.maximum):
            assert -int(amount.as_tuple().exponent) <= token.row.decimals
        if token is not ETH:
            out = amount_out(market, cobalt, ETH, token, Decimal("0.5"), NOON)
            assert out > 0
            assert -int(out.as_tuple().exponent) <= min(8, token.row.decimals)


def test_gantry_takes_large_amounts_only() -> None:
    assert limits_of(VENUES["Gantry"], BTC).minimum == Decimal("0.75")


def test_quoted_minutes() -> None:
    seen = {
        minutes_of(row, one, other)
        for row in VENUE_ROWS
        for one in (BTC, ETH, find_token("solana", "SOL"))
        for other in (find_token("monero", "XMR"), find_token("xrp", "XRP"))
    }
    assert min(seen) >= 9
    assert max(seen) <= 21
    assert len(seen) >= 5


@pytest.mark.parametrize("speed", [1, 10, 30, 60, 600])
def test_estimates_are_in_the_time_of_the_clients(speed: int) -> None:
    """What a faster world needs less of is estimated as less, and always as more than it needs."""
    pairs = [
        (find_token(*one), find_token(*other))
        for one in (("bitcoin", "BTC"), ("solana", "SOL"), ("ethereum", "ETH"))
        for other in (("monero", "XMR"), ("solana", "SOL"), ("base", "ETH"))
        if one != other
    ]
    for row in VENUE_ROWS:
        for one, other in pairs:
            needed = Decimal(row.exchange_seconds) / speed
            needed += _seconds(one.chain, one.chain.confirmations, speed)
            needed += _seconds(other.chain, PAYOUT_CONFIRMATIONS, speed)
            told = minutes_of(row, one, other, Decimal(speed)) * 60
            at_once = minutes_of(row, one, other) * 60
            assert needed < told <= at_once / speed + 2 * needed + 5
            assert speed == 1 or told < at_once


def _seconds(chain: ChainRow, confirmations: int, speed: int) -> Decimal:
    pace = speed if chain.beat == "world" else 1
    return Decimal(chain.block_ms * confirmations) / 1000 / pace


def test_orders_are_quick_at_speed_30() -> None:
    """The slowest pair of chains at the slowest exchange, with 4 s of polling to spare."""
    speed, polling = 30, 4
    slowest = max(Decimal(row.exchange_seconds) / speed for row in VENUE_ROWS)
    arrive = max(_seconds(row, row.confirmations, speed) for row in CHAIN_ROWS)
    leave = max(_seconds(row, PAYOUT_CONFIRMATIONS, speed) for row in CHAIN_ROWS)
    assert arrive + slowest + leave + polling <= 30
    middle = max(
        _seconds(find_token(*place).chain, find_token(*place).chain.confirmations, speed)
        for place in INTERMEDIARIES
    )
    assert arrive + slowest + middle + slowest + leave + 2 * polling <= 60
