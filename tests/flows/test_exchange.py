"""Creating an order through every kind of trouble: at most one order, never a lost id."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import httpx2
import pytest
from msgspec.structs import replace

from flows.faulty_network import (
    another_address,
    changed,
    fail_answer,
    listed_on_two_pages,
    lose_answer,
    never_arrives,
    on,
    read_as,
    refuse_connection,
    with_date,
)
from flows.orders import order
from flows.signing import swap_intent
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import (
    become_order,
    begin_create,
    open_swaps,
    refuse_create,
)
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import (
    Created,
    CreateUnknown,
    NotCreated,
)
from swapdesk.flows.creation.resume import resume
from swapdesk.flows.intents.intent import (
    NO_SUCH_TEXT,
    UNREPEATED,
    DepositRelease,
    Intent,
    ReleaseVerdict,
)
from swapdesk.flows.journal.ledger import State
from swapdesk.wire.encoding.codec import encode_json
from world import World

Before = Callable[[httpx2.Request], None]


async def orders_of(trade: World) -> int:
    """As the service has them, past the network."""
    async with trade.http() as partner:
        listed = (await partner.get("/orders")).json()
    return int(listed["total"])


async def by_hand(trade: World, intent: Intent) -> bytes:
    """Another program of the partner creates what was confirmed: the answer."""
    body = {"quoteId": intent.quote_id, "addressTo": intent.recipient}
    return (await trade.api.call("POST", "/exchanges", body=encode_json(body))).body


@pytest.fixture
async def intent(trade: World) -> Intent:
    return await trade.quoted()


async def test_many_presses_make_one_post(trade: World, intent: Intent) -> None:
    outcomes = await asyncio.gather(*(trade.flow.create(intent) for _ in range(100)))
    (created,) = [o for o in outcomes if isinstance(o, Created)]
    known = trade.known(created.order.service_id)
    assert created.withheld is known.withheld is None
    assert known.order.deposit_address == created.order.deposit_address
    assert trade.entry(intent.id).state is State.DONE
    assert {o.code for o in outcomes if isinstance(o, NotCreated)} == {"ALREADY_ASKED"}
    assert trade.network.posts() == 1
    assert await orders_of(trade) == 1


async def test_a_lost_answer_is_looked_up_and_never_posted_again(
    trade: World, intent: Intent
) -> None:
    trade.network.after = lose_answer
    waited: list[bool] = []
    outcome = await trade.created(intent, on_waiting=lambda: waited.append(True))
    assert outcome.found_again
    assert outcome.withheld is None
    assert waited == [True]
    assert trade.network.posts() == 1
    assert await orders_of(trade) == 1


async def test_an_order_that_is_listed_on_two_pages_is_one(trade: World) -> None:
    """An order that is made while the list is read pushes others to the next page."""
    plain, asked = trade.network.inner, []

    class Moving(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.url.path == "/v2/orders":
                asked.append(request.url.params["page"])
                request = httpx2.Request(
                    "GET", request.url.copy_set_param("page", 1), headers=request.headers
                )
            return await plain.handle_async_request(request)

    trade.network.inner = Moving()
    trade.network.after = lambda asking, answer: listed_on_two_pages(
        asking, lose_answer(asking, answer)
    )
    outcome = await trade.created()
    assert outcome.found_again
    assert asked == ["1", "2"]


@pytest.mark.parametrize("own", [True, False], ids=["of this desk", "of another program"])
@pytest.mark.parametrize("made", [True, False], ids=["created", "not created"])
async def test_a_create_that_is_answered_with_an_order_from_before_releases_nothing(
    own: bool, made: bool, trade: World
) -> None:
    first = await trade.quoted()
    if own:
        before = await trade.created(first)
        earlier = trade.api.raw_order(before.order.service_id)
    else:
        earlier = await by_hand(trade, first)
        listed = await trade.api.list_orders()
        trade.journal.orders.record([(order, "list", False) for order in listed.orders])
    name = trade.journal.orders.ids().pop()
    known = trade.journal.orders.get(name)

    def refused(request: httpx2.Request) -> None:
        if request.method == "POST":
            request.headers["authorization"] = "nobody"

    trade.clock.advance(20)
    intent = await trade.quoted()
    trade.network.before = None if made else refused
    trade.network.after = on(
        "POST", lambda request, _: httpx2.Response(200, content=earlier, request=request)
    )
    outcome = await trade.flow.create(intent)
    after = trade.journal.orders.get(name)
    assert (after.intent, after.verdict) == (known.intent, known.verdict)
    assert await orders_of(trade) == (2 if made else 1)
    if made:
        assert isinstance(outcome, Created)
        assert outcome.found_again
        assert outcome.order.service_id != name
    else:
        assert isinstance(outcome, NotCreated)
        assert outcome.failure.cause == (
            f"The service answered with order {name}, which was there before."
            " The service shows no such order."
        )


async def test_a_repetition_of_another_order_releases_nothing(trade: World) -> None:
    """An order of the same partner, as it stands, in place of the one that was asked for."""
    first = await trade.created()
    earlier = trade.api.raw_order(first.order.service_id)

    trade.network.after = read_as(lambda body: earlier)
    outcome = await trade.created()
    assert outcome.order.service_id != first.order.service_id
    assert outcome.verdict.standing is DepositRelease.UNREPEATED
    known = trade.known(outcome.order.service_id).verdict
    assert known.standing is DepositRelease.UNREPEATED


async def test_a_gateway_error_after_the_create_is_looked_up(trade: World) -> None:
    trade.network.after = fail_answer
    outcome = await trade.created()
    assert outcome.found_again


@pytest.mark.parametrize(
    ("before", "code", "journaled"),
    [
        (refuse_connection, "NOT_REACHABLE", "NOT_SENT"),
        (never_arrives, "NOT_CREATED", "NOT_CREATED"),
    ],
)
async def test_what_did_not_arrive_created_nothing(
    trade: World, before: Before, code: str, journaled: str, intent: Intent
) -> None:
    trade.network.before = before
    await trade.not_created(intent, code)
    entry = trade.entry(intent.id)
    assert (entry.state, entry.code) == (State.REFUSED, journaled)
    assert await orders_of(trade) == 0


async def test_a_lost_answer_and_a_dead_service_stay_unknown_and_block_a_twin(
    trade: World, intent: Intent
) -> None:

    def lose_everything(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        raise httpx2.RemoteProtocolError("gone", request=request)

    trade.network.after = lose_everything
    assert isinstance(await trade.over_time(trade.flow.create(intent)), CreateUnknown)
    trade.network.after = None
    trade.clock.advance(120)
    twin = await trade.quoted()
    again = await trade.flow.create(twin)
    assert isinstance(again, NotCreated)
    assert again.code == "OUTCOME_PENDING"
    report = await resume(trade.journal, trade.flow)
    assert [created.order.in_amount for _, created in report.found] == [Decimal(100)]
    assert await orders_of(trade) == 1


@pytest.mark.parametrize(
    ("before", "code"),
    [
        (lambda trade: trade.clock.advance(56), "QUOTE_EXPIRED"),
        (lambda trade: trade.journal.close(), "NO_JOURNAL"),
    ],
)
async def test_nothing_is_sent_of_an_expired_quote_or_without_a_journal(
    trade: World, intent: Intent, before: Callable[[World], None], code: str
) -> None:
    before(trade)
    await trade.not_created(intent, code)
    assert trade.network.posts() == 0


async def test_a_refusal_of_the_service_is_final(trade: World, intent: Intent) -> None:
    await trade.created(intent)
    other = replace(intent, id="other", amount_in=Decimal(101))
    changed = replace(other, recipient=derive_address("evm", b"n" * 32))
    await trade.not_created(changed, "INVALID_SWAP")


async def test_a_refusal_that_comes_after_the_order_is_known_loses_nothing(
    trade: World, intent: Intent
) -> None:
    """Another run found the order while this one still waited for its answer."""
    made = order(intent, service_id="order-of-another-run")

    def refuse_late(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.method == "POST":
            become_order(trade.journal, intent.id, made, source="list", verdict=UNREPEATED)
            body = encode_json({"code": "INVALID_SWAP", "message": "no"})
            return httpx2.Response(422, stream=httpx2.ByteStream(body), request=request)
        return response

    trade.network.after = refuse_late
    outcome = await trade.created(intent)
    assert outcome.order.service_id == made.service_id
    entry = trade.entry(intent.id)
    assert (entry.state, entry.subject) == (State.DONE, made.service_id)


async def test_an_order_that_comes_after_the_refusal_is_kept_and_never_payable(
    trade: World, intent: Intent
) -> None:
    ledger = trade.journal.ledger
    trade.network.after = on("POST", lambda *_: refuse_create(ledger, intent.id, "NO"))
    outcome = await trade.created(intent)
    assert outcome.verdict.standing is DepositRelease.FOREIGN
    known = trade.known(outcome.order.service_id)
    assert (known.intent, known.verdict.payable) == (None, False)
    assert trade.entry(intent.id).state is State.REFUSED


async def test_a_swapped_deposit_address_on_the_second_reading_hides_it(
    trade: World, intent: Intent
) -> None:
    thief = derive_address("evm", b"t" * 32)

    trade.network.after = another_address(thief)
    outcome = await trade.created(intent)
    assert "another deposit address" in (outcome.withheld or "")


async def test_less_than_confirmed_is_hidden_until_accepted(trade: World, intent: Intent) -> None:
    trade.venue.trouble.restate_out = intent.amount_out * Decimal("0.98")
    outcome = await trade.created(intent)
    assert "2.00% less" in (outcome.withheld or "")
    assert trade.flow.accept_lower(outcome).withheld is None
    assert trade.known(outcome.order.service_id).withheld is None


async def test_a_look_that_was_broken_off_proves_nothing_and_is_repeated(
    trade: World, intent: Intent
) -> None:
    """Whoever only lists orders does not wait the minute that it takes to prove an absence."""
    # What a desk leaves behind that died between its POST and the answer.
    trade.left_sent(intent)
    await by_hand(trade, intent)
    asked: list[str] = []

    def unreachable(request: httpx2.Request) -> None:
        asked.append(request.url.path)
        raise httpx2.ConnectError("connection refused", request=request)

    trade.network.before = unreachable
    # Nobody moves the clock: the look that comes second would be waited for without end.
    patient = ExchangeFlow(trade.api, trade.journal, trade.clock, looks=(0.0, 19.0))
    report = await resume(trade.journal, patient, patience=0.2)
    assert asked
    assert report.left == [intent]
    assert report.empty
    assert trade.entry(intent.id).state is State.UNKNOWN
    assert patient.running == set()
    trade.network.before = None
    report = await resume(trade.journal, trade.flow, patience=60.0)
    assert [one.id for one, _ in report.found] == [intent.id]
    assert report.left == []
    assert (trade.network.posts(), await orders_of(trade)) == (1, 1)


async def test_earlier_creates_are_looked_for_at_once_and_later_without_a_wait(
    trade: World,
) -> None:
    """A service whose list cannot be read keeps no command waiting a minute for each of them."""
    intents = [await trade.quoted(amount) for amount in ("100", "101", "102")]
    for one in intents:
        trade.left_sent(one)
    asked: list[str] = []

    def unreadable(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(200, content=b"<html>", request=request)

    trade.network.after = unreadable
    waiting: asyncio.Queue[float] = asyncio.Queue()

    class Waited(ManualClock):
        async def sleep(self, seconds: float) -> None:
            if seconds > 0:
                waiting.put_nowait(seconds)
            await super().sleep(seconds)

    clock = Waited(trade.clock.now())
    patient = ExchangeFlow(trade.api, trade.journal, clock, looks=(0.0, 19.0))
    looking = asyncio.create_task(resume(trade.journal, patient))
    assert [await waiting.get() for _ in intents] == [19.0] * 3
    clock.advance(19)
    trade.clock.advance(19)
    report = await looking
    assert [one.id for one, _ in report.unknown] == [one.id for one in intents]
    assert asked == ["/v2/orders"] * 6
    # Nobody moves the clock any more: a second wait would be one without end.
    assert len((await resume(trade.journal, patient)).unknown) == 3
    assert waiting.empty()
    trade.network.after = None
    report = await resume(trade.journal, patient)
    assert report.not_created == intents


async def test_what_was_sent_a_moment_ago_is_looked_for_until_it_may_be_there(
    trade: World,
) -> None:
    """A create may wait for its turn and for its answer: that the first look comes late says
    nothing of a slow service."""
    looked: list[str] = []

    def slow(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.method == "POST":
            trade.clock.advance(70)
            return lose_answer(request, response)
        if request.url.path == "/v2/orders":
            looked.append(request.url.path)
            if len(looked) < 3:
                empty = {"orders": [], "total": 0, "totalPages": 0}
                return httpx2.Response(200, json=empty, request=request)
        return response

    trade.network.after = slow
    outcome = await trade.created()
    assert outcome.found_again
    assert len(looked) == 3


async def test_an_order_that_does_not_exist_is_not_told_as_existing(trade: World) -> None:
    def invented(body: bytes) -> bytes:
        return re.sub(rb'("serviceId":)"\w+"', rb'\1"none"', body)

    trade.network.after = on("POST", lambda _, response: changed(response, invented))
    outcome = await trade.created()
    assert outcome.missing
    assert outcome.verdict == ReleaseVerdict(DepositRelease.UNREPEATED, NO_SUCH_TEXT)
    # For a while it may only be late.
    ((_, again),) = (await resume(trade.journal, trade.flow)).found
    assert again.missing
    trade.clock.advance(121)
    ((_, again),) = (await resume(trade.journal, trade.flow)).found
    assert again.missing
    assert again.verdict == ReleaseVerdict(DepositRelease.DIFFERS, NO_SUCH_TEXT)
    assert (await resume(trade.journal, trade.flow)).empty


async def test_a_kill_before_sending_leaves_nothing(trade: World, intent: Intent) -> None:
    begin_create(trade.journal.ledger, intent, "digest")
    report = await resume(trade.journal, trade.flow)
    assert report.not_created == [intent]
    assert await orders_of(trade) == 0


async def test_resume_waits_for_orders_older_than_the_intent_only(trade: World) -> None:
    first = await trade.quoted()
    await trade.created(first)
    trade.clock.advance(timedelta(minutes=10).total_seconds())
    second = await trade.quoted()
    trade.left_sent(second)
    report = await resume(trade.journal, trade.flow)
    assert report.not_created == [second]


async def test_an_order_that_was_there_before_is_never_adopted(trade: World) -> None:
    """Another program of the partner made the same swap, minutes or seconds earlier."""
    await by_hand(trade, await trade.quoted())
    listed = await trade.api.list_orders()
    trade.journal.orders.record([(order, "list", False) for order in listed.orders])
    second = await trade.quoted()
    trade.network.before = never_arrives
    await trade.not_created(second, "NOT_CREATED")


async def test_a_clock_that_is_wrong_creates_nothing_live(trade: World) -> None:
    live = ExchangeFlow(trade.api, trade.journal, trade.clock, skew_limit=120.0)
    intent = await trade.quoted()
    trade.network.after = with_date("Sat, 21 Nov 2026 14:02:11 GMT")
    await trade.api.health()
    outcome = await live.create(intent)
    assert isinstance(outcome, NotCreated)
    assert outcome.code == "CLOCK_SKEW"
    assert trade.network.posts() == 0


async def test_the_journal_that_dies_after_the_post_keeps_the_id_in_sight(
    trade: World, intent: Intent
) -> None:
    trade.network.after = on("POST", lambda *_: trade.journal.close())
    outcome = await trade.created(intent)
    assert outcome.order.service_id in (outcome.withheld or "")


async def test_the_journal_that_dies_with_the_answer_lost_is_said(
    trade: World, intent: Intent
) -> None:
    closed = on("POST", lambda *_: trade.journal.close())
    trade.network.after = lambda request, answer: lose_answer(request, closed(request, answer))
    outcome = await trade.flow.create(intent)
    assert isinstance(outcome, CreateUnknown)
    assert "journal" in outcome.failure.next


class TooMany(httpx2.AsyncBaseTransport):
    """Refuses the first create before the service sees it, and says when to come back."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, wait: str) -> None:
        self.inner = inner
        self.wait = wait
        self.refused = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST" or self.refused.is_set():
            return await self.inner.handle_async_request(request)
        self.refused.set()
        body = encode_json({"message": "too many", "code": "RATE_LIMIT_EXCEEDED"})
        return httpx2.Response(429, content=body, headers={"retry-after": self.wait})


@pytest.mark.parametrize(
    ("wait", "step", "posts"),
    [
        pytest.param("20", None, 2, id="sent once more while the quote lasts"),
        pytest.param("55", 0, 1, id="a wait that outlives the quote"),
        pytest.param("20", 3600, 1, id="a machine that slept through the quote"),
    ],
)
async def test_a_create_that_came_too_often_is_sent_once_more_while_the_quote_lasts(
    trade: World, wait: str, step: float | None, posts: int, intent: Intent
) -> None:
    """The clock goes on in steps, or to where somebody waits for."""
    trade.network.inner = busy = TooMany(trade.network.inner, wait)
    pending = asyncio.create_task(trade.flow.create(intent))
    await busy.refused.wait()
    while not pending.done():
        if trade.network.posts() == 1 and step is not None:
            trade.clock.advance(step)
        elif trade.network.posts() == 1:
            trade.clock.advance_to_next()
        await asyncio.sleep(0)
    outcome = pending.result()
    assert (trade.network.posts(), await orders_of(trade)) == (posts, posts - 1)
    if posts == 2:
        assert isinstance(outcome, Created)
    else:
        assert isinstance(outcome, NotCreated)
        assert outcome.code == "RATE_LIMIT_EXCEEDED"
        assert trade.entry(intent.id).state is State.REFUSED


@pytest.mark.parametrize("refused", [False, True])
async def test_a_swap_that_was_stopped_before_its_create_is_over_or_goes_on(
    trade: World, refused: bool
) -> None:
    """A desk that dies after a part was refused, and before the swap was, blocks no twin of it."""
    one, ledger = swap_intent(), trade.journal.ledger
    begin_create(ledger, one, "digest")
    part = ledger.begin("approve", {}, parent=one.id)
    if refused:
        ledger.move(part.id, State.REFUSED, code="NOT_CONFIRMED")
    report = await resume(trade.journal, trade.flow)
    assert report.not_created == ([one] if refused else [])
    assert open_swaps(ledger) == ([] if refused else [one])
    assert trade.entry(one.id).state is (State.REFUSED if refused else State.PREPARED)
