"""Finds out at the start what became of create requests whose outcome is unknown. Where that is not
possible, the user decides.

The desk adopts an order by itself only if exactly one certainly belongs to the intent. If several
may belong to it, or a deciding field is missing, the user compares the orders with what was
confirmed and chooses. After a complete search the user may also say that none of the orders belongs
to it. Nothing is posted in any of these cases.

This runs at the start before anything new may be created. An intent that was never sent is dropped;
an intent that was sent is looked up at the service; an order whose repetition was interrupted is
read again.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal

from msgspec import Struct, field

from swapdesk.background import together
from swapdesk.chain.addresses.checking import same_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.creation.creates import OrderTaken, intent_of, open_creates, refuse_create
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.order_verification import (
    AMOUNT_TOLERANCE,
    SKEW,
    WINDOW,
    Created,
    CreateUnknown,
    NotCreated,
    match,
    orders_since,
)
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.notation import clock_time, exact_amount, grouped_address
from swapdesk.flows.orders.order_fields import route_of, short_id
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_status import cause_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import Order

UNSAID = "the service does not say"

_KNOWN_BY_NOW = "What became of this request is known by now."

LOOK_AGE = timedelta(minutes=10)
"""The age from which the results of a search no longer suffice to give up an intent."""


class ResumeReport(Struct):
    """The results of the search for orders whose create requests were unfinished at the start.
    ``elsewhere`` are intents that another running desk works on; ``left`` are intents without a
    result when the search was broken off."""

    found: list[tuple[Intent, Created]] = field(default_factory=list)
    not_created: list[Intent] = field(default_factory=list)
    unknown: list[tuple[Intent, CreateUnknown]] = field(default_factory=list)
    elsewhere: list[Intent] = field(default_factory=list)
    left: list[Intent] = field(default_factory=list)
    problem: str | None = None

    @property
    def empty(self) -> bool:
        return not (self.found or self.not_created or self.unknown)


def _goes_on(journal: Journal, create: Operation) -> bool:
    if create.state is not State.PREPARED or intent_of(create).route != "dex":
        return False
    parts = journal.ledger.parts(create.id)
    return not parts or parts[-1].state is not State.REFUSED


async def resume(
    journal: Journal, flow: ExchangeFlow, patience: float | None = None
) -> ResumeReport:
    """Finds the outcome of every unfinished create request, without sending one. After ``patience``
    seconds (None: never), the search is broken off and proves nothing. A caller that sets
    ``patience`` must create nothing afterwards."""
    report = ResumeReport()
    try:
        async with asyncio.timeout(patience):
            await _settle(journal, flow, report)
    except TimeoutError:
        others = {
            intent.id for intent in (*report.elsewhere, *(intent for intent, _ in report.unknown))
        }
        report.left = [
            intent_of(create)
            for create in open_creates(journal.ledger)
            if create.id not in others and not _goes_on(journal, create)
        ]
    return report


async def _settle(journal: Journal, flow: ExchangeFlow, report: ResumeReport) -> None:
    looks = [_look(journal, flow, report, create) for create in open_creates(journal.ledger)]
    await together(*looks)
    await together(*(_repeat(flow, report, order) for order in journal.orders.unrepeated()))


async def _look(
    journal: Journal, flow: ExchangeFlow, report: ResumeReport, left: Operation
) -> None:
    if left.id in flow.running or _goes_on(journal, left):
        return
    intent = intent_of(left)
    if not journal.ledger.take_over(left.id):
        report.elsewhere.append(intent)
        return
    # Its owner may have gone on with it until now.
    create = journal.ledger.get(left.id) or left
    if create.state is State.PREPARED or create.sent_at is None:
        if refuse_create(journal.ledger, create.id, "NOT_SENT"):
            report.not_created.append(intent)
        return
    if create.state is State.SENT and not journal.ledger.move(
        create.id, State.UNKNOWN, code="INTERRUPTED"
    ):
        return
    before = journal.orders.seen_before(create.sent_at)
    # Nobody gives it up or takes an order for it while it is looked for.
    flow.running.add(intent.id)
    try:
        outcome = await flow.resolve(intent, create.server_at or create.sent_at, before)
    finally:
        flow.running.discard(intent.id)
    if isinstance(outcome, Created):
        report.found.append((intent, outcome))
    elif isinstance(outcome, NotCreated):
        report.not_created.append(intent)
    else:
        report.unknown.append((intent, outcome))


async def _repeat(flow: ExchangeFlow, report: ResumeReport, order: TrackedOrder) -> None:
    intent = order.intent
    reported = {created.order.service_id for _, created in report.found}
    if intent is None or ended(display_of(order.order)) or order.service_id in reported:
        return
    report.found.append((intent, await flow.confirm_again(intent, order.order)))


class CandidateRefused(Exception):
    """Raised if the user's decision about an intent was refused and nothing changed. The text is
    for the screen."""


class Compared(Struct, frozen=True):
    """A field of a found order beside the confirmed value. ``same`` is None if the order lacks the
    field or the field is unimportant."""

    label: str
    confirmed: str
    found: str
    same: bool | None


class OrderCandidate(Struct, frozen=True):
    """An order that may belong to an intent. ``certain`` is True if no deciding field is
    missing."""

    order: Order
    certain: bool
    facts: tuple[Compared, ...]

    @property
    def service_id(self) -> str:
        return self.order.service_id

    @property
    def other(self) -> tuple[str, ...]:
        """The labels of fields that differ without ruling the order out."""
        return tuple(field.label for field in self.facts if field.same is False)

    @property
    def said(self) -> str:
        """How well the order matches, in a few words."""
        matched = "every field" if self.certain else "as far as said"
        return f"{matched} but {', '.join(self.other)}" if self.other else matched


class Look(Struct, frozen=True):
    """The result of one search for an intent's order. ``complete`` is True if the search saw every
    order since the intent was sent. After 48 hours that is impossible, because the service drops
    orders."""

    intent: Intent
    sent_at: datetime
    looked_at: datetime
    candidates: tuple[OrderCandidate, ...]
    complete: bool

    @property
    def phrase(self) -> str:
        """The phrase that the user types to give the intent up. It contains a part of the payment's
        fingerprint, so that nobody types it by habit."""
        return f"give up {self.intent.fingerprint[:4]}"

    @property
    def said(self) -> str:
        count = len(self.candidates)
        if not self.complete:
            begin = "The service does not list every order since then any more"
            rest = f"; {count} of those it lists may be this one." if count else "."
            return begin + rest
        if not count:
            return "No order since then is this one."
        word = "order" if count == 1 else "orders"
        return f"{count} {word} since then may be this one."


class Candidates:
    """Searches for orders that may belong to an intent of unknown outcome, and records the outcome
    that the user chooses."""

    def __init__(self, api: PartnerApi, journal: Journal, flow: ExchangeFlow, clock: Clock) -> None:
        self._api = api
        self._journal = journal
        self._flow = flow
        self._clock = clock

    async def look(self, intent_id: str) -> Look:
        """Searches once for orders that may belong to the intent. Raises CandidateRefused if the
        outcome of the intent is known or the service cannot be asked."""
        intent, sent_at = self._unknown(intent_id)
        # Orders that were there before, or that other intents became.
        before = self._journal.orders.created_before(sent_at - SKEW)
        excluded = before | self._flow.of_others(intent)
        try:
            orders, complete = await orders_since(
                self._api, intent, sent_at=sent_at, known=excluded
            )
        except ClientError as error:
            raise CandidateRefused(f"The service could not be asked: {error}.") from error
        listed = [
            OrderCandidate(order, certain, compared(intent, order)) for order, certain in orders
        ]
        # The one that is most like it stands first.
        listed.sort(
            key=lambda candidate: (
                not candidate.certain,
                len(candidate.other),
                candidate.service_id,
            )
        )
        return Look(intent, sent_at, self._clock.now(), tuple(listed), complete)

    async def choose(self, look: Look, service_id: str) -> Created:
        """Adopts the order that the user chose, after reading it again. The same conditions as for
        any new order decide whether its address is shown. Raises CandidateRefused."""
        intent, _ = self._unknown(look.intent.id)
        if all(candidate.service_id != service_id for candidate in look.candidates):
            raise CandidateRefused(f"{short_id(service_id)} is none of the orders found.")
        try:
            order = await self._api.get_order(service_id)
        except ClientError as error:
            raise CandidateRefused(f"The order could not be read: {error}.") from error
        if match(intent, order, since=look.sent_at - SKEW) is False:
            raise CandidateRefused("The order is not what was confirmed any more. Look again.")
        try:
            return await self._flow.take(intent, order)
        except OrderTaken:
            raise CandidateRefused("This order belongs to another payment of this desk.") from None
        except JournalUnavailable:
            raise CandidateRefused(NO_JOURNAL.cause) from None

    def give_up(self, look: Look, typed: str) -> None:
        """Records that no order belongs to the intent, so that the payment may be requested again.
        Raises CandidateRefused for a wrong phrase and for an old search. An incomplete search
        suffices only once the service drops orders of that age."""
        intent, sent_at = self._unknown(look.intent.id)
        forgotten = self._api.server_now() - sent_at >= WINDOW
        if not look.complete and not forgotten:
            raise CandidateRefused("The look did not see every order. Look again first.")
        if self._clock.now() - look.looked_at > LOOK_AGE:
            raise CandidateRefused("The look is too old. Look again first.")
        if typed != look.phrase:
            raise CandidateRefused(f'Not the same: type "{look.phrase}".')
        try:
            moved = self._journal.ledger.move(
                intent.id, State.REFUSED, among=(State.UNKNOWN,), code="ABANDONED"
            )
        except JournalUnavailable:
            raise CandidateRefused(NO_JOURNAL.cause) from None
        if not moved:
            raise CandidateRefused(_KNOWN_BY_NOW)

    def _unknown(self, intent_id: str) -> tuple[Intent, datetime]:
        if intent_id in self._flow.running:
            raise CandidateRefused("This order is created or looked for at this moment.")
        try:
            create = self._journal.ledger.get(intent_id)
            if create is None or create.sent_at is None:
                raise CandidateRefused("The journal holds no such request.")
            if create.state is State.SENT:
                raise CandidateRefused("This order is being created by another desk that runs now.")
            if create.state is not State.UNKNOWN:
                raise CandidateRefused(_KNOWN_BY_NOW)
            if not self._journal.ledger.take_over(intent_id):
                raise CandidateRefused("Another desk that runs now looks after this request.")
        except JournalUnavailable:
            raise CandidateRefused(NO_JOURNAL.cause) from None
        return intent_of(create), create.server_at or create.sent_at


def compared(intent: Intent, order: Order) -> tuple[Compared, ...]:
    """Returns the fields by which orders can be told apart, each with its confirmed value and its
    value in ``order``."""
    send, get = intent.token_in.symbol, intent.token_out.symbol
    paid, received, address = order.in_amount, order.out_amount, order.receiver_address
    near = intent.amount_in * AMOUNT_TOLERANCE
    route = None if order.anonymous is None else route_of(order)
    tag, state = order.receiver_tag or None, display_of(order)
    return (
        Compared(
            "You send",
            _amount(intent.amount_in, send),
            _amount(paid, send),
            None if paid is None else abs(paid - intent.amount_in) <= near,
        ),
        Compared(
            "You get",
            _amount(intent.amount_out, get),
            _amount(received, get),
            None if received is None else received >= intent.amount_out,
        ),
        Compared(
            "Recipient",
            grouped_address(intent.recipient),
            UNSAID if address is None else grouped_address(address),
            None
            if address is None
            else same_address(intent.token_out.kind, address, intent.recipient),
        ),
        Compared("Memo", intent.memo or "none", tag or "none", tag == (intent.memo or None)),
        Compared(
            "Route", intent.route, route or UNSAID, None if route is None else route == intent.route
        ),
        Compared(
            "Asked at",
            clock_time(intent.frozen_at, zone=True),
            UNSAID if order.created is None else clock_time(order.created, zone=True),
            None,
        ),
        Compared("State", "", UNSAID if state is None else cause_of(order), None),
    )


def _amount(amount: Decimal | None, symbol: str) -> str:
    return UNSAID if amount is None else f"{exact_amount(amount)} {symbol}"
