"""The stream breaks, doubles and turns around: what the desk shows goes forward only.

The service over loopback behind the sandbox's own fault layer, on a clock that is moved.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import pytest
from msgspec import Struct

import manual_time
from flows.following import Followed, following
from swapdesk.client.live import StreamState
from swapdesk.flows.journal.order_merge import PROGRESS
from swapdesk.flows.orders.order_listing import stale_words
from swapdesk.wire.orders import DisplayStatus, LegStatus
from world import World

DROPPED = 60.0
WAY = [*[str(step) for step in PROGRESS], str(DisplayStatus.SWAP_COMPLETED)]


class Watched(Struct):
    """One order behind the fault layer, and everything that was shown of it."""

    one: Followed
    shown: list[str]
    badges: list[StreamState]

    def fault(self, kind: str, *, times: int = 1, seconds: float = 0.0) -> None:
        self.one.trade.faults.set(kind, times=times, seconds=seconds)

    def look(self) -> None:
        display, badge = self.one.display, self.one.tracker.stream_state
        if display is not None and (not self.shown or self.shown[-1] != display):
            self.shown.append(display)
        if not self.badges or self.badges[-1] is not badge:
            self.badges.append(badge)

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Let time pass, and look at every turn of the loop."""

        def looked() -> bool:
            self.look()
            return condition()

        await manual_time.until(self.one.trade.clock, looked, lambda: (self.shown, self.badges))

    async def until(self, display: DisplayStatus) -> None:
        await self._until(lambda: self.one.display == display)

    async def badge(self, state: StreamState) -> None:
        await self._until(lambda: self.one.tracker.stream_state is state)

    def went_forward(self) -> bool:
        places = [WAY.index(one) for one in self.shown]
        return places == sorted(set(places))


@pytest.fixture
async def watched(trade: World) -> AsyncIterator[Watched]:
    async with following(trade) as one:
        yield Watched(one, [], [])


async def test_a_minute_without_the_stream(watched: Watched) -> None:
    clock = watched.one.trade.clock
    watched.look()
    begun = clock.now()
    watched.fault("ws_drop", seconds=DROPPED)
    assert watched.one.trade.layer.drop_streams() == 1
    await watched.badge(StreamState.POLLING)
    watched.one.venue(LegStatus.CONFIRMING)
    await watched.until(DisplayStatus.DEPOSIT_DETECTED)
    assert watched.one.tracker.stream_state is StreamState.POLLING
    assert stale_words(StreamState.POLLING, watched.one.tracker.stream_age()).endswith("polling")
    assert (clock.now() - begun).total_seconds() < DROPPED
    watched.one.venue(LegStatus.EXCHANGING)
    await watched.badge(StreamState.LIVE)
    assert (clock.now() - begun).total_seconds() >= DROPPED
    await watched.until(DisplayStatus.EXCHANGE_IN_PROGRESS)
    for leg, display in (
        (LegStatus.SENDING, DisplayStatus.SENDING_TO_RECEIVER),
        (LegStatus.FINISHED, DisplayStatus.SWAP_COMPLETED),
    ):
        watched.one.venue(leg)
        await watched.until(display)
    await watched.one.until(lambda: watched.one.order.ended)
    assert watched.went_forward(), watched.shown
    assert watched.badges[0] is StreamState.LIVE
    assert watched.badges[-1] is StreamState.LIVE
    polled = watched.badges.index(StreamState.POLLING)
    assert StreamState.LIVE not in watched.badges[1:polled]
    assert StreamState.OFFLINE not in watched.badges


@pytest.mark.parametrize("kind", ["ws_duplicate", "ws_reorder"])
async def test_doubled_and_turned_frames_change_nothing(watched: Watched, kind: str) -> None:
    watched.look()
    watched.fault(kind, times=20, seconds=5.0)
    for leg, display in (
        (LegStatus.CONFIRMING, DisplayStatus.DEPOSIT_DETECTED),
        (LegStatus.EXCHANGING, DisplayStatus.EXCHANGE_IN_PROGRESS),
        (LegStatus.SENDING, DisplayStatus.SENDING_TO_RECEIVER),
        (LegStatus.FINISHED, DisplayStatus.SWAP_COMPLETED),
    ):
        watched.one.venue(leg)
        await watched.until(display)
    assert watched.went_forward(), watched.shown
    assert watched.one.trade.faults.active == [] or watched.one.trade.faults.active[0].times < 20
    seen = watched.one.trade.journal.orders.events(watched.one.order_id)
    states = [one.model_copy(update={"modified": None}) for _, _, one in seen]
    assert all(one != other for one, other in pairwise(states))
