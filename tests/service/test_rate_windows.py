"""Rate limits: exactly as many calls as the limits state, whatever happens around them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from service.new_store import open_new
from service.world import AS_FREE, BTC, BY_PARTNER_ID, CHAINS, ETH, FREE, INTERMEDIARIES, TOKENS
from swapdesk.clock import ManualClock
from swapdesk.service.access import ApiKey, Caller, Partner, Tier, digest
from swapdesk.service.app import assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.rate_limits import (
    STRANGER_READS,
    WINDOW_SECONDS,
    CallWindows,
    RateLimiter,
    RequestCounter,
    limits_of,
)
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operation import RateClass

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
QUOTE = {"amount": "0.5", "from": BTC.id, "to": ETH.id}
ROOMY = RateWindows(per_minute=100_000, per_hour=100_000, per_day=100_000)


def passed(windows: CallWindows, limits: RateWindows, now: datetime, calls: int) -> int:
    admissions = [windows.admit("p", RateClass.QUOTE, limits, now) for _ in range(calls)]
    return sum(admission.retry_after is None for admission in admissions)


@pytest.mark.parametrize(("index", "length"), list(enumerate(WINDOW_SECONDS)))
def test_a_window_begins_anew_at_its_edge_and_not_a_millisecond_before(
    index: int, length: int
) -> None:
    limit = [100_000, 100_000, 100_000]
    limit[index] = 7
    limits = RateWindows(per_minute=limit[0], per_hour=limit[1], per_day=limit[2])
    windows = CallWindows()
    assert passed(windows, limits, MIDNIGHT, 57) == 7
    edge = MIDNIGHT + timedelta(seconds=length)
    assert passed(windows, limits, edge - timedelta(milliseconds=1), 50) == 0
    assert passed(windows, limits, edge, 57) == 7
    assert passed(windows, limits, edge + timedelta(milliseconds=1), 50) == 0


@given(
    limits=st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 20)),
    steps=st.lists(st.integers(0, 4_000), max_size=60),
)
def test_no_window_ever_holds_more_calls_than_its_limit(
    limits: tuple[int, int, int], steps: list[int]
) -> None:
    windows, now, times = CallWindows(), MIDNIGHT, []
    allowed = RateWindows(per_minute=limits[0], per_hour=limits[1], per_day=limits[2])
    for step in steps:
        now += timedelta(seconds=step)
        admission = windows.admit("p", RateClass.QUOTE, allowed, now)
        if admission.retry_after is None:
            times.append(now.timestamp())
        else:
            # After the wait it states, and not a second before, the same call passes.
            again = CallWindows()
            again.restore(windows.usage("p", RateClass.QUOTE))
            early = now + timedelta(seconds=admission.retry_after - 1)
            assert again.admit("p", RateClass.QUOTE, allowed, early).retry_after is not None
            late = now + timedelta(seconds=admission.retry_after)
            assert again.admit("p", RateClass.QUOTE, allowed, late).retry_after is None
    for length, limit in zip(WINDOW_SECONDS, limits, strict=True):
        counted: dict[int, int] = {}
        for moment in times:
            counted[int(moment // length)] = counted.get(int(moment // length), 0) + 1
        assert max(counted.values(), default=0) <= limit


def test_partners_and_classes_do_not_share_a_window() -> None:
    windows, limits = CallWindows(), RateWindows(per_minute=1, per_hour=9, per_day=9)
    for partner in ("a", "b"):
        for rate_class in (RateClass.READ, RateClass.QUOTE, RateClass.EXCHANGE):
            assert windows.admit(partner, rate_class, limits, MIDNIGHT).retry_after is None
            assert windows.admit(partner, rate_class, limits, MIDNIGHT).retry_after == 60


async def test_of_many_calls_at_once_through_two_keys_exactly_the_limit_passes(
    store: SqliteStore, clock: ManualClock
) -> None:
    limits = RateWindows(per_minute=30, per_hour=60, per_day=90)
    keys = tuple(ApiKey(name, digest(b"secret")) for name in ("one", "two"))
    partner = Partner("p", "P", Tier.PRO, keys, limits, limits, limits)
    parts = assemble(clock, random.Random(1), store, CHAINS, TOKENS, [], [partner], INTERMEDIARIES)
    transport = httpx.ASGITransport(app=build_service(parts))
    async with httpx.AsyncClient(transport=transport, base_url="http://service/v2") as api:
        for minute in range(3):
            answers = await asyncio.gather(
                *(
                    api.get("/chains", headers={"Authorization": f"{keys[number % 2].key}:secret"})
                    for number in range(80)
                )
            )
            codes = [answer.status_code for answer in answers]
            assert codes.count(200) == (30, 30, 0)[minute]
            assert codes.count(429) == 80 - codes.count(200)
            clock.advance(60)


async def test_a_refusal_says_when_to_come_back(api: httpx.AsyncClient, clock: ManualClock) -> None:
    clock.advance(60 - clock.now().timestamp() % 60 + 12.5)
    for left in (4, 3, 2, 1, 0):
        answer = await api.get("/quotes", params=QUOTE, headers=AS_FREE)
        assert answer.status_code == 200
        assert answer.headers["ratelimit-limit"] == "5"
        assert answer.headers["ratelimit-remaining"] == str(left)
        assert answer.headers["ratelimit-reset"] == "48"
    refused = await api.get("/quotes", params=QUOTE, headers=AS_FREE)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "48"
    body = refused.json()
    assert body["code"] == "RATE_LIMIT_EXCEEDED"
    assert set(body) == {"message", "code", "requestId"}
    # Another partner, and another class of the same partner, are not affected.
    assert (await api.get("/quotes", params=QUOTE)).status_code == 200
    assert (await api.get("/chains", headers=AS_FREE)).status_code == 200
    clock.advance(47.5)
    assert (await api.get("/quotes", params=QUOTE, headers=AS_FREE)).status_code == 200


async def test_what_is_reported_is_what_is_enforced(
    api: httpx.AsyncClient, clock: ManualClock
) -> None:
    """A caller that asks whenever it may gets exactly the reported numbers."""
    clock.advance(86_400 - clock.now().timestamp() % 86_400)
    day, times = clock.now().date(), []
    while clock.now().date() == day:
        answer = await api.get("/quotes", params=QUOTE, headers=AS_FREE)
        if answer.status_code == 200:
            times.append(clock.now().timestamp())
        else:
            clock.advance(float(answer.headers["retry-after"]))
    reported = (await api.get("/rateLimits", headers=AS_FREE)).json()["quote"]
    for name, length in zip(("perMinute", "perHour", "perDay"), WINDOW_SECONDS, strict=True):
        assert max(Counter(int(moment // length) for moment in times).values()) == reported[name]


async def test_wrong_input_counts_and_a_refused_call_does_not(
    api: httpx.AsyncClient,
) -> None:
    wrong = {**QUOTE, "amount": "x"}
    for _ in range(5):
        assert (await api.get("/quotes", params=wrong, headers=AS_FREE)).status_code == 422
    for _ in range(9):
        assert (await api.get("/quotes", params=QUOTE, headers=AS_FREE)).status_code == 429


async def test_open_operations_and_unknown_paths_carry_no_limits(
    anyone: httpx.AsyncClient,
) -> None:
    for path in ("/health", "/nothing"):
        for _ in range(STRANGER_READS + 1):
            assert "ratelimit-limit" not in (await anyone.get(path)).headers


async def test_an_address_without_credentials_has_sixty_reads_a_minute(
    service: ServiceParts, clock: ManualClock
) -> None:
    """Whatever is asked for; another address, and whoever has credentials, is not concerned."""
    app = build_service(service)
    there = httpx.ASGITransport(app=app, client=("192.0.2.7", 1))
    other = httpx.ASGITransport(app=app, client=("192.0.2.8", 1))
    base = "http://service/v2"
    asked = [("GET", "/chains"), ("POST", "/exchanges"), ("GET", "/orders"), ("GET", "/quotes")]
    clock.advance(60 - clock.now().timestamp() % 60)
    async with (
        httpx.AsyncClient(transport=there, base_url=base) as api,
        httpx.AsyncClient(transport=other, base_url=base) as neighbour,
    ):
        for number in range(60):
            answer = await api.request(*asked[number % len(asked)])
            assert (answer.status_code, answer.headers["ratelimit-remaining"]) == (
                401,
                str(59 - number),
            )
        clock.advance(17)
        for call in [*asked, ("GET", "/chains?apiKey=first-key")]:
            answer = await api.request(*call)
            assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
            assert (answer.headers["retry-after"], answer.headers["ratelimit-limit"]) == (
                "43",
                "60",
            )
        assert (await neighbour.get("/chains")).status_code == 401
        for headers in (AS_FREE, BY_PARTNER_ID):
            assert (await api.get("/chains", headers=headers)).status_code == 200
        wrong = await api.get("/chains", headers={"Authorization": "no:body"})
        assert wrong.status_code == 401
        clock.advance(43)
        assert (await api.get("/chains")).status_code == 401


@pytest.mark.parametrize(
    ("path", "by_key", "by_id"), [("/quotes", 5, 2), ("/chains", 60, 30)], ids=["quotes", "reads"]
)
async def test_a_partner_id_has_windows_of_its_own_of_half_the_size(
    store: SqliteStore, clock: ManualClock, path: str, by_key: int, by_id: int
) -> None:
    partner = replace(FREE, read_limits=RateWindows(per_minute=60, per_hour=99, per_day=999))
    parts = assemble(clock, random.Random(7), store, CHAINS, TOKENS, [], [partner], INTERMEDIARIES)
    transport = httpx.ASGITransport(app=build_service(parts))
    public = {"partner-id": FREE.partner_id}
    async with httpx.AsyncClient(transport=transport, base_url="http://service/v2") as api:

        async def passed(headers: dict[str, str]) -> int:
            for number in range(100):
                answer = await api.get(path, params=QUOTE, headers=headers)
                if answer.status_code == 429:
                    return number
            raise AssertionError("no limit")

        assert await passed(public) == by_id
        assert await passed(AS_FREE) == by_key, "the public id uses up nothing of the key's"
        assert await passed(public) == 0
        clock.advance(60)
        told = (await api.get("/rateLimits", headers=AS_FREE)).json()
        assert told["quote"] == {"perMinute": 5, "perHour": 20, "perDay": 50}


async def test_windows_of_a_partner_id_outlive_the_process(
    store: SqliteStore, clock: ManualClock
) -> None:
    caller = Caller(FREE, None)
    for number in range(3):
        parts = assemble(clock, random.Random(7), store, CHAINS, TOKENS, [], [FREE], INTERMEDIARIES)
        await parts.rates.restore()
        admission = await parts.rates.admit(caller, RateClass.QUOTE)
        assert admission is not None
        assert (admission.retry_after is None) is (number < 2)


@pytest.mark.parametrize(("whole", "half"), [(0, 0), (1, 1), (2, 1), (5, 2), (60, 30)])
def test_half_of_a_limit(whole: int, half: int) -> None:
    limits = RateWindows(per_minute=whole, per_hour=whole, per_day=whole)
    found = limits_of(Caller(replace(FREE, quote_limits=limits), None), RateClass.QUOTE)
    assert found == RateWindows(per_minute=half, per_hour=half, per_day=half)


async def test_a_killed_process_forgets_no_quote(tmp_path: Path, clock: ManualClock) -> None:
    passing = 0
    for number in range(4):
        # The store is opened anew without any shutdown of the service before it.
        store = SqliteStore.open(tmp_path / "service.db")
        limits = RateWindows(per_minute=9, per_hour=9, per_day=9)
        partner = Partner("p", "P", Tier.PRO, (ApiKey("k", digest(b"s")),), limits, limits, ROOMY)
        parts = assemble(
            clock, random.Random(number), store, CHAINS, TOKENS, [], [partner], INTERMEDIARIES
        )
        await parts.rates.restore()
        transport = httpx.ASGITransport(app=build_service(parts))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://service/v2", headers={"Authorization": "k:s"}
        ) as api:
            for _ in range(4):
                passing += (await api.get("/quotes", params=QUOTE)).status_code == 200
        await store.close()
    assert passing == 9


async def test_a_clean_end_keeps_the_reads(tmp_path: Path, clock: ManualClock) -> None:
    used = []
    for number in range(2):
        store = SqliteStore.open(tmp_path / "service.db")
        parts = assemble(
            clock,
            random.Random(number),
            store,
            CHAINS,
            TOKENS,
            [],
            [Partner("p", "P", Tier.PRO, (ApiKey("k", digest(b"s")),), ROOMY, ROOMY, ROOMY)],
            INTERMEDIARIES,
        )
        app = build_service(parts)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app=app),
                base_url="http://service/v2",
                headers={"Authorization": "k:s"},
            ) as api,
        ):
            for _ in range(3):
                left = int((await api.get("/chains")).headers["ratelimit-remaining"])
                used.append(ROOMY.per_day - left)
        await store.close()
    assert used == [1, 2, 3, 4, 5, 6]


async def test_usage_of_old_windows_is_not_loaded(store: SqliteStore) -> None:
    windows = CallWindows()
    windows.admit("p", RateClass.READ, ROOMY, MIDNIGHT)
    await store.save_usage(windows.take_changed())
    assert windows.take_changed() == []
    seconds = [row.seconds for row in await store.load_usage(MIDNIGHT + timedelta(hours=2))]
    assert seconds == [86_400]


@pytest.mark.parametrize("rate_class", [RateClass.QUOTE, RateClass.EXCHANGE])
async def test_processes_over_one_store_share_the_windows(
    tmp_path: Path, rate_class: RateClass
) -> None:
    """Each counts what the others counted, also where they ask at the same time."""
    clock = ManualClock()
    stores = [open_new(tmp_path / "service.db")]
    stores += [SqliteStore.open(tmp_path / "service.db") for _ in range(2)]
    few = RateWindows(per_minute=7, per_hour=70, per_day=700)
    caller = Caller(Partner("p", "P", Tier.PRO, (), few, few), ApiKey("k", digest(b"s")))
    limiters = [RateLimiter(store, clock, RequestCounter(store, clock)) for store in stores]
    asked = [limiter.admit(caller, rate_class) for limiter in limiters for _ in range(5)]
    admitted = [one for one in await asyncio.gather(*asked) if one is not None]
    assert sum(one.retry_after is None for one in admitted) == 7
    assert sorted(one.remaining for one in admitted if one.retry_after is None) == list(range(7))
    clock.advance(60)
    again = await limiters[2].admit(caller, rate_class)
    assert again is not None
    assert (again.remaining, again.retry_after) == (6, None)
    for store in stores:
        await store.close()
