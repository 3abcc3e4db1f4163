"""Events that are lost, come twice, late or with another's signature: an order goes on by the looks
of the service, and nothing of it changes twice."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

import manual_time
from service.test_webhooks import an_order, rows, venue, venue_list
from service.venue import PlainVenue
from service.world import WEBHOOK_KEY
from swapdesk.clock import ManualClock
from swapdesk.sandbox.answer_faults import AnswerFaults
from swapdesk.sandbox.control_bodies import FaultBody
from swapdesk.sandbox.fault_choice import choose
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.faults import ActiveFault, FaultKind
from swapdesk.sandbox.node.event_sender import WAITS, EventSender
from swapdesk.sandbox.webhook_faults import WEBHOOK_FAULTS
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.orders import LegStatus

__all__ = ["venue", "venue_list"]
URL = "http://service/v2"
STEPS = ((LegStatus.CONFIRMING, 1), (LegStatus.EXCHANGING, 2), (LegStatus.FINISHED, 4))
LATE = 60
TRIES = len(WAITS) + 1


def set_by(**body: Any) -> ActiveFault[FaultKind]:
    """As whoever sets it over the control."""
    chosen = choose(FaultBody.model_validate(body))
    assert isinstance(chosen, ActiveFault)
    return chosen


def of_venue(name: str, venue: str) -> ActiveFault[FaultKind]:
    """For exchanges that are no sandbox's."""
    return ActiveFault(WEBHOOK_FAULTS[name], None, venue=venue)


@pytest.mark.parametrize(
    ("fault", "came", "taken"),
    [
        pytest.param(None, 3, 3, id="none"),
        pytest.param(set_by(fault="webhook_lost"), 0, 0, id="lost"),
        pytest.param(of_venue("webhook_lost", "bb"), 3, 3, id="lost elsewhere"),
        pytest.param(of_venue("webhook_replayed", "aa"), 6, 3, id="replayed"),
        pytest.param(set_by(fault="webhook_signature"), 3 * TRIES, 0, id="signature"),
        pytest.param(set_by(fault="webhook_signature", times=1), 4, 3, id="signature once"),
        pytest.param(
            set_by(fault="delay", operation="receive_webhook", times=3, seconds=LATE),
            3,
            3,
            id="late",
        ),
    ],
)
async def test_an_order_ends_as_it_would_without_events(
    service: ServiceParts,
    store: SqliteStore,
    venue: PlainVenue,
    clock: ManualClock,
    fault: ActiveFault[Any] | None,
    came: int,
    taken: int,
) -> None:
    application, faults, events = build_service(service), AnswerFaults(), []

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/v2/webhooks/aa":
            events.append(scope)
        await application(scope, receive, send)

    transport = httpx.ASGITransport(app=FaultLayer(counted, faults, clock))
    sender = EventSender(URL, WEBHOOK_KEY, clock, random.Random(5), transport)
    if fault is not None:
        faults.add(replace(fault))

    def reached() -> list[int]:
        return [row[4] for row in rows(store, "outbox")]

    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url=URL) as api,
    ):
        await an_order(api)
        (key,) = venue.keys
        sending = asyncio.create_task(sender.run())
        try:
            for leg, status in STEPS:
                venue.move(key, leg)
                sender.tell("aa", "orderId", key)
                # Every try of this event is over then, and a late one has come.
                await manual_time.pass_seconds(clock, LATE + 30)
                assert reached()[-1] == status
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending
    assert reached() == [0, 1, 2, 4]
    assert len(venue.opened) == 1
    assert (len(events), len(rows(store, "webhooks"))) == (came, taken)
