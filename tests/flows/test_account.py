"""Gauges, months and bars of the own account, whose page costs three reads a minute."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from rows import each_row
from swapdesk.client.api import PartnerApi
from swapdesk.client.budget import Budget, OwnCalls, Window
from swapdesk.clock import Clock, ManualClock
from swapdesk.flows.account.reading import (
    READS,
    AccountReader,
    AccountReading,
    account_csv,
    bar_rows,
    begins_late,
    days_query,
    forecast,
    limit_gauges,
    month_name,
    month_of,
    over,
    scale_labels,
    scale_of,
    short_usd,
    stepped,
    text_chart,
)
from swapdesk.wire.account import ChartPoint, CommissionSummary, RateLimits, RateWindows
from swapdesk.wire.operation import RateClass

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WINDOWS = RateWindows(per_minute=20, per_hour=500, per_day=5_000)
QUOTE = RateClass.QUOTE
WAITS = " The desk then waits."


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-20T{text}+00:00")


def budget_at(clock: Clock, path: Path | None = None) -> Budget:
    budget = Budget(clock.now, None if path is None else OwnCalls(path))
    budget.limits = RateLimits(monthly_request_count=0, quote=WINDOWS, exchange=WINDOWS)
    return budget


def test_nothing_is_shown_before_the_limits_are_known() -> None:
    assert limit_gauges(Budget(ManualClock(NOON).now)) == ()
    assert forecast(()) is None


def test_gauges_of_each_window() -> None:
    time = ManualClock(at("14:02:19"))
    budget = budget_at(time)
    for _ in range(3):
        budget.count(QUOTE)
    gauges = limit_gauges(budget)
    assert [(g.name, g.window, g.used, g.limit) for g in gauges[:3]] == [
        ("quotes", Window.MINUTE, 3, 20),
        ("quotes", Window.HOUR, 3, 500),
        ("quotes", Window.DAY, 3, 5_000),
    ]
    assert [(g.name, g.used) for g in gauges[3:]] == [("exchanges", 0)] * 3
    assert [g.percent for g in gauges[:3]] == [15, 0, 0]
    assert [g.resets_in for g in gauges[:3]] == [41, 57 * 60 + 41, 35_861]
    assert [g.resets_at for g in gauges[:2]] == [at("14:03:00"), at("15:00:00")]
    assert [g.window for g in over(gauges, 14)] == [Window.MINUTE]
    assert over(gauges, 15) == ()


def test_calls_of_other_processes_are_counted_within_their_windows(tmp_path: Path) -> None:
    path, time = tmp_path / "calls", ManualClock(at("13:59:30"))
    one, other = budget_at(time, path), budget_at(time, path)
    one.count(QUOTE)
    other.count(QUOTE)
    other.count(RateClass.EXCHANGE)
    other.count(RateClass.READ)
    assert [g.used for g in limit_gauges(one)] == [2, 2, 2, 1, 1, 1]
    assert one.left(QUOTE).left == 19  # type: ignore[union-attr]
    time.advance(30)
    assert [g.used for g in limit_gauges(one)] == [0, 0, 2, 0, 0, 1]
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_an_answer_told_counts_where_it_is_more() -> None:
    time = ManualClock(at("14:00:30"))
    budget = budget_at(time)
    budget.count(QUOTE)
    budget.tell(
        QUOTE,
        {"ratelimit-limit": "500", "ratelimit-remaining": "100", "ratelimit-reset": "3570"},
    )
    assert [g.used for g in limit_gauges(budget)[:3]] == [1, 400, 1]


def test_a_file_that_cannot_be_used_counts_nothing(tmp_path: Path) -> None:
    budget = budget_at(ManualClock(NOON), tmp_path / "no directory" / "calls")
    budget.count(QUOTE)
    assert limit_gauges(budget)[0].used == 1
    path = tmp_path / "calls"
    path.write_bytes(b"\xff\xfe\nnonsense\n1 nobody\n\n%d quote\n" % int(NOON.timestamp()))
    assert OwnCalls(path).used(QUOTE, 60, NOON) == 1


def test_the_lines_of_earlier_days_are_left_out_of_a_long_file(tmp_path: Path) -> None:
    path, now = tmp_path / "calls", int(NOON.timestamp())
    path.write_text(f"{now - 86_401} quote\n" * 20_000 + f"{now - 5} quote\n")
    OwnCalls(path).add(QUOTE, NOON)
    assert path.read_text() == f"{now - 5} quote\n{now} quote\n"


@pytest.mark.parametrize(
    ("now", "calls", "said"),
    [
        ("14:02:10", 450, None),  # two minutes say nothing of an hour
        ("14:20:00", 200, "At this pace the quotes of this hour end at 14:50." + WAITS),
        ("14:20:00", 166, None),  # 498 by the end of the hour
        ("14:20:00", 500, "The quotes of this hour are used up. The desk waits until 15:00."),
        ("14:20:00", 0, None),
    ],
)
def test_forecast(tmp_path: Path, now: str, calls: int, said: str | None) -> None:
    time, path = ManualClock(at(now)), tmp_path / "calls"
    begun = int(at("14:00:00").timestamp())
    path.write_text(f"{begun} quote\n" * calls)
    gauges = limit_gauges(budget_at(time, path))
    assert forecast(gauges) == said


def test_months_are_stepped_and_named() -> None:
    assert month_of(NOON) == "2026-11"
    # Never into the future.
    for month, step, after in (
        ("2026-11", -1, "2026-10"),
        ("2026-01", -1, "2025-12"),
        ("2026-11", 1, "2026-11"),
        ("2025-12", 1, "2026-01"),
        ("1970-01", -1, "1970-01"),
    ):
        assert stepped(month, step, NOON) == after, (month, step)
    assert (month_name("2026-11", NOON), month_name("2025-02", NOON)) == (
        "November",
        "February 2025",
    )
    asked = days_query("2026-02", NOON)
    assert (asked.from_, asked.to) == (
        datetime(2026, 2, 1, tzinfo=UTC),
        datetime(2026, 2, 28, tzinfo=UTC),
    )
    assert days_query("2026-11", NOON).to == NOON


def amounts(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@each_row(
    ("highest", "labels"),
    [
        ("58411.07", ("60k", "30k", "0")),
        ("1000", ("1k", "500", "0")),
        ("1000.01", ("2k", "1k", "0")),
        ("9.5", ("10", "5", "0")),
        ("0.03", ("0.04", "0.02", "0")),
        ("2500000", ("4M", "2M", "0")),
        ("0", ("100", "50", "0")),
    ],
)
def test_a_scale_is_round(highest: str, labels: tuple[str, str, str]) -> None:
    assert scale_labels(scale_of(amounts("0", highest))) == labels


def test_short_dollars() -> None:
    shown = [short_usd(value) for value in amounts("1500", "999", "1500000", "3e12", "0.5")]
    assert shown == ["1.5k", "999", "1.5M", "3T", "0.5"]


def test_bars() -> None:
    values = amounts("0", "0.01", "50", "75", "100")
    assert bar_rows(values, 2) == ["   ▄█", "·▁███"]
    assert bar_rows(values, 2, ascii_only=True) == ["   _#", "._###"]
    assert bar_rows(amounts("0", "0"), 1) == ["··"]


def test_a_chart_with_its_scale_and_dates() -> None:
    dates = [f"2026-11-{day:02}" for day in range(1, 31)]
    values = [Decimal(day * 2_000) for day in range(1, 31)]
    lines = text_chart(dates, values, rows=4)
    assert [line[:3] for line in lines] == ["60k", "   ", "30k", "  0", "   "]
    assert lines[-1] == "     2026-11-01          2026-11-30"
    assert all(len(line) == 35 for line in (lines[0], lines[3]))
    assert text_chart(["2026-11"], amounts("5"), rows=2) == ["6  ▅", "0  █", "   2026-11"]
    assert text_chart([], []) == []


def test_a_chart_that_is_too_wide_goes_on_below_on_the_same_scale() -> None:
    dates = [f"2026-{month:02}-{day:02}" for month in range(1, 5) for day in range(1, 26)]
    values = [Decimal(1)] * 50 + [Decimal(100)] * 50
    lines = text_chart(dates, values, rows=2, columns=60)
    assert lines[::3] == ["100", f"100  {'█' * 50}"]
    assert lines[1::3] == [f"  0  {'▁' * 50}", f"  0  {'█' * 50}"]
    assert [line.split() for line in lines[2::3]] == [[dates[0], dates[49]], [dates[50], dates[99]]]
    assert max(map(len, text_chart(dates, values, columns=1))) == 27
    assert len(text_chart(dates, values, rows=2, columns=105)) == 3


def test_what_was_asked_for_is_known_where_a_chart_begins_later() -> None:
    asked = datetime(2020, 1, 1, tzinfo=UTC)
    assert begins_late("2025-12-01", asked) == "2020-01-01"
    assert begins_late("2025-12", asked) == "2020-01"
    assert begins_late("2020-01-01", asked) is begins_late("2020-01", asked) is None


ZERO = CommissionSummary(
    total_earnings=Decimal(0),
    pending_commissions=Decimal(0),
    processed_commissions=Decimal(0),
    this_month_earnings=Decimal(0),
    last_month_earnings=Decimal(0),
    commission_count=0,
)


def test_csv_has_the_days_of_the_month_alone() -> None:
    days = tuple(
        ChartPoint(date=date, volume_usd=Decimal(volume), count=count)
        for date, volume, count in (
            ("2026-10-31", "5", 1),
            ("2026-11-01", "0", 0),
            ("2026-11-02", "1234.50000001", 3),
        )
    )
    read = AccountReading("2026-11", datetime(2026, 11, 2, tzinfo=UTC), ZERO, (), days)
    assert account_csv(read).splitlines() == [
        "date,orders,volumeUsd",
        "2026-11-01,0,0",
        "2026-11-02,3,1234.50000001",
    ]


async def test_a_minute_long_nothing_is_read_again(api: PartnerApi, clock: ManualClock) -> None:
    reader = AccountReader(api)

    def spent() -> int:
        return api.budget.used(RateClass.READ, Window.DAY)

    await api.health()
    assert reader.kept("2026-11") is None
    before = spent()
    first = await reader.read("2026-11")
    assert spent() - before == READS
    assert await reader.read("2026-11") is first
    assert reader.kept("2026-11") is first
    assert spent() - before == READS
    assert [day.date for day in first.days][:1] == ["2026-10-01"]
    assert len(first.days_of("2026-11")) == clock.now().day
    other = await reader.read("2026-10")
    assert (other.month, spent() - before) == ("2026-10", 2 * READS)
    clock.advance(61)
    assert reader.kept("2026-11") is None
    assert await reader.read("2026-11") is not first
    assert await reader.read("2026-11", anew=True) is not first
    assert spent() - before == 4 * READS
