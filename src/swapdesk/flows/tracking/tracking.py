"""Follows every order that this desk knows, live, and keeps it longer than the service does.

States from the stream, polls and the journal are merged forward only, committed to the journal,
then announced. If the stream reports that an order ended, this counts only after REST repeats it.
If a state that a source reported speaks against showing an address, the journal decides, because
another desk of this home may have decided meanwhile.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from swapdesk.background import BackgroundTasks, Defect
from swapdesk.client.api import OrderPage, PartnerApi
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.client.live import (
    OrderMissing,
    OrderSeen,
    OrdersListed,
    OrderStream,
    StateChanged,
    StreamEvent,
    StreamState,
)
from swapdesk.clock import Clock
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import output_now
from swapdesk.flows.intents.intent import FOREIGN, Intent, contradiction
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.deposit_destination import own_payment
from swapdesk.flows.orders.order_fields import deposit_arrived, short_id
from swapdesk.flows.orders.order_history import happened
from swapdesk.flows.orders.order_listing import Group, group_of, sort_groups
from swapdesk.flows.orders.order_merge import (
    contradicts,
    display_of,
    ended,
    merge_order,
    only_volatile_fields,
    other_objects,
)
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain, Source
from swapdesk.flows.orders.tracked_order import FRESH, TrackedOrder
from swapdesk.flows.tracking.order_writes import OrderWrites, Writing
from swapdesk.flows.tracking.self_paid_orders import (
    BatchedOrders,
    BatchPayments,
    awaits_own_deposit,
    read_swap_payment,
    told_by_journal,
)
from swapdesk.wire.orders import DisplayStatus, Order, OrderQuery

log = logging.getLogger(__name__)

MAX_PAGES = 100
_NEW = timedelta(minutes=2)
"""Longest assumed time from an order's creation until its creator has journaled it."""
LOOK_SECONDS = 10.0
"""Interval in seconds of reading the payments that other desks of this home found on chains."""
LOAD_STEP = 100
"""Number of orders read from the journal before the event loop runs again."""


class Tracker:
    """The orders that this desk knows, kept up to date. Call :meth:`load_present`, then :meth:`run`
    in a task. ``on_change`` is called with the ids of changed orders, or with no ids if the stream
    or :attr:`skipped` changed."""

    def __init__(
        self,
        journal: Journal,
        api: PartnerApi,
        clock: Clock,
        stream: OrderStream,
        flow: ExchangeFlow,
        batch_payments: BatchPayments,
        background: BackgroundTasks,
    ) -> None:
        self._background = background
        self._journal = journal
        self._api = api
        self._clock = clock
        self._stream = stream
        self._flow = flow
        self._batched = BatchedOrders(journal.ledger, batch_payments)
        self._known: dict[str, TrackedOrder] = {}
        self._groups: dict[Group, set[str]] = {group: set() for group in Group}
        self._troubled: set[str] = set()
        """Ids of the orders with a ``trouble``, a problem that the user may mark as dealt with."""
        self._unpaid: set[str] = set()
        """Ids of the orders that were confirmed at this desk and wait for their deposit."""
        self._looked = clock.monotonic()
        self._missing: dict[str, datetime] = {}
        """When the service first said that it did not know an order, by its id."""
        self._over: dict[str, TrackedOrder] = {}
        """By order id, an order that ended, in the ended state that is not committed to the journal
        yet."""
        self._writes = OrderWrites(journal.order_writer(), clock, self._committed, self._background)
        self._errands: dict[str, asyncio.Task[None]] = {}
        """By order id, the task that reads the order from the service, beside the stream."""
        self.on_change: Callable[[frozenset[str]], object] = lambda _: None
        self.stream_since: datetime = clock.now()
        self.skipped = 0
        """Number of listed orders that cannot be read. They are missing from :meth:`orders`, or
        outdated there."""
        self.past_known = False
        """True once every journaled order is loaded. Before that, :meth:`recall` reads a missing
        order from the journal."""

    async def load_present(self) -> None:
        """Loads from the journal the orders that may still change. Yields to the event loop after
        every :data:`LOAD_STEP` orders."""
        for _ in self._loading(self._journal.orders.present()):
            await asyncio.sleep(0)

    def load_newest(self) -> None:
        """Loads the newest orders from the journal, at most :data:`LOAD_STEP`."""
        for _ in self._loading(self._journal.orders.each()):
            return
        self.past_known = True

    async def load_past(self, pause: float = 0.0) -> None:
        """Loads from the journal all orders that are not loaded yet, newest first. Sleeps ``pause``
        seconds after every :data:`LOAD_STEP` orders."""
        for _ in self._loading(self._journal.orders.each()):
            await self._clock.sleep(pause)
        self.past_known = True

    def recall(self, service_id: str) -> TrackedOrder | None:
        tracked = self._known.get(service_id)
        if tracked is None:
            tracked = self._from_journal(service_id, None)
            if tracked is not None:
                self._put(tracked)
        return tracked

    def get(self, service_id: str) -> TrackedOrder | None:
        return self._known.get(service_id)

    def known(self) -> Iterator[TrackedOrder]:
        return iter(self._known.values())

    @property
    def count(self) -> int:
        return len(self._known)

    def counts(self) -> dict[Group, int]:
        return {group: len(names) for group, names in self._groups.items()}

    @property
    def open_count(self) -> int:
        return len(self._groups[Group.OPEN])

    @property
    def stranded_count(self) -> int:
        return len(self._groups[Group.NEEDS_YOU])

    def running(self) -> Iterator[TrackedOrder]:
        return (self._known[name] for name in self._groups[Group.OPEN])

    def orders(self) -> list[TrackedOrder]:
        """Returns the loaded orders in the sequence of :class:`Group`, open ones by deadline, the
        others newest first."""
        groups = {
            group: [self._known[name] for name in names] for group, names in self._groups.items()
        }
        return sort_groups(groups, "deadline")

    def nearest(self, count: int) -> list[TrackedOrder]:
        """Returns at most ``count`` open orders, the nearest deadline first."""
        late = datetime.max.replace(tzinfo=UTC)
        # Pairs, which compare fast: there may be thousands.
        pairs = (
            (self._known[name].order.expires or late, name) for name in self._groups[Group.OPEN]
        )
        return [self._known[name] for _, name in heapq.nsmallest(count, pairs)]

    @property
    def stream_state(self) -> StreamState:
        return self._stream.state

    def stream_age(self) -> float:
        return self._stream.age()

    # What this desk did

    def adopt(self, service_id: str) -> TrackedOrder | None:
        """Loads and announces an order that was just written to the journal. If the journal does
        not have it, returns the order as loaded before, or None."""
        before, entry = self._newest(service_id), self._journal.orders.get(service_id)
        if entry is None:
            return before
        merged = None
        if before is not None:
            # The create verified its order; what the stream said is merged onto that.
            reason = contradicts(entry.order, before.order)
            if reason is not None:
                entry = entry.judged(self._journal.orders.settle(service_id, contradiction(reason)))
            merged = merge_order(entry.order, before.order)
            entry = replace(entry, order=merged or entry.order, ended=before.ended or entry.ended)
        tracked = replace(self._recalled(entry), source="create")
        if before is not None and tracked.paid_at is None:
            # The journal may not have the stream's state yet.
            tracked = replace(tracked, paid_at=before.paid_at)
        tracked = self._with_output(tracked, tracked.order)
        if merged is not None and self._writes.waiting(service_id):
            self._writes.put(Writing(tracked.order, "stream", tracked.ended))
        self._over.pop(service_id, None)
        self._put(tracked)
        self._announce([service_id])
        return tracked

    def put_away(self, service_id: str) -> None:
        """Records that the user has dealt with the ``trouble`` of an order, and announces the
        order. Raises JournalUnavailable."""
        self._put_away(service_id, self._known[service_id].trouble)

    def take_back(self, service_id: str) -> None:
        """Undoes :meth:`put_away`. Raises JournalUnavailable."""
        self._put_away(service_id, None)

    def _put_away(self, service_id: str, trouble: str | None) -> None:
        self._write_now(service_id)
        self._journal.orders.put_away(service_id, trouble)
        self._look_at_put_away()
        self._announce([service_id])

    def keep_payment(self, service_id: str, payment: PaidOnChain) -> None:
        """Stores and announces a payment to an order's deposit address that a chain showed. Stores
        nothing if the journal cannot be written."""
        try:
            self._write_now(service_id)
            self._journal.orders.keep_payment(service_id, payment)
            self._look_at_chain_payments()
        except JournalUnavailable as error:
            log.error("the journal did not take a payment: %s", error)
        self._announce([service_id])

    def _write_now(self, service_id: str) -> None:
        writing = self._writes.pending.get(service_id)
        if writing is not None:
            self._journal.orders.record([writing])

    def look_at_payments(self) -> None:
        """Loads and announces what other desks and commands of this home have journaled: new
        orders, payments of loaded orders, and problems that the user dealt with."""
        try:
            for service_id in self._made_here():
                self.adopt(service_id)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
        moved = self._look_at_put_away() if self._troubled else []
        if self._clock.monotonic() - self._looked >= LOOK_SECONDS:
            moved += self._look_at_chain_payments()
        moved += self._changed("own_payment", self._own_payments(self._unpaid))
        for service_id in self._batched.moved():
            before = self._known[service_id]
            after = self._batched.with_payment(before, before.order)
            if after is not before:
                self._put(after)
                moved.append(service_id)
        if moved:
            self._announce(moved)

    def look_at_swap(self, service_id: str) -> None:
        """Reads the payment of a DEX swap from the journal, and announces the order if the payment
        changed."""
        tracked = self._known.get(service_id)
        if tracked is None:
            return
        after = self._with_swap(tracked)
        self._put(after)
        if after is not tracked:
            self._announce([service_id])

    # What the service says

    async def read(self, service_id: str) -> TrackedOrder | None:
        """Reads one order from the service, merges it into the loaded order and returns the result.
        After a 404, a loaded order stays loaded and is marked as gone. Raises ClientError."""
        try:
            order = await self._api.get_order(service_id)
        except NotFound:
            if service_id not in self._known:
                raise
            self._not_known(service_id)
        else:
            await self.take([order])
        return self._known.get(service_id)

    async def take(self, orders: Iterable[Order], source: Source = "read") -> None:
        """Merges orders that the service returned and commits them to the journal."""
        for order in orders:
            self._apply(order, source)
        await self._writes.flush()

    async def sweep(self) -> None:
        """Merges every order that the service lists. If the list was complete, missing recent open
        orders are marked as gone. Raises ClientError."""
        skipped, whole, since = 0, False, self._clock.now()
        for page in range(1, MAX_PAGES + 1):
            answer = await self.read_page(page)
            skipped += answer.skipped
            whole = page >= answer.total_pages
            if whole or answer.empty:
                break
        self._listed(skipped)
        if whole and not skipped:
            for service_id in self._unlisted(since):
                self._not_known(service_id)

    async def read_page(self, page: int) -> OrderPage:
        """Reads one page of the service's list, merges its orders and returns the page. Raises
        ClientError."""
        answer = await self._api.list_orders(OrderQuery(page=page))
        await self.take(answer.orders, "list")
        return answer

    async def run(self) -> None:
        """Follows the service's order stream until cancelled. An exception in one event does not
        stop the stream."""
        try:
            await self._background.keep("following orders", self._follow)
        finally:
            for task in self._errands.values():
                task.cancel()
            await self._writes.finish()

    async def _follow(self) -> None:
        self._stream.watch(
            tracked.service_id
            for tracked in self._known.values()
            if not tracked.ended and not tracked.archived(self._clock.now())
        )
        async with self._stream as events:
            async for event in events:
                try:
                    self._take(event)
                except Exception as error:  # noqa: BLE001 (one order stops no other)
                    which = "orders"
                    if isinstance(event, OrderSeen):
                        which = f"order {short_id(event.order.service_id)}"
                    self._background.tell(Defect(f"following {which}", error, again=True))

    def _take(self, event: StreamEvent) -> None:
        if isinstance(event, OrderSeen):
            self._apply(event.order, "stream" if event.source == "stream" else "list")
            self._writes.schedule()
        elif isinstance(event, OrdersListed):
            self._listed(event.skipped)
        elif isinstance(event, OrderMissing):
            # Within 48 hours 404 is not the end of an order, and one server of several may be
            # behind: only what stays unknown counts.
            tracked = self._known.get(event.service_id)
            if tracked is not None and tracked.archived(self._clock.now()):
                self._stream.unwatch([event.service_id])
            since = self._missing.setdefault(event.service_id, event.at)
            if event.at - since > FRESH:
                self._not_known(event.service_id)
        elif isinstance(event, StateChanged):
            self.stream_since = event.since
            self._announce()

    # Inside

    def _announce(self, service_ids: Iterable[str] = ()) -> None:
        self.on_change(frozenset(service_ids))

    def _listed(self, skipped: int) -> None:
        if skipped != self.skipped:
            self.skipped = skipped
            self._announce()

    def _not_known(self, service_id: str) -> None:
        tracked = self._known.get(service_id)
        if tracked is not None and not tracked.gone:
            self._put(replace(tracked, gone=True))
            self._announce([service_id])

    def _unlisted(self, since: datetime) -> list[str]:
        return [
            tracked.service_id
            for tracked in self.running()
            if tracked.seen_at < since
            and not tracked.archived(since)
            and (tracked.order.created is None or tracked.order.created < since - _NEW)
        ]

    def _made_here(self) -> Collection[str]:
        """Returns the ids of orders of this home that are loaded as foreign, because the stream
        reported them before the journal had them."""
        since = self._clock.now() - _NEW
        unclaimed = [
            tracked.service_id
            for tracked in self.running()
            if tracked.intent is None
            and not tracked.in_batch
            and tracked.order.created is not None
            and tracked.order.created >= since
        ]
        return self._journal.orders.made_here(unclaimed) if unclaimed else ()

    def _look_at_put_away(self) -> list[str]:
        away = told_by_journal(self._journal.orders.away, None)
        if away is None:
            return []
        return self._changed("away", {name: away.get(name) for name in self._troubled})

    def _look_at_chain_payments(self) -> list[str]:
        self._looked = self._clock.monotonic()
        return self._changed("payments", told_by_journal(self._journal.orders.payments, {}))

    def _changed(self, member: str, values: Mapping[str, object]) -> list[str]:
        moved = [
            name
            for name, value in values.items()
            if name in self._known and getattr(self._known[name], member) != value
        ]
        for name in moved:
            self._put(replace(self._known[name], **{member: values[name]}))
        return moved

    def _newest(self, service_id: str) -> TrackedOrder | None:
        return self._over.get(service_id) or self._known.get(service_id)

    def _put(self, tracked: TrackedOrder) -> None:
        service_id = tracked.service_id
        self._known[service_id] = tracked
        stands = group_of(tracked)
        for names, belongs in (
            *((names, group is stands) for group, names in self._groups.items()),
            (self._troubled, tracked.trouble is not None),
            (self._unpaid, awaits_own_deposit(tracked)),
        ):
            if belongs:
                names.add(service_id)
            else:
                names.discard(service_id)
        if tracked.in_batch:
            self._batched.put(tracked)

    def _apply(self, order: Order, source: Source) -> None:
        service_id = order.service_id
        self._missing.pop(service_id, None)
        shown = before = self._newest(service_id)
        if before is None or (before.withheld is not None and source != "stream"):
            # Another desk of this home may have created, released or refused it meanwhile. The
            # stream does not ask: an order that stays hidden a little longer does no harm.
            before = self._from_journal(service_id, before)
        over = ended(display_of(order))
        if source == "stream" and over and not (before and ended(display_of(before.order))):
            # An end could never be taken back, so it counts once REST says it.
            self._run(service_id, self.read(service_id))
            return
        if before is None:
            after = self._first_seen(order, source)
            self._writes.put(Writing(after.order, source, after.ended))
            self._keep(after, shown, written=True)
            return
        before = self._batched.with_batch(before, order)
        withheld, reason = before.withheld, contradicts(before.order, order)
        if reason is not None:
            before = self._refused(before, reason)
        else:
            before = self._with_output(before, order)
        known_order = before.order
        others = other_objects(known_order, order)
        merged = merge_order(known_order, order, others)
        kept, now = merged or known_order, self._clock.now()
        after = replace(
            before,
            order=kept,
            ended=before.ended or (over and display_of(kept) == display_of(order)),
            seen_at=now,
            source=source,
            paid_at=happened(kept, now) if _just_paid(known_order, kept) else before.paid_at,
            gone=False,
        )
        after = self._with_swap(after)
        same_end = over and display_of(known_order) == display_of(order)
        write = merged is not None or (same_end and not before.ended)
        if write:
            figures = (
                merged is not None
                and reason is None
                and only_volatile_fields(known_order, merged, others if merged is order else None)
            )
            put = self._writes.put_figures if figures else self._writes.put
            put(Writing(kept, source, after.ended))
        self._keep(after, shown, written=write)
        if before.withheld != withheld:
            # Whether its address may be shown is not for the commit to wait for.
            self._announce([service_id])
        intent, given = after.intent, order.deposit_address is not None
        if after.being_confirmed and intent and given and intent.id not in self._flow.running:
            self._run(service_id, self._repeat(intent, after.order))

    # If the journal cannot be written, an order is hidden all the same and none is released.

    def _refused(self, before: TrackedOrder, reason: str) -> TrackedOrder:
        log.warning("order %s contradicts what is known: %s", before.short_id, reason)
        verdict = contradiction(reason)
        try:
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take a warning: %s", error)
        return before.judged(verdict)

    def _with_output(self, before: TrackedOrder, seen: Order) -> TrackedOrder:
        """Returns ``before`` with a new verdict on its deposit address, if the payout amount in
        ``seen`` decides the verdict. Without a usable journal, a new verdict can only hide the
        address."""
        if output_now(before, seen, self._flow.lower_tolerance) is None:
            return before
        try:
            # Another desk of this home may have settled this meanwhile.
            entry = self._journal.orders.get(before.service_id)
            if entry is not None:
                before = replace(before.judged(entry.verdict), accepted=entry.accepted)
            verdict = output_now(before, seen, self._flow.lower_tolerance)
            if verdict is None:
                return before
            log.info("order %s: its output is %s now", before.short_id, seen.out_amount)
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take the output of an order: %s", error)
            verdict = output_now(before, seen, self._flow.lower_tolerance)
            if verdict is None or verdict.payable:
                return before
        return before.judged(verdict)

    def _first_seen(self, order: Order, source: Source) -> TrackedOrder:
        now = self._clock.now()
        new = TrackedOrder(
            order, None, FOREIGN.withheld, ended(display_of(order)), now, source,
            standing=FOREIGN.standing,
            paid_at=happened(order, now) if _just_paid(None, order) else None,
        )  # fmt: skip
        return self._batched.with_batch(new, order)

    def _keep(self, after: TrackedOrder, shown: TrackedOrder | None, *, written: bool) -> None:
        """Shows ``after`` in place of ``shown``. An order that has just ended is shown only once
        the journal has its state. ``written`` says that the state was queued for the journal."""
        service_id, over = after.service_id, ended(display_of(after.order))
        was_over = shown is not None and ended(display_of(shown.order))
        if (written and over and not was_over) or service_id in self._over:
            self._over[service_id] = after
        else:
            self._put(after)

    def _committed(self, ids: Iterable[str]) -> None:
        names = list(ids)
        for over in [self._over.pop(name) for name in names if name in self._over]:
            self._put(over)
        self._announce(names)

    def _run(self, service_id: str, work: Coroutine[None, None, object]) -> None:
        if service_id in self._errands:
            work.close()
            return

        async def tried() -> None:
            try:
                await work
            except (ClientError, JournalUnavailable) as error:
                log.info("order %s is looked after later: %s", short_id(service_id), error)

        name = f"looking after order {short_id(service_id)}"
        task = asyncio.create_task(self._background.once(name, tried()), name=name)
        self._errands[service_id] = task
        task.add_done_callback(lambda _: self._errands.pop(service_id))

    async def _repeat(self, intent: Intent, order: Order) -> None:
        await self._flow.confirm_again(intent, order)
        self.adopt(order.service_id)

    def _loading(self, entries: Iterator[TrackedOrder]) -> Iterator[None]:
        for at, entry in enumerate(entries):
            if entry.order.service_id not in self._known:
                self._put(self._recalled(entry))
            if at % LOAD_STEP == LOAD_STEP - 1:
                yield

    def _recalled(self, entry: TrackedOrder) -> TrackedOrder:
        tracked = replace(entry, paid_at=self._paid_at(entry.order))
        tracked = self._batched.with_batch(tracked, tracked.order)
        if awaits_own_deposit(tracked):
            own = self._own_payments((tracked.service_id,))
            tracked = replace(tracked, own_payment=own.get(tracked.service_id))
        return self._with_swap(tracked)

    def _own_payments(self, names: Collection[str]) -> dict[str, OrderTransaction | None]:
        """Returns, by order id, the newest deposit that this home sent and that did not fail; None
        for an order without such a deposit. Empty if the journal cannot be read."""
        sent = self._journal.orders.own_deposits
        made = told_by_journal(lambda: sent(names), None) if names else None
        if made is None:
            return {}
        return {name: own_payment(made.get(name, ())) for name in names}

    def _paid_at(self, order: Order) -> datetime | None:
        seen = self._journal.orders.history.deposit_seen
        arrived = deposit_arrived(order)
        return told_by_journal(lambda: seen(order.service_id), None) if arrived else None

    def _with_swap(self, tracked: TrackedOrder) -> TrackedOrder:
        payment = told_by_journal(
            lambda: read_swap_payment(self._journal.ledger, tracked.intent, tracked.order),
            tracked.swap_payment,
        )
        if payment == tracked.swap_payment:
            return tracked
        return replace(tracked, swap_payment=payment)

    def _from_journal(self, service_id: str, before: TrackedOrder | None) -> TrackedOrder | None:
        """Returns the order from the journal if ``before`` is None, or if the verdict on the
        deposit address differs there; otherwise ``before``."""
        try:
            stands = self._journal.orders.verdict(service_id)
            if stands is None or (before is not None and stands.standing is before.standing):
                return before
            entry = self._journal.orders.get(service_id)
            return self._recalled(entry) if entry is not None else before
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return before


def _just_paid(before: Order | None, after: Order) -> bool:
    if before is None:
        return display_of(after) == DisplayStatus.DEPOSIT_DETECTED
    return deposit_arrived(after) and not deposit_arrived(before)
