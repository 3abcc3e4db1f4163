"""Numbers, times and addresses as the desk writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.flows import notation as n

AMOUNTS = st.decimals(
    min_value=Decimal("-1e20"),
    max_value=Decimal("1e20"),
    allow_nan=False,
    allow_infinity=False,
    places=18,
)


def written(write: Callable[..., str], *rows: tuple[object, ...]) -> list[Any]:
    """Cases of one function: its arguments, amounts as text, and what it writes."""
    return [pytest.param(write, row[:-1], row[-1]) for row in rows]


def of(*amounts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, amounts))


LONG = "12,345,678,901,234,567,890,123,456,789.500001"


@pytest.mark.parametrize(
    ("write", "arguments", "text"),
    [
        *written(
            n.table_amount,
            (*of("14.5241089"), "receive", "14.524108"),
            (*of("14.5241081"), "pay", "14.524109"),
            (*of("14.498"), "receive", "14.498000"),
            (*of("2500.0"), "receive", "2,500"),
            (*of("2.5E3"), "pay", "2,500"),
            (*of("0.034487515"), "receive", "0.03448751"),
            (*of("1E-9"), "receive", "<0.00000001"),
            (*of("0"), "receive", "0"),
            (*of("123456789.12"), "receive", "123,456,789"),
            (*of("123456789.12"), "pay", "123,456,790"),
            (*of("-1.5"), "receive", "−1.5000000"),
        ),
        # Estimates have four digits and never flatter.
        *written(
            n.about_amount,
            (*of("0.0302059"), "≈ 0.0302"),
            (*of("914.4988"), "≈ 914.4"),
            (*of("12345678"), "≈ 12,340,000"),
            (*of("0.000000012345"), "≈ 0.00000001234"),
            (*of("5"), "≈ 5"),
        ),
        *written(
            n.tracker_amount,
            (*of("5538.20"), "5,538.2"),
            (*of("0.4937719"), "pay", "0.493772"),
            (*of("0.0000001"), "<0.000001"),
        ),
        *written(
            n.usd, (*of("48210"), "$48,210.00"), (*of("0.004"), "<$0.01"), (*of("-3"), "−$3.00")
        ),
        *written(
            n.usd_market,
            (*of("61800000000"), "$61.8B"),
            (*of("999960"), "$1.0M"),
            (*of("12"), "$12.00"),
        ),
        # Differences always have a sign.
        *written(
            n.difference,
            (*of("-0.0147770"), "−0.014777"),
            (*of("2.5"), "+2.500000"),
            (*of(f"-{LONG.replace(',', '')}"), f"−{LONG}"),
        ),
        *written(
            n.percent,
            (*of("-0.434"), "−0.43%"),
            (*of("1.24"), "+1.24%"),
            (*of("0.001"), "<0.01%"),
            (*of("0"), "0.00%"),
        ),
        *written(
            n.expected,
            (40, "~40s"),
            (14 * 60, "~14m"),
            (65 * 60, "~1h05m"),
            (59.6, "~1m"),
            (51 * 3600, "~2d03h"),
        ),
        *written(n.expected_minutes, (*of("27.0"), "~27m"), (*of("0.5"), "~30s")),
        *written(
            n.countdown,
            (48, "0:48"),
            (27 * 60 + 12, "27:12"),
            (0.2, "0:01"),
            (3900, "1h05m"),
            (0, "expired"),
        ),
        *written(n.age, (2, "2s"), (41 * 60, "41m"), (3 * 3600, "3h"), (50 * 3600, "2d")),
    ],
)
def test_what_is_written(
    write: Callable[..., str], arguments: tuple[object, ...], text: str
) -> None:
    assert write(*arguments) == text


def test_unknown_is_never_a_zero() -> None:
    assert (
        n.about_amount(None)
        == n.table_amount(None)
        == n.usd(None)
        == n.percent(None)
        == n.expected(None)
        == "—"
    )


@given(AMOUNTS)
def test_an_exact_amount_keeps_every_digit(amount: Decimal) -> None:
    assert Decimal(n.copied_amount(amount)) == amount
    assert Decimal(n.exact_amount(amount).replace(",", "").replace("−", "-")) == amount


@given(AMOUNTS)
def test_rounding_never_flatters(amount: Decimal) -> None:
    def back(text: str) -> Decimal | None:
        return None if text.startswith("<") else Decimal(text.replace(",", "").replace("−", "-"))

    for write in (n.table_amount, n.tracker_amount):
        down, up = back(write(amount, "receive")), back(write(amount, "pay"))
        assert down is None or down <= amount
        assert up is None or up >= amount


def test_rate_both_ways() -> None:
    assert n.rate_both_ways(Decimal("0.5"), "BTC", Decimal("14.498"), "ETH") == (
        "1 BTC ≈ 28.996000 ETH",
        "1 ETH ≈ 0.03448751 BTC",
    )
    assert n.rate_both_ways(Decimal("0.5"), "BTC", Decimal("0"), "ETH") is None


def test_points_stand_below_one_another() -> None:
    rows = n.align_on_point(["14.5", "2,500", "—", "0.123"])
    assert rows == ["   14.5  ", "2,500    ", "        —", "    0.123"]
    assert n.align_on_point([]) == []


def test_elapsed_against_expected() -> None:
    assert n.elapsed(19 * 60, 27 * 60) == n.Elapsed("19m of ~27m", "19m/27m", late=False)
    assert n.elapsed(41 * 60, 14 * 60) == n.Elapsed("27m over", "27m over", late=True)
    assert n.elapsed(90).text == "1m"


def test_moments() -> None:
    now = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
    monday = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
    assert n.clock_time(now, zone=True) == "14:02:11 UTC"
    assert n.day(now, now) == "today 14:02"
    assert n.day(datetime(2026, 11, 19, 23, 59, tzinfo=UTC), now) == "yesterday"
    assert n.day(monday, now) == "Mon 16 Nov"
    assert n.date(monday.replace(year=2025), now) == "Sun 16 Nov 2025"
    assert n.iso(now) == "2026-11-20T14:02:11Z"


@given(st.text(alphabet="0123456789abcdefx", min_size=1, max_size=110), st.integers(8, 80))
def test_a_wrapped_address_is_whole(address: str, width: int) -> None:
    rows = n.wrapped_address(address, width)
    assert "".join(rows).replace(" ", "") == address
    assert all(len(row) <= width for row in rows)
