"""The stream breaks, doubles and turns around: what the desk shows goes forward only.

The service over loopback behind the sandbox's own fault layer, on a clock that is moved.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

import manual_time
from flows.conftest import Trade
from flows.test_tracking import Followed
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import OrderStream
from swapdesk.client.stream_events import StreamState
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.journal.order_merge import PROGRESS
from swapdesk.flows.orders.order_listing import stale_words
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server, started
from swapdesk.sandbox.processes import listen
from swapdesk.service.app import build_service
from swapdesk.wire.orders import DisplayStatus, LegStatus

DROPPED = 60.0
WAY = [*[str(step) for step in PROGRESS], str(DisplayStatus.SWAP_COMPLETED)]


class Watched(Struct):
    """One order behind the fault layer, and everything that was shown of it."""

    one: Followed
    faults: ActiveFaults
    layer: FaultLayer
    shown: list[str]
    badges: list[StreamState]

    def fault(self, kind: str, *, times: int = 1, seconds: float = 0.0) -> None:
        self.faults.set(kind, times=times, seconds=seconds)

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
async def watched(trade: Trade, tmp_path: Path) -> AsyncIterator[Watched]:
    faults = ActiveFaults()
    layer = FaultLayer(build_service(trade.service), faults, trade.clock)
    server = build_server(layer, trade.clock, lifespan=True)
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v2"
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    credentials = Credentials.of_key("first-key", "first-secret")
    api = PartnerApi(url, credentials, clock=trade.clock, rng=random.Random(1))
    flow = ExchangeFlow(api, trade.journal, trade.clock, looks=(0.0,))
    trade = replace(trade, api=api, flow=flow)
    assert await started(server, asyncio.Event())
    created = await trade.flow.create(await trade.quoted())
    assert isinstance(created, Created)
    stream = OrderStream(None, credentials, trade.clock, api, random.Random(2))
    tracker = Tracker(trade.journal, api, trade.clock, stream)
    await tracker.load_past()
    following = asyncio.create_task(tracker.run())
    journal = tmp_path / "desk" / "journal.db"
    one = Followed(trade, tracker, following, created.order.service_id, url, journal)
    await one.until(lambda: tracker.stream_state is StreamState.LIVE)
    yield Watched(one, faults, layer, [], [])
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await api.aclose()
    server.should_exit = True
    trade.clock.advance(60)
    await serving


async def test_a_minute_without_the_stream(watched: Watched) -> None:
    clock = watched.one.trade.clock
    watched.look()
    begun = clock.now()
    watched.fault("ws_drop", seconds=DROPPED)
    assert watched.layer.drop_streams() == 1
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
    assert all(one.times is not None and one.times < 20 for one in watched.faults.active)
    seen = watched.one.trade.journal.orders.events(watched.one.order_id)
    states = [one.model_copy(update={"modified": None}) for _, _, one in seen]
    assert all(one != other for one, other in pairwise(states))
