"""Of a row of the tracker the time moves its own cell, up to the deadline."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from flows.orders import NOW, intent, order
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.notation import Elapsed
from swapdesk.flows.orders.order_status import OrderStatus, order_status, time_at
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.widgets.order_table import order_row, row_at
from swapdesk.wire.orders import DisplayStatus, LegStatus

SECONDS = st.one_of(
    st.integers(-120, 4_000).map(float),
    st.floats(-120, 4_000, allow_nan=False),
    st.integers(0, 60 * 80).map(lambda minutes: minutes * 60.0),
    st.sampled_from([1799.9, 1800.0, 1800.1, 839.9, 840.0, 840.1, 3599.9, 3600.0]),
)


@st.composite
def orders(draw: st.DrawFn) -> TrackedOrder:
    created = draw(st.sampled_from([None, NOW]))
    of = draw(st.sampled_from([None, intent()]))
    leg = st.sampled_from([None, *LegStatus])
    return TrackedOrder(
        order(
            of,
            created=created,
            display_status=draw(st.sampled_from([None, *DisplayStatus, "A_NEW_WORD"])),
            status=None,
            in_status=draw(leg),
            out_status=draw(leg),
            expires=draw(st.sampled_from([None, NOW + timedelta(minutes=30)])),
            eta=draw(st.sampled_from([None, Decimal(14), Decimal("0.5")])),
            anonymous=draw(st.booleans()),
            action_required=draw(st.sampled_from([None, True])),
        ),
        of,
        draw(st.sampled_from([None, "hidden"])),
        ended=False,
        seen_at=NOW,
        source="stream",
        standing=draw(st.sampled_from(list(DepositRelease))),
        in_batch=draw(st.booleans()),
    )


@settings(max_examples=500)
@given(orders(), SECONDS, st.one_of(SECONDS, st.floats(0, 90)), st.booleans(), st.booleans())
def test_a_row_with_its_time_is_the_row_of_that_time(
    one: TrackedOrder, first: float, second: float, later: bool, wide: bool
) -> None:
    before = NOW + timedelta(seconds=first)
    after = before + timedelta(seconds=abs(second)) if later else NOW + timedelta(seconds=second)
    drawn = order_status(one, before)
    row = order_row(one, drawn, wide=wide)
    time = time_at(drawn, one, after)
    if time is not None:
        due = order_row(one, order_status(one, after), wide=wide)
        assert row_at(row, drawn, time, wide=wide) == due
    assert time_at(drawn, one, before) == shown(drawn)


def shown(summary: OrderStatus) -> Elapsed:
    return summary.time


def moved(one: TrackedOrder, before: datetime, after: datetime) -> bool:
    drawn = order_status(one, before)
    return time_at(drawn, one, after) != shown(drawn)


def test_with_the_deadline_more_than_the_time_is_another() -> None:
    one = TrackedOrder(order(), None, None, ended=False, seen_at=NOW, source="stream")
    before = one.order.expires - timedelta(seconds=1)
    drawn = order_status(one, before)
    assert time_at(drawn, one, before) == shown(drawn)
    assert time_at(drawn, one, one.order.expires) is None
    assert time_at(order_status(one, one.order.expires), one, before) is None


def test_a_countdown_moves_every_second_and_minutes_every_minute() -> None:
    waiting = TrackedOrder(order(), None, None, ended=False, seen_at=NOW, source="stream")
    under_way = TrackedOrder(
        order(display_status="EXCHANGE_IN_PROGRESS", status=2, in_status=3),
        None,
        None,
        ended=False,
        seen_at=NOW,
        source="stream",
    )
    seconds = [NOW + timedelta(seconds=each) for each in range(130)]
    assert all(moved(waiting, one, two) for one, two in pairwise(seconds))
    steps = [moved(under_way, one, two) for one, two in pairwise(seconds)]
    assert 1 <= sum(steps) <= 63
    assert not any(steps[60:118])
