"""Rate limits: exactly as many calls as the limits state, whatever happens around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rows import each_row
from service.http_calls import calling, running, small_service
from service.new_store import open_new
from service.test_access import path_of
from service.world import AS_FIRST, AS_FREE, AS_SECOND, BTC, BY_PARTNER_ID, ETH, FIRST, FREE
from swapdesk.clock import ManualClock
from swapdesk.service.access import ApiKey, Caller, Partner, Tier, digest
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.rate_limits import (
    STRANGER_READS,
    WINDOW_SECONDS,
    CallShare,
    CountedCall,
    LimitReached,
    RateDecision,
    RateLimiter,
    RequestCounter,
    limits_of,
)
from swapdesk.service.store.calls import Calls, count_opened, line_of
from swapdesk.service.store.database import StoreUnavailable, Transaction
from swapdesk.service.store.records import Usage
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operation import Access, Operation, RateClass
from swapdesk.wire.operations import BY_NAME, OPERATIONS

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
QUOTE = {"amount": "0.5", "from": BTC.id, "to": ETH.id}
ROOMY = RateWindows(per_minute=100_000, per_hour=100_000, per_day=100_000)


def asked(rows: list[Usage], limits: RateWindows, clock: ManualClock) -> RateDecision:
    """One call against these counts, which it changes when it passes."""
    call = CountedCall("p", RateClass.QUOTE, limits, clock)
    try:
        rows[:] = call.take(list(rows))
    except LimitReached as full:
        return full.decision
    return call.decision


def passed(rows: list[Usage], limits: RateWindows, clock: ManualClock, calls: int) -> int:
    return sum(asked(rows, limits, clock).retry_after is None for _ in range(calls))


@each_row(("index", "length"), list(enumerate(WINDOW_SECONDS)))
def test_a_window_begins_anew_at_its_edge_and_not_a_millisecond_before(
    index: int, length: int
) -> None:
    limit = [100_000, 100_000, 100_000]
    limit[: index + 1] = [7] * (index + 1)
    limits = RateWindows(per_minute=limit[0], per_hour=limit[1], per_day=limit[2])
    clock, rows = ManualClock(MIDNIGHT), list[Usage]()
    assert passed(rows, limits, clock, 57) == 7
    assert asked(rows, limits, clock).retry_after == length, "the last of the full ones to end"
    clock.advance(length - 0.001)
    assert passed(rows, limits, clock, 50) == 0
    clock.advance(0.001)
    assert passed(rows, limits, clock, 57) == 7
    clock.advance(0.001)
    assert passed(rows, limits, clock, 50) == 0


def assert_within(limits: tuple[int, int, int], times: list[float]) -> None:
    for length, limit in zip(WINDOW_SECONDS, limits, strict=True):
        counted = Counter(int(moment // length) for moment in times)
        assert max(counted.values(), default=0) <= limit


_STEPS = st.tuples(st.integers(0, 2), st.sampled_from(["call"] * 8 + ["give back", "kill", "wait"]))


@given(
    limits=st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 100)),
    steps=st.lists(_STEPS, max_size=200),
    waits=st.lists(st.integers(1, 4_000), min_size=1, max_size=9),
)
def test_shares_of_several_processes_never_let_more_through_than_the_limit(
    limits: tuple[int, int, int], steps: list[tuple[int, str]], waits: list[int]
) -> None:
    """Whichever process is killed; and without a kill nothing is lost."""
    clock, rows, times = ManualClock(MIDNIGHT), dict[int, Usage](), list[float]()
    allowed = RateWindows(per_minute=limits[0], per_hour=limits[1], per_day=limits[2])
    shares = dict[int, CallShare]()
    killed = False

    def give_back(process: int) -> None:
        share = shares.pop(process, None)
        for unused in () if share is None else share.unused:
            row = rows[unused.seconds]
            if row.number == unused.number:
                rows[unused.seconds] = replace(row, used=row.used - unused.used)

    def passes(process: int) -> bool:
        share = shares.get(process)
        if share is not None and share.let_through(allowed) is not None:
            return True
        give_back(process)
        shares[process] = share = CallShare("p", RateClass.READ, allowed, clock)
        try:
            rows.update({row.seconds: row for row in share.take(list(rows.values()))})
        except LimitReached:
            held = sum(other.left for other in shares.values())
            assert killed or len(times) + held >= min(limits), "refused with room left"
            raise
        assert share.let_through(allowed) is not None
        return True

    for number, (process, step) in enumerate(steps):
        if step == "wait":
            clock.advance(waits[number % len(waits)])
        elif step == "kill":
            killed = killed or bool(process in shares and shares.pop(process).left)
        elif step == "give back":
            give_back(process)
        else:
            with contextlib.suppress(LimitReached):
                assert passes(process)
                times.append(clock.now().timestamp())
    assert_within(limits, times)
    for process in list(shares):
        give_back(process)
    if not killed:
        for row in rows.values():
            in_window = [moment for moment in times if int(moment // row.seconds) == row.number]
            assert row.used == len(in_window), "exactly what was let through"


async def test_of_many_calls_at_once_through_two_keys_exactly_the_limit_passes(
    store: Store, clock: ManualClock
) -> None:
    limits = RateWindows(per_minute=30, per_hour=60, per_day=90)
    keys = tuple(ApiKey(name, digest(b"secret")) for name in ("one", "two"))
    partner = Partner("p", "P", Tier.PRO, keys, limits, limits, limits)
    parts = small_service(clock, store, [partner])
    async with calling(build_service(parts)) as api:
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


async def test_open_operations_and_unknown_paths_carry_no_limits(
    anyone: httpx2.AsyncClient,
) -> None:
    for path in ("/health", "/nothing"):
        for _ in range(STRANGER_READS + 1):
            assert "ratelimit-limit" not in (await anyone.get(path)).headers


async def test_an_address_without_credentials_has_sixty_reads_a_minute(
    service: ServiceParts, clock: ManualClock
) -> None:
    """Whatever is asked for; another address, and whoever has credentials, is not concerned."""
    app = build_service(service)
    asked = [("GET", "/chains"), ("POST", "/exchanges"), ("GET", "/orders"), ("GET", "/quotes")]
    clock.advance(60 - clock.now().timestamp() % 60)
    async with (
        calling(app, address="192.0.2.7") as api,
        calling(app, address="192.0.2.8") as neighbour,
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
    store: Store, clock: ManualClock, path: str, by_key: int, by_id: int
) -> None:
    partner = replace(FREE, read_limits=RateWindows(per_minute=60, per_hour=99, per_day=999))
    parts = small_service(clock, store, [partner])
    public = {"partner-id": FREE.partner_id}
    async with calling(build_service(parts)) as api:

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


@each_row(("whole", "half"), [(0, 0), (1, 1), (2, 1), (5, 2), (60, 30)])
def test_half_of_a_limit(whole: int, half: int) -> None:
    limits = RateWindows(per_minute=whole, per_hour=whole, per_day=whole)
    found = limits_of(Caller(replace(FREE, quote_limits=limits), None), RateClass.QUOTE)
    assert found == RateWindows(per_minute=half, per_hour=half, per_day=half)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rate_class", [RateClass.READ, RateClass.QUOTE])
async def test_processes_over_one_store_share_the_windows(
    tmp_path: Path, rate_class: RateClass
) -> None:
    """Each counts what the others counted, also where they ask at the same time. Partners and
    classes are apart."""
    clock = ManualClock()
    stores = [open_new(tmp_path / "service.db") for _ in range(3)]
    few = RateWindows(per_minute=7, per_hour=70, per_day=700)

    def caller(partner_id: str) -> Caller:
        key = ApiKey("k", digest(b"s"))
        return Caller(Partner(partner_id, "P", Tier.PRO, (), few, few, few), key)

    limiters = [RateLimiter(store, clock, RequestCounter(store, clock)) for store in stores]
    calls = [limiter.admit(caller("p"), rate_class) for limiter in limiters for _ in range(5)]
    told = await asyncio.gather(*calls, return_exceptions=True)
    admitted = [one for one in told if isinstance(one, RateDecision)]
    assert sorted(one.remaining for one in admitted) == list(range(7))
    assert sum(isinstance(one, LimitReached) for one in told) == 8
    for other in (caller("q"), caller("p")):
        for each in RateClass:
            if each is not RateClass.NONE and (other != caller("p") or each is not rate_class):
                fresh = await limiters[1].admit(other, each)
                assert fresh.remaining == 6
    clock.advance(60)
    again = await limiters[2].admit(caller("p"), rate_class)
    assert (again.remaining, again.retry_after) == (6, None)
    for store in stores:
        await store.close()


class OneCall(CountedCall):
    """Of an account that may make three a minute."""

    def __init__(self) -> None:
        limits = RateWindows(per_minute=3, per_hour=100, per_day=100)
        super().__init__("p", RateClass.EXCHANGE, limits, ManualClock(MIDNIGHT))


async def used(store: Store) -> set[int]:
    return {row.used for row in await store.calls.usage("p", RateClass.EXCHANGE)}


async def test_works_of_one_commit_count_exactly_whichever_of_them_fail(store: Store) -> None:
    """Whatever a failing one counted, with a change of its own or without."""

    async def failing(db: Transaction, *, changes: bool) -> None:
        await count_opened(db, "nothing", OneCall(), None)
        if changes:
            await db.run("INSERT INTO requests (partner_id, month, count) VALUES ('p', '-', 1)")
        raise ValueError("after it was counted")

    async def passed(*fail: bool) -> int:
        """Of as many calls as there are works that fail, beside these."""
        works: list[Awaitable[None]] = []
        for changes in fail:
            work = partial(failing, changes=changes)
            works.append(store.database.write(work, behind=line_of(OneCall())))
            works.append(store.calls.count(OneCall()))
        return (await asyncio.gather(*works, return_exceptions=True)).count(None)

    assert (await passed(False), await used(store)) == (1, {1})
    assert (await passed(True), await used(store)) == (1, {2})
    assert (await passed(False, True, False), await used(store)) == (1, {3})
    assert await store.calls.in_month("p", "-") == 0


async def test_what_is_given_back_within_the_commit_of_others_is_free(store: Store) -> None:
    await store.calls.count(OneCall())
    unused = OneCall().take([])
    await asyncio.gather(
        store.calls.count(OneCall()), store.calls.free(unused), store.calls.count(OneCall())
    )
    assert await used(store) == {2}


@pytest.mark.usefixtures("engine")
async def test_a_share_is_given_back_each_second(tmp_path: Path) -> None:
    """What one process took and did not use, another one lets through."""
    clock = ManualClock()
    stores = [open_new(tmp_path / "service.db") for _ in range(2)]
    limits = RateWindows(per_minute=64, per_hour=640, per_day=640)
    caller = Caller(Partner("p", "P", Tier.PRO, (), limits, limits, limits), None, payment="one")
    one, other = [RateLimiter(store, clock, RequestCounter(store, clock)) for store in stores]
    for left in (63, 62):
        decision = await one.admit(caller, RateClass.READ)
        assert decision.remaining == left
    (minute, *_) = await stores[1].calls.usage("p", RateClass.READ)
    assert minute.used == 4, "two more are taken"
    await one.flush()
    decision = await other.admit(caller, RateClass.READ)
    assert decision.remaining == 61
    for store in stores:
        await store.close()


# What is told: the effective limits, and a count that survives


async def counted(api: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> int:
    answer = await api.get("/rateLimits", headers=headers)
    assert answer.status_code == 200
    return answer.json()["monthlyRequestCount"]


async def test_limits_of_the_partner(api: httpx2.AsyncClient) -> None:
    assert (await api.get("/rateLimits")).json() == {
        "monthlyRequestCount": 1,
        "quote": {"perMinute": 500, "perHour": 2000, "perDay": 5000},
        "exchange": {"perMinute": 50, "perHour": 500, "perDay": 2000},
    }
    assert (await api.get("/rateLimits", headers=AS_FREE)).json() == {
        "monthlyRequestCount": 1,
        "quote": {"perMinute": 5, "perHour": 20, "perDay": 50},
        "exchange": {"perMinute": 1, "perHour": 5, "perDay": 10},
    }


async def test_authenticated_requests_are_counted(
    api: httpx2.AsyncClient, anyone: httpx2.AsyncClient
) -> None:
    await api.get("/chains")
    await api.get("/tokens", params={"page": "x"})
    await anyone.get("/chains", headers=BY_PARTNER_ID)
    assert await counted(api) == 4
    await anyone.get("/chains")
    await anyone.get("/health")
    await anyone.get("/nothing")
    await api.get("/chains", headers={"Authorization": "first-key:wrong"})
    await api.get("/chains", headers=AS_SECOND)
    assert await counted(api) == 5
    assert await counted(api, AS_SECOND) == 2


async def test_the_count_begins_anew_with_the_month(
    store: Store,
) -> None:
    clock = ManualClock(datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC))
    counter = RequestCounter(store, clock)
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 1
    clock.advance(20)
    assert await counter.in_month(FIRST) == 0
    counter.count(FIRST)
    await counter.flush()
    assert await store.calls.in_month(FIRST.partner_id, "2026-11") == 1
    assert await store.calls.in_month(FIRST.partner_id, "2026-12") == 1


async def test_a_clean_shutdown_writes_the_counts(store: Store, clock: ManualClock) -> None:
    partner = replace(FIRST, read_limits=ROOMY)
    async with running(small_service(clock, store, [partner]), AS_FIRST) as api:
        for _ in range(7):
            await api.get("/chains")
    assert await store.calls.in_month(FIRST.partner_id, "2026-11") == 7
    used = await store.calls.usage(FIRST.partner_id, RateClass.READ)
    assert [row.used for row in used] == [7, 7, 7], "what was not used of a share is given back"


class FaintCalls(Calls):
    """Does not answer while it is faint, when something is added."""

    faint = True

    async def add_to_month(self, month: str, counts: Mapping[str, int]) -> None:
        if self.faint:
            raise StoreUnavailable
        await super().add_to_month(month, counts)


async def test_what_could_not_be_written_is_kept(store: Store, clock: ManualClock) -> None:
    store.calls = faint = FaintCalls(store.database)
    counter = RequestCounter(store, clock)
    counter.count(FIRST)
    with pytest.raises(StoreUnavailable):
        await counter.flush()
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 2
    faint.faint = False
    for _ in range(2):
        await counter.flush()
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 3
    assert await faint.in_month(FIRST.partner_id, "2026-11") == 2


# Every operation counts in its own class: what is enforced, and what is told of it


def a_minute(calls: int) -> RateWindows:
    return RateWindows(per_minute=calls, per_hour=calls + 10, per_day=calls + 20)


LIMITS = {RateClass.READ: 4, RateClass.QUOTE: 3, RateClass.EXCHANGE: 2}
HEADERS = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
OTHERS = {RateClass.READ: "list_swaps", RateClass.QUOTE: "get_quotes"}
"""A call of each class that needs no body."""


@pytest.fixture
async def limited(store: Store, clock: ManualClock) -> AsyncIterator[httpx2.AsyncClient]:
    partner = Partner(
        "p",
        "P",
        Tier.PRO,
        (ApiKey("k", digest(b"s")),),
        quote_limits=a_minute(LIMITS[RateClass.QUOTE]),
        exchange_limits=a_minute(LIMITS[RateClass.EXCHANGE]),
        read_limits=a_minute(LIMITS[RateClass.READ]),
    )
    app = build_service(small_service(clock, store, [partner]))
    async with calling(app, {"Authorization": "k:s"}) as client:
        yield client


async def call(limited: httpx2.AsyncClient, operation: Operation) -> httpx2.Response:
    """Wrong input counts as well, so none is needed."""
    return await limited.request(operation.method, path_of(operation))


def class_by_rule(operation: Operation) -> RateClass:
    """Contract 2.9: what is open is not counted, what asks for quotes is a quote, and what begins
    an exchange is one; anything else reads."""
    if operation.access is Access.OPEN:
        return RateClass.NONE
    if operation.path.startswith("/quotes"):
        return RateClass.QUOTE
    begins = operation.path.startswith("/exchanges") and "{" not in operation.path
    return RateClass.EXCHANGE if operation.writes and begins else RateClass.READ


@each_row("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_class_of_every_operation(operation: Operation) -> None:
    assert operation.rate_class is class_by_rule(operation)


COUNTED_AT_THE_DOOR = [
    each for each in OPERATIONS if each.rate_class is not RateClass.EXCHANGE and not each.signed
]
"""An exchange counts when it begins: test_exchange_limits. What is signed counts only where the
signature is wrong: test_webhooks."""


@pytest.mark.proves("code RATE_LIMIT_EXCEEDED")
@pytest.mark.parametrize("operation", COUNTED_AT_THE_DOOR, ids=lambda operation: operation.name)
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_each_call_counts_in_its_class(
    limited: httpx2.AsyncClient, clock: ManualClock, operation: Operation
) -> None:
    limit = LIMITS.get(operation.rate_class)
    if limit is None:
        for _ in range(sum(LIMITS.values())):
            answer = await call(limited, operation)
            assert answer.status_code == 200
            assert not set(HEADERS) & answer.headers.keys()
        return
    until_the_edge = str(60 - int(clock.now().timestamp()) % 60)
    for left in reversed(range(limit)):
        answer = await call(limited, operation)
        assert answer.status_code != 429
        assert [answer.headers[name] for name in HEADERS] == [
            str(limit),
            str(left),
            until_the_edge,
        ]
    refused = await call(limited, operation)
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert refused.headers["retry-after"] == until_the_edge
    assert refused.json()["message"].startswith(f"The {operation.rate_class.value} limit")
    for each, name in OTHERS.items():
        answer = await call(limited, BY_NAME[name])
        assert (answer.status_code == 429) == (each is operation.rate_class)
    clock.advance(float(until_the_edge))
    assert (await call(limited, operation)).status_code != 429
