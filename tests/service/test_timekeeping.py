"""A process whose clock is wrong, beside one whose clock is the database's."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal

import httpx2
import pytest
from msgspec.structs import replace

from manual_time import pass_seconds
from service.http_calls import AUTHORIZED, code, raw_call, running, small_service
from service.new_store import found
from service.orders_fixtures import venues_at
from service.plain_bundler import PlainBundler
from service.test_observation import read
from service.test_orders_api import created
from service.test_paid_calls import SENT, TERMS, ScriptedFacilitator
from service.test_store import bundle, quote
from service.venue import PlainVenue
from service.world import AS_FIRST
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.service.app import Onchain
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.metrics import Metrics, metrics_app
from swapdesk.service.payments import Settled
from swapdesk.service.store.store import Store

TOLERANCE = timedelta(hours=1)
"""However long a test takes, the time of the database is none that it waits for."""


class SetClock(ManualClock):
    """May be set, as a machine's clock is."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


class Follower(ScriptedFacilitator):
    def __init__(self) -> None:
        super().__init__()
        self.followed = 0

    async def outcome(self, transaction: str) -> Settled:
        self.followed += 1
        return await super().outcome(transaction)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now())


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.mark.parametrize("hours", [-30, 30])
async def test_nothing_is_done_by_a_clock_that_is_wrong(
    api: httpx2.AsyncClient,
    clock: ManualClock,
    store: Store,
    venue_list: list[PlainVenue],
    caplog: pytest.LogCaptureFixture,
    hours: int,
) -> None:
    """No order, bundle or payment is followed, nothing is dropped and nobody is answered, until the
    clock is set. Everything goes on then, and stops when it is wrong again."""
    order = await created(api)
    await begun(store, clock.now())
    told: list[str] = []

    def intervened(multi_id: str) -> Literal["hold"]:
        told.append(multi_id)
        return "hold"

    wrong, facilitator = SetClock(clock.now()), Follower()
    wrong.ahead = timedelta(hours=hours)
    other = small_service(
        wrong,
        store,
        venues=venue_list,
        onchain=Onchain(bundler=PlainBundler(), payments=(TERMS, facilitator)),
        intervene=intervened,
        clock_tolerance=TOLERANCE,
    )

    def done() -> tuple[int, int, int]:
        return sum(len(venue.asked) for venue in venue_list), len(told), facilitator.followed

    async with running(other, AS_FIRST) as asked:
        for _ in range(2):
            before = done()
            await pass_seconds(wrong, 70)
            assert done() == before
            assert await kept(store) == (1, 1)
            await refused(other, asked, order["serviceId"])
            wrong.ahead = timedelta(0)
            await pass_seconds(wrong, 70)
            assert all(now > was for now, was in zip(done(), before, strict=True))
            assert await told_ready(asked) == (200, "ready", "ok", "ok")
            (await asked.get(f"/orders/{order['serviceId']}")).raise_for_status()
            wrong.ahead = timedelta(hours=hours)
            await pass_seconds(wrong, 2)
    side = "ahead of" if hours > 0 else "behind"
    assert caplog.text.count(f" s {side} the database's: set it right") == 3
    assert caplog.text.count("it agrees with the database's again") == 2


async def begun(store: Store, now: datetime) -> None:
    """A bundle and a payment under way, and a quote that is not used any more."""
    sent = bundle(1, state="submitted")
    await store.groups.save_bundle(replace(sent, expires=now + timedelta(hours=1)))
    await store.payments.reserve("payment", now + timedelta(hours=1))
    await store.payments.note_sent("payment", SENT)
    expires = now + timedelta(minutes=1)
    await store.quotes.save([replace(quote(1), created=now, expires=expires)])


async def kept(store: Store) -> tuple[int, int]:
    ((quotes,),) = await found(
        store, "SELECT COUNT(*) AS n FROM quotes WHERE quote_id = :id", id=quote(1).quote_id
    )
    ((payments,),) = await found(store, "SELECT COUNT(*) AS n FROM payments")
    return quotes, payments


async def told_ready(api: httpx2.AsyncClient) -> tuple[int, str, str, str]:
    answer = await api.get("/ready")
    said = answer.json()
    return answer.status_code, said["status"], said["clock"], said["worker"]


async def _connecting() -> Any:
    return {"type": "websocket.connect"}


async def refused(parts: ServiceParts, api: httpx2.AsyncClient, service_id: str) -> None:
    """Whatever goes by time; that the process lives is another question."""
    assert await told_ready(api) == (503, "unready", "differs", "unknown")
    for path in (f"/orders/{service_id}", "/tokens", "/rateLimits"):
        answer = await api.get(path)
        assert code(answer) == (503, "SERVICE_UNAVAILABLE")
        assert int(answer.headers["retry-after"]) >= 1
    event = await api.post("/webhooks/aa", json={}, headers={"webhook-id": "evt_1"})
    assert code(event) == (503, "SERVICE_UNAVAILABLE"), "its source sends it again"
    beginning, _ = await raw_call(
        parts,
        _connecting,
        [AUTHORIZED, (b"host", b"service"), (b"upgrade", b"websocket")],
        type="websocket",
        path="/v2/ws",
        extensions={"websocket.http.response": {}},
    )
    assert beginning["status"] == 503
    assert (await api.get("/health")).status_code == 200
    transport = httpx2.ASGITransport(app=metrics_app(Metrics(), parts))
    async with httpx2.AsyncClient(transport=transport, base_url="http://metrics") as scraped:
        samples = await read(scraped)
    assert samples["swapdesk_ready", ()] == 0
    assert ("swapdesk_order_overdue_seconds", ()) not in samples
