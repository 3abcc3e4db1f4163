"""Every order this desk knows, in memory, and what one more sighting makes of it.

Pure of any network: the journal is read, states are folded forward only, and what must not
be paid is refused. What follows from a sighting is for the caller to do (:class:`Sighted`).

Whether the address of a followed order may be shown, once a sighting says something against it:
the journal decides, since another desk of this home may have decided meanwhile.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.creation.minimum_received import LOWER_TOLERANCE, output_now
from swapdesk.flows.intents.intent import FOREIGN, DepositRelease, Intent, contradiction
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import JournaledOrder, PaidOnChain, Source
from swapdesk.flows.journal.order_merge import (
    contradicts,
    display_of,
    ended,
    merge_order,
    only_volatile_fields,
    other_objects,
)
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_history import happened
from swapdesk.flows.orders.order_listing import Group, group_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.self_paid_orders import (
    BatchedOrders,
    BatchPayments,
    SelfPaidOrders,
    read_swap_payment,
)
from swapdesk.wire.orders import DisplayStatus, Order

log = logging.getLogger(__name__)


class DepositReleases:
    """``lower_tolerance``: percent of the agreed output that may be missing unasked. Where the
    journal takes nothing, an order is hidden all the same and none is released."""

    def __init__(self, journal: Journal, lower_tolerance: Decimal) -> None:
        self._journal = journal
        self._lower_tolerance = lower_tolerance

    def refused(self, before: TrackedOrder, reason: str) -> TrackedOrder:
        """``before`` as it stands once a sighting contradicted what is known of it."""
        log.warning("order %s contradicts what is known: %s", before.short_id, reason)
        verdict = contradiction(reason)
        try:
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take a warning: %s", error)
        return replace(before, withheld=verdict.withheld, standing=verdict.standing)

    def with_output(self, before: TrackedOrder, seen: Order) -> TrackedOrder:
        """``before`` as it stands once the estimate of its output is the one in ``seen``."""
        if output_now(before, seen, self._lower_tolerance) is None:
            return before
        try:
            # Another desk of this home may have asked, or been answered, meanwhile.
            entry = self._journal.orders.get(before.service_id)
            if entry is not None:
                standing, withheld = entry.verdict.standing, entry.withheld
                before = replace(
                    before, standing=standing, withheld=withheld, accepted=entry.accepted
                )
            verdict = output_now(before, seen, self._lower_tolerance)
            if verdict is None:
                return before
            log.info("order %s: its output is %s now", before.short_id, seen.out_amount)
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take the output of an order: %s", error)
            verdict = output_now(before, seen, self._lower_tolerance)
            if verdict is None or verdict.payable:
                return before
        return replace(before, withheld=verdict.withheld, standing=verdict.standing)


def _just_paid(before: Order | None, after: Order) -> bool:
    """Whether ``after`` is the first state to tell of the deposit, and none was passed unseen."""
    if before is None:
        return display_of(after) == DisplayStatus.DEPOSIT_DETECTED
    return deposit_arrived(after) and not deposit_arrived(before)


_NEW = timedelta(minutes=2)
"""For so long an order may still be written down by whoever created it."""
LOOK_SECONDS = 10.0
"""After so long it is known here what a chain showed to another desk of this home."""
LOAD_STEP = 100
"""Orders read from the journal between two breaths of the event loop."""


class Sighted(NamedTuple):
    """``order`` is None when the sighting must be confirmed by a read first. ``write`` asks for
    a commit, which may wait where only ``figures`` differ, ``repeat`` for another repetition of
    the order by the service, ``judged`` tells that it became another question whether its
    address may be shown."""

    order: TrackedOrder | None
    write: bool = False
    figures: bool = False
    repeat: bool = False
    judged: bool = False


class KnownOrders:
    """Fill with :meth:`load_present`; :meth:`see` judges, :meth:`put` keeps."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        lower_tolerance: Decimal = LOWER_TOLERANCE,
        *,
        batch_payments: BatchPayments | None = None,
    ) -> None:
        """``lower_tolerance``: percent of the agreed output that may be missing unasked. Without
        ``batch_payments`` nobody knows how far a batch is paid."""
        self._journal = journal
        self._clock = clock
        self._standings = DepositReleases(journal, lower_tolerance)
        self._batched = BatchedOrders(journal.batches, batch_payments)
        self._paid = SelfPaidOrders(journal.transactions)
        self._known: dict[str, TrackedOrder] = {}
        self._away: dict[str, str] | None = None
        """Orders that were put away, each with its trouble; None before the first look."""
        self._looked = clock.monotonic()
        self._payments: dict[str, tuple[PaidOnChain, ...]] | None = None
        """What chains showed of deposits, by their orders; None before the first look."""
        self._troubled: set[str] = set()
        """Orders that may be put away, or are."""
        self._groups: dict[Group, set[str]] = {group: set() for group in Group}
        self.past_known = False
        """Whether every order of the journal is in view; until then :meth:`recall` finds one."""

    async def load_present(self) -> None:
        """Take the orders of which something may still become, with a breath for the event loop
        after every :data:`LOAD_STEP`."""
        for _ in self._loading(self._journal.orders.present()):
            await asyncio.sleep(0)

    def load_newest(self) -> None:
        """Take the newest orders, whatever became of them: :data:`LOAD_STEP` at most."""
        for _ in self._loading(self._journal.orders.each()):
            return
        self.past_known = True

    async def load_past(self, pause: float = 0.0) -> None:
        """Take all others, newest first, with ``pause`` seconds after every :data:`LOAD_STEP`."""
        for _ in self._loading(self._journal.orders.each()):
            await self._clock.sleep(pause)
        self.past_known = True

    def recall(self, service_id: str) -> TrackedOrder | None:
        """The order, taken from the journal where it was not loaded."""
        known = self._known.get(service_id)
        if known is None:
            known = self._from_journal(service_id, None)
            if known is not None:
                self.put(known)
        return known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[TrackedOrder]:
        return iter(self._known.values())

    @property
    def open_count(self) -> int:
        return len(self._groups[Group.OPEN])

    def get(self, service_id: str) -> TrackedOrder | None:
        return self._known.get(service_id)

    def count(self, group: Group) -> int:
        return len(self._groups[group])

    def put(self, tracked: TrackedOrder) -> None:
        service_id = tracked.service_id
        self._known[service_id] = tracked
        stands = group_of(tracked)
        for group, names in self._groups.items():
            if group is not stands:
                names.discard(service_id)
        self._groups[stands].add(service_id)
        if tracked.trouble is not None:
            self._troubled.add(service_id)
        else:
            self._troubled.discard(service_id)
        if tracked.in_batch:
            self._batched.put(tracked)
        if tracked.intent is not None:
            self._paid.put(tracked)

    def put_away(self, service_id: str) -> None:
        """Its owner dealt with an order that failed. Raises JournalUnavailable."""
        tracked = self._known[service_id]
        if tracked.trouble is not None:
            self._journal.orders.put_away(service_id, tracked.trouble)
            self._look_at_put_away()

    def take_back(self, service_id: str) -> None:
        """It was not dealt with after all. Raises JournalUnavailable."""
        self._journal.orders.take_back(service_id)
        self._look_at_put_away()

    def keep_payment(self, service_id: str, payment: PaidOnChain) -> None:
        """A chain shows a payment to the deposit address of an order. Raises JournalUnavailable."""
        self._journal.orders.keep_payment(service_id, payment)
        self._look_at_chain_payments()

    def not_known(self, service_id: str) -> bool:
        """The service said that it does not know an order; whether that is news."""
        known = self._known.get(service_id)
        if known is None or known.gone:
            return False
        self.put(replace(known, gone=True))
        return True

    def unlisted(self, since: datetime) -> list[str]:
        """Open orders of the last 48 hours that were not seen since then, but for new ones."""
        return [
            tracked.service_id
            for tracked in self.running()
            if tracked.seen_at < since
            and not tracked.archived(since)
            and (tracked.order.created is None or tracked.order.created < since - _NEW)
        ]

    def look_at_payments(self) -> list[str]:
        """Read in the journal which deposits were paid and how far batches are, also by another
        desk; the ids of orders that this says something new of."""
        moved = self._look_at_put_away() if self._troubled else []
        if self._clock.monotonic() - self._looked >= LOOK_SECONDS:
            moved += self._look_at_chain_payments()
        for service_id, payment in self._paid.now().items():
            before = self._known[service_id]
            if payment != before.own_payment:
                self._known[service_id] = replace(before, own_payment=payment)
                moved.append(service_id)
        for service_id in self._batched.moved():
            before = self._known[service_id]
            after = self._batched.with_payment(before, before.order)
            if after is not before:
                self._known[service_id] = after
                moved.append(service_id)
        return moved

    def made_here(self) -> list[str]:
        """The newest of the orders taken for foreign ones that another desk or command of this home
        made: the stream may tell of an order before its creator has written it down."""
        since = self._clock.now() - _NEW
        unclaimed = [
            tracked.service_id
            for tracked in self.running()
            if tracked.intent is None
            and not tracked.in_batch
            and tracked.order.created is not None
            and tracked.order.created >= since
        ]
        if not unclaimed:
            return []
        try:
            return self._journal.orders.index.made_here(unclaimed)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return []

    def _look_at_put_away(self) -> list[str]:
        """Read which ones are, also by another desk; the ids of those that are otherwise now."""
        before = self._away or {}
        try:
            self._away = self._journal.orders.away()
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return []
        moved = [
            service_id
            for service_id in before.keys() | self._away.keys()
            if before.get(service_id) != self._away.get(service_id) and service_id in self._known
        ]
        for service_id in moved:
            self.put(replace(self._known[service_id], away=self._away.get(service_id)))
        return moved

    def _look_at_chain_payments(self) -> list[str]:
        """Read what chains showed, also to another desk; the ids of orders that this says
        something new of."""
        before, self._looked = self._payments or {}, self._clock.monotonic()
        try:
            self._payments = self._journal.orders.payments()
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return []
        moved = [
            service_id
            for service_id, payments in self._payments.items()
            if before.get(service_id) != payments and service_id in self._known
        ]
        for service_id in moved:
            self.put(replace(self._known[service_id], payments=self._payments[service_id]))
        return moved

    def _shown(self, service_id: str) -> tuple[PaidOnChain, ...]:
        if self._payments is None:
            self._look_at_chain_payments()
        return (self._payments or {}).get(service_id, ())

    def running(self) -> Iterator[TrackedOrder]:
        """Open orders in no sequence."""
        return (self._known[name] for name in self._groups[Group.OPEN])

    def sorted(self) -> list[TrackedOrder]:
        """Group by group; open ones with the nearest deadline first, the others newest first."""
        return [
            self._known[name]
            for group, names in self._groups.items()
            for name in (
                [name for _, name in sorted(self._by_deadline())]
                if group is Group.OPEN
                else self._newest(names)
            )
        ]

    def nearest(self, count: int) -> list[TrackedOrder]:
        """Open orders with the nearest deadline first, at most ``count``."""
        return [self._known[name] for _, name in heapq.nsmallest(count, self._by_deadline())]

    def _by_deadline(self) -> Iterator[tuple[datetime, str]]:
        """Open orders as what they are sorted by: plain pairs, since there may be thousands."""
        late = datetime.max.replace(tzinfo=UTC)
        return (
            (self._known[name].order.expires or late, name) for name in self._groups[Group.OPEN]
        )

    def _newest(self, names: Iterable[str]) -> list[str]:
        early = datetime.min.replace(tzinfo=UTC)
        found = [(self._known[name].order.created or early, name) for name in names]
        return [name for _, name in sorted(found, reverse=True)]

    def see(self, order: Order, source: Source, before: TrackedOrder | None) -> Sighted:
        """What ``order`` makes of ``before``, which is the newest that is known of it."""
        service_id = order.service_id
        if before is None or (before.withheld is not None and source != "stream"):
            # Another desk of this home may have created, released or refused it meanwhile; an
            # order that stays hidden a little longer does no harm, so the stream does not ask.
            before = self._from_journal(service_id, before)
        over = ended(display_of(order))
        if source == "stream" and over and not (before and ended(display_of(before.order))):
            # The end of an order counts once REST says it; it could never be taken back.
            return Sighted(None)
        now = self._clock.now()
        if before is None:
            standing, withheld = FOREIGN.standing, FOREIGN.withheld
            new = TrackedOrder(
                order, None, withheld, over, now, source,
                standing=standing, payments=self._shown(service_id),
                paid_at=happened(order, now) if _just_paid(None, order) else None,
            )  # fmt: skip
            return Sighted(self._batched.with_batch(new, order), write=True)
        before = self._batched.with_batch(before, order)
        withheld, reason = before.withheld, contradicts(before.order, order)
        if reason is not None:
            before = self._standings.refused(before, reason)
        else:
            before = self._standings.with_output(before, order)
        judged = before.withheld != withheld
        known = before.order
        others = other_objects(known, order)
        merged = merge_order(known, order, others)
        same_end = display_of(known) == display_of(order)
        kept = merged or known
        is_over = before.ended or (over and display_of(kept) == display_of(order))
        paid_at = happened(kept, now) if _just_paid(known, kept) else before.paid_at
        after = replace(
            before,
            order=kept,
            ended=is_over,
            seen_at=now,
            source=source,
            paid_at=paid_at,
            gone=False,
        )
        after = self._with_swap(after)
        unrepeated = (
            after.standing is DepositRelease.UNREPEATED and order.deposit_address is not None
        )
        return Sighted(
            after,
            write=merged is not None or (over and same_end and not before.ended),
            figures=merged is not None
            and reason is None
            and only_volatile_fields(known, merged, others if merged is order else None),
            repeat=unrepeated,
            judged=judged,
        )

    def look_at_swap(self, service_id: str) -> bool:
        """Take what the journal says now of the transaction of a swap; whether it is another
        word."""
        tracked = self._known.get(service_id)
        if tracked is None:
            return False
        now = self._with_swap(tracked)
        self.put(now)
        return now is not tracked

    def adopt(self, service_id: str, before: TrackedOrder | None) -> tuple[TrackedOrder, bool]:
        """An order the journal has just recorded, over which goes what was seen of it already.
        Whether both differ; KeyError when the journal has none."""
        entry = self._journal.orders.get(service_id)
        if entry is None:
            raise KeyError(service_id)
        merged = None
        if before is not None:
            # What the create verified is the base; what the stream said comes on top of it.
            reason = contradicts(entry.order, before.order)
            if reason is not None:
                verdict = self._journal.orders.settle(service_id, contradiction(reason))
                entry = replace(entry, verdict=verdict)
            merged = merge_order(entry.order, before.order)
            entry = replace(entry, order=merged or entry.order, ended=before.ended or entry.ended)
        tracked = replace(self._tracked(entry), source="create")
        if before is not None and tracked.paid_at is None:
            # What the stream said may not be written yet.
            tracked = replace(tracked, paid_at=before.paid_at)
        return self._standings.with_output(tracked, tracked.order), merged is not None

    def _loading(self, entries: Iterator[JournaledOrder]) -> Iterator[None]:
        for at, entry in enumerate(entries):
            if entry.order.service_id not in self._known:
                self.put(self._tracked(entry))
            if at % LOAD_STEP == LOAD_STEP - 1:
                yield

    def _tracked(self, entry: JournaledOrder) -> TrackedOrder:
        if self._away is None:
            self._look_at_put_away()
        tracked = TrackedOrder(
            order=entry.order,
            intent=self._intent_of(entry.intent_id),
            withheld=entry.withheld,
            ended=entry.ended,
            seen_at=entry.seen_at,
            source="journal",
            standing=entry.verdict.standing,
            accepted=entry.accepted,
            away=(self._away or {}).get(entry.order.service_id),
            payments=self._shown(entry.order.service_id),
            paid_at=self._paid_at(entry.order),
        )
        return self._with_swap(
            self._paid.with_payment(self._batched.with_batch(tracked, tracked.order))
        )

    def _paid_at(self, order: Order) -> datetime | None:
        """When the service saw the deposit, as far as the journal has that."""
        try:
            history = self._journal.orders.history
            return history.deposit_seen(order.service_id) if deposit_arrived(order) else None
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return None

    def _with_swap(self, tracked: TrackedOrder) -> TrackedOrder:
        """The same, with what the journal says of the transaction of a swap on chains."""
        try:
            payment = read_swap_payment(self._journal.swaps, tracked.intent, tracked.order)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return tracked
        if payment == tracked.swap_payment:
            return tracked
        return replace(tracked, swap_payment=payment)

    def _from_journal(self, service_id: str, before: TrackedOrder | None) -> TrackedOrder | None:
        """The journal's word where it decides otherwise than ``before``."""
        try:
            stands = self._journal.orders.verdict(service_id)
            if stands is None or (before is not None and stands.standing is before.standing):
                return before
            entry = self._journal.orders.get(service_id)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return before
        return self._tracked(entry) if entry is not None else before

    def _intent_of(self, intent_id: str | None) -> Intent | None:
        entry = self._journal.intents.get(intent_id) if intent_id else None
        return entry.intent if entry else None
