"""Events of venues and bundlers: who is believed, and that an event only wakes who asks."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook
from starlette.datastructures import Headers

import manual_time
from patience import PATIENCE, eventually
from service.http_calls import JSON, calling, code, declined, delivery, fields, raw_call, running
from service.new_store import changed, found
from service.plain_bundler import PlainBundler
from service.test_orders_api import created
from service.test_store import bundle
from service.venue import PlainVenue
from service.world import AS_FIRST, WEBHOOK_SECRETS
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.bundling import Landed
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.multi.bundles import BundleWatch, nobody_intervenes
from swapdesk.service.rate_limits import STRANGER_READS
from swapdesk.service.store.store import Store
from swapdesk.service.webhooks import Webhooks
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.webhook_signature import WINDOW_SECONDS

NOTHING_NEW = b'{"type":"order.updated","data":{"orderId":"nobody:in"}}'


@pytest.fixture
def venue() -> PlainVenue:
    return PlainVenue("aa", "Alpha")


@pytest.fixture
def venue_list(venue: PlainVenue) -> list[PlainVenue]:
    return [venue]


@pytest.fixture
def now(clock: ManualClock) -> int:
    return int(clock.now().timestamp())


async def post(
    api: httpx2.AsyncClient, body: bytes, headers: dict[str, str], source: str = "aa"
) -> httpx2.Response:
    return await api.post(f"/webhooks/{source}", content=body, headers=headers)


def about(key: str, **more: Any) -> bytes:
    return json.dumps({"type": "order.updated", "data": {"orderId": key}, **more}).encode()


async def rows(store: Store, table: str = "orders", columns: str = "*") -> list[tuple[Any, ...]]:
    return await found(store, f"SELECT {columns} FROM {table}")  # noqa: S608 - names of the tests


async def an_order(api: httpx2.AsyncClient) -> tuple[str, str]:
    """Its id, and the key of its leg."""
    name = (await created(api))["serviceId"]
    return name, f"{name}:in"


async def status(api: httpx2.AsyncClient, service_id: str) -> int:
    return int((await api.get(f"/orders/{service_id}")).json()["status"])


async def reaches(api: httpx2.AsyncClient, service_id: str, wanted: int) -> None:
    """Let the loop turn until the order is so far; the clock stands still."""
    async with asyncio.timeout(PATIENCE):
        while await status(api, service_id) != wanted:  # noqa: ASYNC110 - of other threads
            await asyncio.sleep(0)


# An event wakes


async def test_an_order_moves_at_once_while_the_clock_stands_still(
    service: ServiceParts, venue: PlainVenue, now: int
) -> None:
    async with running(service, AS_FIRST) as api:
        service_id, key = await an_order(api)
        steps = ((LegStatus.CONFIRMING, 1), (LegStatus.EXCHANGING, 2), (LegStatus.FINISHED, 4))
        for number, (leg, reached) in enumerate(steps):
            venue.move(key, leg)
            body = about(key)
            answer = await post(api, body, delivery(body, now, event_id=f"evt_{number}"))
            assert (answer.status_code, answer.json()) == (200, {"received": True})
            await reaches(api, service_id, reached)
        assert int(service.clock.now().timestamp()) == now


async def test_news_that_come_during_a_look_are_looked_for_once_more(
    service: ServiceParts, venue: PlainVenue, now: int
) -> None:
    async with running(service, AS_FIRST) as api:
        service_id, key = await an_order(api)
        venue.trouble.report_slowly = True
        body = about(key)
        await post(api, body, delivery(body, now, event_id="evt_1"))
        await eventually(lambda: key in venue.asked)
        # What this look is told is older than the news.
        venue.move(key, LegStatus.CONFIRMING)
        await post(api, body, delivery(body, now, event_id="evt_2"))
        venue.trouble.released.set()
        await reaches(api, service_id, 1)


async def test_a_bundle_is_looked_at_because_of_its_bundler(
    store: Store, service: ServiceParts, clock: ManualClock, now: int
) -> None:
    bundler = PlainBundler()
    watch = BundleWatch(store, bundler, clock, nobody_intervenes)
    hooks = Webhooks(WEBHOOK_SECRETS, store, clock, service.worker, watch)
    submitted, at = bundle(1, state="submitted", signature="0x"), clock.now()
    await store.groups.save_bundle(submitted)
    hashed = submitted.batches[0].hash
    bundler.silent = True
    watching = asyncio.create_task(watch.run())
    try:
        await manual_time.rest()
        bundler.silent, bundler.blocks[hashed] = False, Landed("0x01", 1, 1, True, "")
        for number, (told, left) in enumerate((("0x00", 1), (hashed, 0))):
            event = {"type": "operation.included", "data": {"userOpHash": told}}
            body = json.dumps(event).encode()
            headers = delivery(body, now, source="bundler", event_id=f"evt_{number}")
            found = hooks.claimed("bundler", Headers(headers))
            await hooks.take(hooks.verified(found, body), event)
            async with asyncio.timeout(PATIENCE):
                while len(await store.groups.bundles_under_way()) != left:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert clock.now() == at


# Replayed, reordered, late, of nothing


async def test_replays_and_reorderings_change_nothing(
    service: ServiceParts, store: Store, venue: PlainVenue, now: int
) -> None:
    async with running(service, AS_FIRST) as api:
        service_id, key = await an_order(api)
        events = []
        for number, (leg, reached) in enumerate(
            ((LegStatus.CONFIRMING, 1), (LegStatus.SENDING, 2))
        ):
            venue.move(key, leg)
            body = about(key, id=f"evt_{number}")
            events.append((body, delivery(body, now, event_id=f"evt_{number}")))
            await post(api, *events[-1])
            await reaches(api, service_id, reached)
        asked, before = len(venue.asked), await rows(store)
        rng = random.Random(3)
        for body, headers in rng.choices(events, k=40):
            answer = await post(api, body, headers)
            assert (answer.status_code, answer.json()) == (200, {"received": True})
        assert (len(venue.asked), await rows(store)) == (asked, before)


async def test_an_event_that_nothing_at_the_venue_bears_out_moves_nothing(
    service: ServiceParts, store: Store, venue: PlainVenue, now: int
) -> None:
    async with running(service, AS_FIRST) as api:
        service_id, key = await an_order(api)
        asked = len(venue.asked)
        # Everything that is told, and not when somebody looks next.
        told = "status, rank, version, display_status, in_status, modified, detail"
        before = await rows(store, columns=told)
        body = about(key, status=4, displayStatus="SWAP_COMPLETED", payoutHash="0x00")
        assert (await post(api, body, delivery(body, now))).status_code == 200
        await eventually(lambda: len(venue.asked) > asked)
        assert await status(api, service_id) == 0
        assert await rows(store, columns=told) == before


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"data":null}',
        b'{"data":[]}',
        b'{"data":{}}',
        b'{"data":{"orderId":null}}',
        b'{"data":{"orderId":{"a":1}}}',
        b'{"data":{"orderId":""}}',
        b'{"data":{"orderId":"abc"}}',
        b'{"data":{"orderId":"a b:in"}}',
        b'{"data":{"orderId":"abc:in"}}',
        b'{"data":{"orderId":"' + b"a" * 9000 + b':in"}}',
        b'{"data":{"orderId":"a\\u0000:in"},"more":[1,2.5,{"a":1e-9}],"type":7}',
    ],
)
async def test_an_event_of_nothing_is_taken_and_changes_nothing(
    anyone: httpx2.AsyncClient, service: ServiceParts, store: Store, now: int, body: bytes
) -> None:
    for source in ("aa", "bundler"):
        answer = await post(anyone, body, delivery(body, now, source=source), source)
        assert (answer.status_code, answer.json()) == (200, {"received": True})
        assert await service.worker.step(service.clock.now()) == 0
        assert await rows(store) == []


async def test_an_order_that_nobody_looks_at_any_more_stays_as_it_is(
    service: ServiceParts, store: Store, venue: PlainVenue, api: httpx2.AsyncClient, now: int
) -> None:
    _, key = await an_order(api)
    for change in ("due_at = NULL", "status = -2"):
        await changed(store, f"UPDATE orders SET {change}")  # noqa: S608 - two literals above
        before, body = await rows(store), about(key)
        headers = delivery(body, now, event_id=f"evt_{change[0]}")
        assert (await post(api, body, headers)).status_code == 200
        assert await service.worker.step(service.clock.now()) == 0
        assert await rows(store) == before


async def test_event_ids_are_forgotten_once_no_signature_counts(
    service: ServiceParts, store: Store, anyone: httpx2.AsyncClient, clock: ManualClock
) -> None:
    begin = int(clock.now().timestamp())
    await post(anyone, NOTHING_NEW, delivery(NOTHING_NEW, begin))
    clock.advance(WINDOW_SECONDS)
    # The same event signed anew, as senders do that try again.
    again = delivery(NOTHING_NEW, begin + 2 * WINDOW_SECONDS)
    assert (await post(anyone, NOTHING_NEW, again)).json() == {"received": True}
    clock.advance(2 * WINDOW_SECONDS - 1)
    await service.worker.sweep(clock.now())
    assert len(await rows(store, "webhooks")) == 1
    clock.advance(3)
    await service.worker.sweep(clock.now())
    assert await rows(store, "webhooks") == []


# Who is believed


async def refused(answer: httpx2.Response, store: Store) -> str:
    """That it is refused, and that nothing came of it; the message."""
    assert code(answer) == (401, "INVALID_API_CREDENTIALS")
    assert answer.json().keys() == {"message", "code", "requestId"}
    assert answer.headers["x-request-id"] == answer.json()["requestId"]
    assert await rows(store, "webhooks") == []
    return str(answer.json()["message"])


async def test_another_implementation_signs(anyone: httpx2.AsyncClient, now: int) -> None:
    body = '{"id":"msg_1","data":{"orderId":"é:in"}}'
    at = datetime.fromtimestamp(now, UTC)
    signed = Webhook(WEBHOOK_SECRETS["aa"]).sign("msg_1", at, body)
    headers = {**JSON, "webhook-id": "msg_1", "webhook-timestamp": str(now)}
    answer = await post(anyone, body.encode(), {**headers, "webhook-signature": signed})
    assert (answer.status_code, answer.json()) == (200, {"received": True})


@pytest.mark.proves("input receive_webhook source")
async def test_a_source_is_known_by_its_own_secret(
    anyone: httpx2.AsyncClient, store: Store, now: int
) -> None:
    body = NOTHING_NEW
    await declined(post(anyone, body, delivery(body, now), "cc"), "NOT_FOUND")
    await refused(await post(anyone, body, delivery(body, now, source="bb")), store)
    assert (await post(anyone, body, delivery(body, now, source="bb"), "bb")).status_code == 200


async def test_one_of_several_signatures_is_enough_and_other_versions_count_for_nothing(
    anyone: httpx2.AsyncClient, store: Store, now: int
) -> None:
    right = delivery(NOTHING_NEW, now)
    name = "webhook-signature"
    mine = right[name]
    for other in (f"v2{mine[2:]}", f"v1a{mine[2:]}", mine[3:], f"{mine}=", f"{mine},{mine}", "v1,"):
        await refused(await post(anyone, NOTHING_NEW, {**right, name: other}), store)
    many = f"v2,{mine[3:]} v1,AAAA {mine} nonsense"
    assert (await post(anyone, NOTHING_NEW, {**right, name: many})).status_code == 200


async def test_whatever_is_wrong_is_told_alike(
    anyone: httpx2.AsyncClient, store: Store, now: int
) -> None:
    good = delivery(NOTHING_NEW, now)
    told = set()
    wrong: list[dict[str, str]] = [
        {name: value for name, value in good.items() if name != left_out}
        for left_out in good
        if left_out != "content-type"
    ]
    wrong += [delivery(NOTHING_NEW, now + late) for late in (-301, 301, -(10**9))]
    wrong += [delivery(NOTHING_NEW, now, event_id=name) for name in ("", "a.b", "a" * 129, "a b")]
    for time in ("", f"+{now}", f"0{now}", f"{now}.0", f"{now}e0", f"-{now}", "1_0", "9" * 40):
        wrong.append({**good, "webhook-timestamp": time})
    wrong.append({**good, "webhook-id": "evt_2"})
    wrong.append({**good, "webhook-timestamp": str(now + 1)})
    for headers in wrong:
        told.add(await refused(await post(anyone, NOTHING_NEW, headers), store))
    told.add(await refused(await post(anyone, NOTHING_NEW + b" ", good), store))
    assert len(told) == 1
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        twice = [*good.items(), (name, good[name])]
        answer = await anyone.post("/webhooks/aa", content=NOTHING_NEW, headers=twice)
        told.add(await refused(answer, store))
    assert len(told) == 1


@pytest.mark.parametrize("late", [-WINDOW_SECONDS, WINDOW_SECONDS])
async def test_five_minutes_on_either_side(anyone: httpx2.AsyncClient, now: int, late: int) -> None:
    headers = delivery(NOTHING_NEW, now + late)
    assert (await post(anyone, NOTHING_NEW, headers)).status_code == 200


# Bodies


async def test_an_id_in_the_body_is_the_one_that_was_signed(
    anyone: httpx2.AsyncClient, store: Store, now: int
) -> None:
    for told in ("evt_2", "", 1, None, ["evt_1"]):
        body = json.dumps({"id": told}).encode()
        assert fields(await post(anyone, body, delivery(body, now))).keys() == {"id"}
        assert await rows(store, "webhooks") == []
    body = b'{"id":"evt_1"}'
    assert (await post(anyone, body, delivery(body, now))).status_code == 200


async def test_it_takes_no_parameters(anyone: httpx2.AsyncClient, now: int) -> None:
    headers = delivery(NOTHING_NEW, now)
    await declined(
        anyone.post("/webhooks/aa?apiKey=1", content=NOTHING_NEW, headers=headers), field="apiKey"
    )


# Floods


async def test_who_is_wrong_counts_by_address_and_who_is_right_is_not_held_up(
    service: ServiceParts, store: Store, now: int
) -> None:
    application = build_service(service)

    async with (
        calling(application, address="192.0.2.1") as crowd,
        calling(application, address="192.0.2.2") as other,
    ):
        for number in range(STRANGER_READS):
            path = "/webhooks/nobody" if number % 2 else "/webhooks/aa"
            answer = await crowd.post(path, content=b"{}", headers={**JSON, **AS_FIRST})
            assert answer.status_code in (401, 404)
        full = await crowd.post("/webhooks/aa", content=b"{}", headers=JSON)
        assert code(full) == (429, "RATE_LIMIT_EXCEEDED")
        assert int(full.headers["retry-after"]) > 0
        assert (await crowd.get("/chains")).status_code == 429, "it is one count of an address"
        for number in range(STRANGER_READS + 5):
            headers = delivery(NOTHING_NEW, now, event_id=f"evt_{number}")
            assert (await post(crowd, NOTHING_NEW, headers)).status_code == 200
        assert (await crowd.get("/chains", headers=AS_FIRST)).status_code == 200
        assert (await other.post("/webhooks/aa", content=b"{}")).status_code == 401


async def test_an_unsigned_body_is_not_read(service: ServiceParts) -> None:
    """What could be right for no body is refused before one byte of it is asked for."""

    async def receive() -> Any:
        raise AssertionError("the body was read")

    headers = [(b"content-type", b"application/json")]
    sent = await raw_call(service, receive, headers, path="/v2/webhooks/aa")
    assert sent[0]["status"] == 401
