"""Following orders: forward only, confirmed at the end, never given up; and what a tracker knows of
them beside the stream.

The service is over loopback behind the sandbox's own fault layer, on a clock that is moved.

Background tasks of a connected desk: each is killed, told of and started again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from functools import partial
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any

import pytest

import manual_time
from flows.following import announced, sighted, tracker_of
from flows.orders import NOW, created_here, order
from flows.test_order_choice import HASH, OTHER
from rows import each_row
from swapdesk.background import BackgroundTasks, Defect
from swapdesk.cli.order_reports import deposit_of, order_facts
from swapdesk.client.live import OrderMissing, OrderStream, StreamState
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.order_payments import OrderPayments
from swapdesk.flows.connection import Connection
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_listing import NEVER, Group, stale_words
from swapdesk.flows.orders.order_merge import PROGRESS, display_of, ended
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import PaidOnChain, Source
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import By, begin_payment, commit_signed, end_payment
from swapdesk.flows.tracking.open_business import recent_events, waits_for_you
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.orders import DisplayStatus, LegStatus
from world import FIRST_KEY, World

DROPPED = 60.0
WAY = [*[str(step) for step in PROGRESS], str(DisplayStatus.SWAP_COMPLETED)]
STEPS = (
    (LegStatus.CONFIRMING, DisplayStatus.DEPOSIT_DETECTED),
    (LegStatus.EXCHANGING, DisplayStatus.EXCHANGE_IN_PROGRESS),
    (LegStatus.SENDING, DisplayStatus.SENDING_TO_RECEIVER),
    (LegStatus.FINISHED, DisplayStatus.SWAP_COMPLETED),
)
OVER: dict[str, Any] = {"display_status": DisplayStatus.SWAP_COMPLETED.value, "status": 4}


def following(
    trade: World,
    stream: OrderStream,
    flow: ExchangeFlow | None = None,
    background: BackgroundTasks | None = None,
) -> Tracker:
    return Tracker(
        trade.journal,
        trade.api,
        trade.clock,
        stream,
        flow or trade.flow,
        OrderPayments(trade.journal),
        background or BackgroundTasks(trade.clock),
    )


class Followed:
    """One order of one desk, and everything that was shown of it."""

    def __init__(self, trade: World, tracker: Tracker, order_id: str) -> None:
        self.trade, self.tracker, self.order_id = trade, tracker, order_id
        self.shown: list[str] = []
        self.badges: list[StreamState] = []

    @property
    def order(self) -> TrackedOrder:
        return self.tracker.get(self.order_id)

    @property
    def display(self) -> str | None:
        return display_of(self.order.order)

    @property
    def kept(self) -> str | None:
        """The state that the journal has."""
        return display_of(self.trade.known(self.order_id).order)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until ``condition`` holds, and look at every turn of the loop."""

        def looked() -> bool:
            if self.shown[-1:] != [self.display]:
                self.shown.append(self.display)
            if self.badges[-1:] != [self.tracker.stream_state]:
                self.badges.append(self.tracker.stream_state)
            return condition()

        await manual_time.until(self.trade.clock, looked, lambda: (self.shown, self.badges))

    async def shows(self, display: DisplayStatus) -> None:
        await self.until(lambda: self.display == display)

    async def badge(self, state: StreamState) -> None:
        await self.until(lambda: self.tracker.stream_state == state)

    def venue(self, status: LegStatus) -> None:
        self.trade.venue.move(f"{self.order_id}:in", status)

    def told(self, source: Source, **changes: Any) -> None:
        """One more sighting of the order."""
        self.tracker._apply(self.order.order.model_copy(update=changes), source)

    def begun(self, **parts: Any) -> Tracker:
        """A tracker that starts now on the same journal and stream."""
        return following(self.trade, self.tracker._stream, **parts)


@pytest.fixture
async def followed(trade: World) -> AsyncIterator[Followed]:
    """The order's stream is live."""
    async with trade.served(works=True) as url:
        trade.api = trade.new_api(url=url)
        created = await trade.created()
        stream = OrderStream(None, FIRST_KEY, trade.clock, trade.api, random.Random(2))
        tracker = following(trade, stream)
        await tracker.load_past()
        task = asyncio.create_task(tracker.run())
        followed = Followed(trade, tracker, created.order.service_id)
        await followed.badge("live")
        yield followed
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await trade.api.aclose()


@pytest.mark.parametrize("fault", [None, "ws_duplicate", "ws_reorder"])
async def test_an_order_is_followed_to_its_confirmed_end(
    followed: Followed, fault: str | None
) -> None:
    """Also where frames come doubled, or in another sequence."""
    if fault is not None:
        followed.trade.faults.set(fault, times=20, seconds=5.0)
    seen: list[str | None] = []

    def look(changed: frozenset[str]) -> None:
        if followed.order_id in changed and seen[-1:] != [followed.display]:
            seen.append(followed.display)

    followed.tracker.on_change = look
    for status, display in STEPS:
        followed.venue(status)
        await followed.until(partial(lambda wanted: seen[-1:] == [wanted], display))
    await followed.until(lambda: followed.order.ended)
    assert seen[-4:] == [display for _, display in STEPS]
    assert followed.shown == [one for one in WAY if one in followed.shown]
    assert followed.trade.known(followed.order_id).ended
    assert followed.kept == DisplayStatus.SWAP_COMPLETED
    if fault is not None:
        active = followed.trade.faults.active
        assert active == [] or active[0].times < 20
    events = followed.trade.journal.orders.history.of(followed.order_id)
    states = [one.model_copy(update={"modified": None}) for _, _, one in events]
    assert all(one != other for one, other in pairwise(states))


async def test_a_minute_without_the_stream(followed: Followed) -> None:
    clock = followed.trade.clock
    begun = clock.now()
    followed.trade.faults.set("ws_drop", times=1, seconds=DROPPED)
    followed.trade.layer.drop_streams()
    await followed.badge("polling")
    followed.venue(LegStatus.CONFIRMING)
    await followed.shows(DisplayStatus.DEPOSIT_DETECTED)
    assert followed.tracker.stream_state == "polling"
    assert stale_words("polling", followed.tracker.stream_age()).endswith("polling")
    assert (clock.now() - begun).total_seconds() < DROPPED
    followed.venue(LegStatus.EXCHANGING)
    await followed.badge("live")
    assert (clock.now() - begun).total_seconds() >= DROPPED
    await followed.shows(DisplayStatus.EXCHANGE_IN_PROGRESS)
    assert followed.shown == [one for one in WAY if one in followed.shown]
    polled = followed.badges.index("polling")
    assert "live" not in followed.badges[1:polled][1:]
    assert "offline" not in followed.badges


@each_row(
    ("state", "seconds", "said"),
    [
        ("live", 41.0, ""),
        ("polling", 41.0, "41s old, polling"),
        ("polling", NEVER, "polling"),
    ],
)
def test_the_age_is_said_only_without_a_stream(
    state: StreamState, seconds: float, said: str
) -> None:
    assert stale_words(state, seconds) == said


async def test_what_was_seen_of_an_order_stays_when_another_desk_turns_out_to_have_made_it(
    followed: Followed,
) -> None:
    """Its creator wrote it down as it was at first, and nobody is to pay what was paid."""
    trade, tracker = followed.trade, followed.tracker
    intent = await trade.quoted("300")
    receipt = await trade.api.create_exchange(
        ExchangeRequest(quote_id=intent.quote_id, address_to=intent.recipient)
    )
    followed.order_id = receipt.made.service_id
    await manual_time.until(trade.clock, lambda: followed.order is not None)
    assert followed.order.intent is None
    assert "not confirmed at this desk" in (followed.order.withheld or "")
    followed.told("stream", display_status="DEPOSIT_DETECTED", status=1)
    trade.left_sent(intent)
    created = await trade.flow.take(intent, receipt.made)
    assert created.withheld is None
    tracker.look_at_payments()
    assert (followed.order.intent, followed.order.withheld) == (intent, None)
    assert followed.display == DisplayStatus.DEPOSIT_DETECTED


async def test_an_end_that_only_the_stream_tells_is_not_believed(followed: Followed) -> None:
    followed.told("stream", **OVER)
    assert followed.tracker._errands
    await followed.until(lambda: not followed.tracker._errands)
    await followed.tracker._writes.flush()
    assert followed.display == followed.kept == DisplayStatus.WAITING_FOR_DEPOSIT


async def test_an_unrepeated_order_is_repeated_by_a_later_look(followed: Followed) -> None:
    followed.trade.journal.orders._file._connection.execute(  # type: ignore[union-attr]
        "UPDATE orders SET standing = ?, withheld = ? WHERE service_id = ?",
        (DepositRelease.UNREPEATED, "not yet", followed.order_id),
    )
    tracker = followed.begun(flow=followed.trade.flow)
    await tracker.load_past()
    await tracker.read(followed.order_id)
    await followed.until(lambda: not tracker._errands)
    assert tracker.get(followed.order_id).withheld is None


async def test_a_state_is_told_and_an_end_is_shown_once_the_journal_has_it(
    followed: Followed,
) -> None:
    """Whatever ends the desk in between, its next start knows no less."""
    tracker = followed.tracker
    told: list[frozenset[str]] = []
    tracker.on_change = told.append
    followed.told("read", display_status="DEPOSIT_DETECTED", status=1, in_status=2)
    assert not told
    await tracker._writes.flush()
    assert told == [{followed.order_id}]
    assert followed.kept == DisplayStatus.DEPOSIT_DETECTED
    followed.told("read", **OVER)
    assert (followed.display, tracker.open_count) == (DisplayStatus.DEPOSIT_DETECTED, 1)
    await tracker._writes.flush()
    assert (followed.display, tracker.open_count) == (DisplayStatus.SWAP_COMPLETED, 0)


async def test_what_its_owner_dealt_with_holds_nobody_until_it_goes_wrong_otherwise(
    followed: Followed,
) -> None:
    known, tracker = followed.order.order, followed.tracker
    failed = {"display_status": "FAILED", "status": 6, "in_status": 3, "action_required": True}
    stuck = known.model_copy(update={"service_id": "s" * 22, **failed})
    await tracker.take([stuck])
    assert [one.service_id for one in tracker.orders()] == ["s" * 22, known.service_id]
    tracker.put_away("s" * 22)
    assert (tracker.stranded_count, tracker.counts()[Group.PUT_AWAY]) == (0, 1)
    assert not order_status(tracker.orders()[-1], followed.trade.clock.now()).yours
    # Another desk of this home knows it, and may take it back.
    other = tracker_of(followed.trade.journal, followed.trade.clock)
    assert other.counts()[Group.PUT_AWAY] == 1
    other.take_back("s" * 22)
    tracker.look_at_payments()
    assert (tracker.stranded_count, tracker.counts()[Group.PUT_AWAY]) == (1, 0)
    tracker.put_away("s" * 22)
    await tracker.take([stuck.model_copy(update={"non_refundable": True})])
    assert tracker.stranded_count == 1
    back = {"display_status": "REFUNDED", "status": 7, "action_required": False}
    await tracker.take([stuck.model_copy(update=back)])
    assert (tracker.stranded_count, tracker.counts()[Group.FINISHED]) == (0, 1)
    # Where nothing failed there is nothing to put away.
    tracker.put_away(known.service_id)
    assert tracker.open_count == 1


async def test_what_is_told_of_an_order_that_waits_to_be_written_stands_with_it(
    followed: Followed,
) -> None:
    tracker, clock = followed.tracker, followed.trade.clock
    seen = followed.order.order.model_copy(update={"service_id": "s" * 22})
    tracker._apply(seen, "read")
    assert tracker._writes.waiting("s" * 22)
    paid = PaidOnChain(
        "ab" * 32, "bitcoin", "Bitcoin", "bc1q", None, "BTC", None, None, 1, None, clock.now()
    )
    tracker.keep_payment("s" * 22, paid)
    await tracker._writes.flush()
    assert followed.trade.journal.orders.payments() == {"s" * 22: (paid,)}
    assert tracker_of(followed.trade.journal, clock).recall("s" * 22).payments == (paid,)


async def test_a_past_order_is_recalled_when_it_is_asked_for(followed: Followed) -> None:
    """Whoever only asks for one thing does not read every order there ever was."""
    followed.told("read", **OVER)
    await followed.tracker._writes.flush()
    past = followed.order
    behind = {"display_status": "EXCHANGE_IN_PROGRESS", "status": 2}
    open_too = past.order.model_copy(update={"service_id": "o" * 22, **behind})
    followed.trade.journal.orders.record([(open_too, "list", False)])

    async def begun() -> Tracker:
        tracker = followed.begun()
        await tracker.load_present()
        assert [one.service_id for one in tracker.known()] == ["o" * 22]
        assert tracker.open_count == 1
        return tracker

    tracker = await begun()
    recalled = tracker.recall(past.service_id)
    assert (recalled.order, recalled.intent, recalled.ended) == (past.order, past.intent, True)
    assert tracker.get(past.service_id) is recalled
    assert tracker.recall("n" * 22) is None
    again = await begun()
    await again.load_past()
    assert {one.service_id for one in again.orders()} == {past.service_id, "o" * 22}
    late = await begun()
    late._apply(past.order.model_copy(update=behind), "stream")
    kept = late.get(past.service_id)
    assert (display_of(kept.order), kept.ended) == (DisplayStatus.SWAP_COMPLETED, True)
    assert late.open_count == 1


# What this desk sent for an order, before the service says that it saw it

ID = order().service_id


@pytest.fixture
def unpaid(journal: Journal) -> Tracker:
    """Of a desk with one order that waits."""
    created_here(journal, order())
    return tracker_of(journal)


def said(known: Tracker) -> OrderStatus:
    return order_status(known.get(ID), NOW)


@pytest.mark.parametrize("by", ["faucet", "wallet"])
def test_what_another_program_of_this_home_pays_is_not_asked_for(
    unpaid: Tracker, journal: Journal, path: Path, by: By
) -> None:
    assert said(unpaid).payable
    other = Journal.open(path, ManualClock(NOW)).ledger
    payment = begin_payment(other, ID, by, b"{}")
    assert announced(unpaid) == []
    commit_signed(other, payment.id, HASH)
    assert announced(unpaid) == [ID]
    assert announced(unpaid) == []
    assert (said(unpaid).word, said(unpaid).actor, said(unpaid).payable) == (
        "Paid by you", "the service", False,
    )  # fmt: skip
    assert said(unpaid).money == f"on its way to the deposit address, by transaction {HASH}."
    assert said(tracker_of(journal)).word == "Paid by you"
    # Whoever tells it without having read its transactions asks for no second payment.
    assert deposit_of(unpaid.get(ID), NOW) is None
    assert "Pay" not in dict(order_facts(unpaid.get(ID), NOW))


def test_a_payment_that_failed_leaves_the_order_to_be_paid(
    unpaid: Tracker, journal: Journal
) -> None:
    ledger = journal.ledger
    failed = begin_payment(ledger, ID, "wallet", b"{}")
    commit_signed(ledger, failed.id, HASH)
    assert announced(unpaid) == [ID]
    ledger.move(failed.id, State.REFUSED, code="FAILED", hash=HASH)
    assert announced(unpaid) == [ID]
    assert said(unpaid).payable
    again = begin_payment(ledger, ID, "wallet", b"{}")
    commit_signed(ledger, again.id, OTHER)
    end_payment(ledger, again, OTHER)
    assert announced(unpaid) == [ID]
    assert said(unpaid).money == f"at the deposit address, by transaction {OTHER}."


def test_a_sighting_keeps_what_was_paid_until_the_service_saw_it(
    unpaid: Tracker, journal: Journal
) -> None:
    payment = begin_payment(journal.ledger, ID, "wallet", b"{}")
    commit_signed(journal.ledger, payment.id, HASH)
    unpaid.look_at_payments()
    sighted(unpaid, order(eta=7))
    assert said(unpaid).word == "Paid by you"
    # A journal that cannot be read says nothing else of it.
    calls = journal._file._connection.execute
    calls("ALTER TABLE operation RENAME TO gone")
    assert announced(unpaid) == []
    assert said(unpaid).word == "Paid by you"
    calls("ALTER TABLE gone RENAME TO operation")
    sighted(unpaid, order(display_status="DEPOSIT_DETECTED", in_status=2))
    assert said(unpaid).word != "Paid by you"
    asked: list[str] = []
    journal._file._connection.set_trace_callback(asked.append)
    assert announced(unpaid) == []
    assert asked == []


# What is counted and told of all orders

STATES = [one.value for one in DisplayStatus if not ended(one.value)] + [None, "SOMETHING_NEW"]


@each_row("standing", list(DepositRelease))
def test_you_are_counted_where_the_summary_names_you(standing: DepositRelease) -> None:
    """Who acts next is counted over all orders without a sentence for each; the count agrees."""
    counted = 0
    facts = product(
        STATES,
        [None, *LegStatus],
        [None, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"],
        [None, NOW - timedelta(minutes=1), NOW + timedelta(minutes=9)],
        [None, "The address is hidden."],
    )
    # A sample: no axis has a multiple of seven values.
    for display, leg, address, expires, hidden in islice(facts, 0, None, 7):
        one = order(
            display_status=display, in_status=leg, deposit_address=address, expires=expires,
            status=None, anonymous=True,
        )  # fmt: skip
        tracked = TrackedOrder(one, None, hidden, False, NOW, "list", standing=standing)
        named = order_status(tracked, NOW).actor == "you"
        assert waits_for_you(tracked, NOW) is named, (display, leg, address, expires, hidden)
        counted += named
    assert counted


def test_the_newest_states_come_first_and_only_so_many(
    journal: Journal, clock: ManualClock
) -> None:
    created_here(journal, order())
    clock.advance(60)
    journal.orders.record([(order(service_id="w2Bn8LxCvBnM4k5j6h7g8f"), "list", False)])
    clock.advance(60)
    moved = order(display_status="EXCHANGE_IN_PROGRESS", in_status=3)
    journal.orders.record([(moved, "stream", False)])
    found = recent_events(journal, 2)
    assert [(one.order, one.word) for one in found] == [
        ("h8Kq2P", "Exchanging"),
        ("w2Bn8L", "Waiting for you"),
    ]
    assert [(NOW - one.at).total_seconds() for one in found] == [-120, 0]
    assert len(recent_events(journal, 9)) == 3


OURS = ("swapdesk/background", "swapdesk/client/", "swapdesk/flows/")
KEPT = {"following orders", "the order stream", "looking for unknown outcomes"}
PLACES = {
    "OrderSocket.heartbeat",
    "OrderStream._connect_for_ever",
    "OrderStream._follow",
    "OrderStream._poll_for_ever",
    "OrderStream._run",
    "following orders",
    "looking for unknown outcomes",
}
"""Where the tasks of a desk at rest wait."""
UNTOLD = {"ServerClock.sleep"}
"""A wait that breaks is over, for whoever gave it to ``within``."""


class Planted(Exception):
    """A defect of the test."""


def own_tasks() -> list[asyncio.Task[Any]]:
    """Every task of this loop that runs code of the desk."""
    found = []
    for task in asyncio.all_tasks():
        coroutine: Any = task.get_coro()
        if any(place in coroutine.cr_code.co_filename for place in OURS):
            found.append(task)
    return found


def kill(task: asyncio.Task[Any], words: str) -> bool:
    """Raise a defect where the task waits; False where it waits for another task of the desk."""
    waits: Any = getattr(task, "_fut_waiter", None)
    if waits is None or isinstance(waits, asyncio.Task) or waits.done():
        return False
    waits.set_exception(Planted(words))
    return True


async def until(clock: ManualClock, condition: Callable[[], object]) -> None:
    await manual_time.until(clock, condition, lambda: [_place(task) for task in own_tasks()])


@pytest.fixture
async def desk(trade: World, tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk that follows its orders at the service over loopback."""
    opened = Desk.open(load_settings({}, Home.at(tmp_path / "home")), clock=trade.clock)
    async with trade.served(works=True) as url:
        await opened.connect(Connection(url, FIRST_KEY, "alice"))
        yield opened
        await opened.close()


async def test_each_task_is_killed_told_and_started_again(trade: World, desk: Desk) -> None:
    clock = trade.clock
    told: list[Defect] = []
    desk.background.on_defect = told.append
    tracker = desk.link.tracker

    def live() -> bool:
        return tracker.stream_state == "live"

    await until(clock, live)
    created = await desk.link.exchange.create(await trade.quoted())
    assert isinstance(created, Created)
    service_id = created.order.service_id

    def display() -> str | None:
        found = tracker.get(service_id)
        return display_of(found.order) if found is not None else None

    await until(clock, display)
    # Every place where a task waits, once; what a killed one was part of is started again.
    # A ping or a write that is under way is over before.
    await until(clock, lambda: {_place(task) for task in own_tasks()} - UNTOLD == PLACES)
    for place in sorted(PLACES):
        told.clear()
        await until(clock, lambda place=place: kill_at(place))
        await until(clock, lambda: told)
        assert all(defect.task in KEPT and defect.again for defect in told), told
        await until(clock, live)
    # An event that makes a defect stops no other.
    told.clear()
    bad = OrderMissing([], clock.now())  # type: ignore[arg-type]
    await desk.link.stream._events.put(bad)
    trade.venue.move(f"{service_id}:in", LegStatus.CONFIRMING)
    await until(clock, lambda: display() == DisplayStatus.DEPOSIT_DETECTED)
    assert [defect.task for defect in told] == ["following orders"]
    running = {task.get_name() for task in own_tasks()}
    assert {"following orders", "looking for unknown outcomes"} <= running


def _place(task: asyncio.Task[Any]) -> str:
    coroutine: Any = task.get_coro()
    return task.get_name() if task.get_name() in KEPT else str(coroutine.__qualname__)


def kill_at(place: str) -> bool:
    killed = [kill(task, place) for task in own_tasks() if _place(task) == place]
    return any(killed)


async def test_a_task_is_started_later_and_later_and_told_once() -> None:
    clock, told = ManualClock(), []
    background = BackgroundTasks(clock, told.append)
    began: list[float] = []

    async def work() -> None:
        began.append(clock.monotonic())
        if len(began) == 3:
            # Something within was cancelled, and not the task.
            raise asyncio.CancelledError
        raise Planted

    task = background.start("the work", work)
    await manual_time.until(clock, lambda: len(began) == 9)
    waited = [round(later - before) for before, later in pairwise(began)]
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [type(defect.error) for defect in told] == [Planted, asyncio.CancelledError]
    assert str(told[0]) == "A defect stopped the work: Planted. It is started again."
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
