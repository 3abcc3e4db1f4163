"""One order as support works on it: what it is, why it is there, and what to write.

What is shown of it to whoever helps its customer is texts alone. A sheet is one order at one
moment. A record is the sheet of now, one of each moment at which something new was heard, and the
requests between them. Pages and files render the same record, so that a file shows what the desk
showed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.exchange_log import Exchange
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.notation import (
    NOTHING,
    clock_time,
    date,
    duration,
    grouped_address,
    short_address,
)
from swapdesk.flows.orders.order_fields import deposit_arrived, route_of, shown_order
from swapdesk.flows.orders.order_history import Seen, Update, happened, seen_since, updates_of
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_sentence import order_head, pair_parts
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.request_lines import LoggedCall, concerns, logged_call
from swapdesk.flows.support.diagnosis import DeskFacts, Diagnosis, diagnose, status_for_support
from swapdesk.flows.support.paid_on_chain import NamedTransaction
from swapdesk.flows.support.replies import escalation, reply_to
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, Order

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.journal.ledger import Ledger
    from swapdesk.flows.support.order_search import OrderSearch

SILENT_SECONDS = 120
"""From so many seconds without an answer on, an open order may stand otherwise than it was last
heard of."""
MOST_STEPS = 6
QUIET = timedelta(minutes=5)
"""From so long on it is said that nothing new was heard."""


class CaseFacts(Struct, frozen=True):
    """All that is known of one order."""

    at: datetime
    """When it was looked at."""
    tracked: TrackedOrder
    made: tuple[OrderTransaction, ...] = ()
    seen: tuple[Seen, ...] = ()
    """Every different state that the journal kept, oldest first."""
    request_id: str | None = None
    """Of the create, where this desk made it."""
    known: DeskFacts = DeskFacts()
    calls: tuple[Exchange, ...] = ()
    """Requests of this run that concerned it."""
    named: tuple[NamedTransaction, ...] = ()
    """What its customer names and is not known to have paid it."""
    addresses: tuple[str, ...] = ()
    """What its customer names, could take a refund and is no address of the order."""
    found_by: str = ""
    """What it was searched for by: ``deposit address``."""

    def then(self, number: int) -> CaseFacts:
        """As they stood when the state ``number`` was seen; what else the desk knew then is not
        kept."""
        at, source, order = self.seen[number]
        now = self.tracked.order
        tracked = replace(
            self.tracked,
            # The history leaves tokens out, which never change.
            order=order.model_copy(update={"in_token": now.in_token, "out_token": now.out_token}),
            seen_at=at,
            source=source,
            ended=ended(display_of(order)),
            batch_payment=None,
            swap_payment=None,
            own_payment=None,
            away=None,
            payments=tuple(one for one in self.tracked.payments if one.seen_at <= at),
            gone=False,
            paid_at=self.tracked.paid_at if (self.tracked.paid_at or at) < at else None,
        )
        return CaseFacts(at, tracked, (), self.seen[: number + 1], self.request_id)


class SupportCase(Struct, frozen=True):
    """An order that was found, with its diagnosis: who owns it, who acts and by when, what it was
    concluded from, and what to write to the customer and to the service."""

    PRINTED: ClassVar = {
        "foundBy": "facts.found_by", "serviceId": "facts.tracked.service_id",
        "requestId": "facts.request_id", "diagnosis": "diagnosis", "reply": "reply",
        "escalation": "escalation", "updates": "updates", "order": "order",
    }  # fmt: skip
    MERGED: ClassVar = "diagnosis"

    facts: CaseFacts
    status: OrderStatus
    diagnosis: Diagnosis
    reply: str
    """To the customer, as it is sent."""
    escalation: str
    """To the service, as it is sent."""

    @property
    def updates(self) -> tuple[Update, ...]:
        return tuple(updates_of(self.facts.seen))

    @property
    def order(self) -> Order:
        """As the service told it, without the address where that is withheld."""
        tracked = self.facts.tracked
        return shown_order(tracked.order, withheld=tracked.withheld)


def support_case(facts: CaseFacts) -> SupportCase:
    tracked, now, made = facts.tracked, facts.at, facts.made
    found = diagnose(
        tracked,
        now,
        request_id=facts.request_id,
        since=seen_since(facts.seen),
        made=made,
        known=facts.known,
    )
    states = [
        (happened(order, at), at, display_of(order) or "no state") for at, _, order in facts.seen
    ]
    return SupportCase(
        facts=facts,
        status=status_for_support(tracked, now, made),
        diagnosis=found,
        reply=reply_to(
            tracked,
            found,
            now,
            made=made,
            seen=states,
            named=facts.named,
            addresses=facts.addresses,
        ),
        escalation=escalation(
            tracked,
            found,
            now,
            request_id=facts.request_id,
            made=made,
            seen=states,
            named=facts.named,
        ),
    )


def case_sentence(case: SupportCase) -> str:
    """The order as one line, with what its diagnosis says of it and nothing else."""
    found = case.diagnosis
    head = order_head(case.facts.tracked, case.status)
    return f"{head}: {found.cause} Money: {found.money} Next {found.acts}"


def facts_of(desk: Desk, service_id: str, search: OrderSearch | None = None) -> CaseFacts | None:
    """What this desk knows of an order of its journal, but for :func:`calls_about` it; ``search``
    is by which it was found, with what its customer named and chains have just shown. Raises
    JournalUnavailable."""
    tracked = desk.link.tracker.recall(service_id)
    if tracked is None:
        return None
    payment = search.payment_of(service_id) if search is not None else None
    if payment is not None and payment not in tracked.payments:
        same = (payment.hash, payment.token_id)
        others = (one for one in tracked.payments if (one.hash, one.token_id) != same)
        tracked = replace(tracked, payments=(*others, payment))
    journal = desk.journal
    return CaseFacts(
        desk.service_clock.now(),
        tracked,
        tuple(journal.orders.transactions_of(service_id)),
        tuple(journal.orders.history.of(service_id)),
        create_request(journal.ledger, service_id),
        desk_facts(desk, tracked),
        named=search.named(service_id) if search is not None else (),
        addresses=search.addresses(service_id) if search is not None else (),
        found_by=search.found.get(service_id, "") if search is not None else "",
    )


def create_request(ledger: Ledger, service_id: str) -> str | None:
    """The service's request id of the call that created an order; None for an order that was not
    created here, or where the service told none. Raises JournalUnavailable."""
    acts = ledger.where(
        "subject = ?1 AND kind IN ('create', 'call')"
        " OR id IN (SELECT parent FROM operation WHERE subject = ?1 AND kind = 'row')",
        service_id,
    )
    return next((str(name) for act in acts if (name := act.result.get("request_id"))), None)


def calls_about(desk: Desk, facts: CaseFacts) -> CaseFacts:
    """With the requests of this run that concerned the order, oldest first."""
    order = facts.tracked.order
    names = {name for name in (order.service_id, order.multi_id, facts.request_id) if name}
    return replace(facts, calls=tuple(call for call in desk.exchange_log if concerns(call, names)))


def desk_facts(desk: Desk, tracked: TrackedOrder) -> DeskFacts:
    """What stands in the way of knowing more."""
    link, now = desk.link, desk.service_clock.now()
    tracker = link.tracker
    offline = tracker.stream_state == "offline"
    silent = tracker.stream_since if offline and tracker.stream_age() > SILENT_SECONDS else None
    if silent is not None and (now - tracked.seen_at).total_seconds() < SILENT_SECONDS:
        silent = None
    code = tracked.order.in_
    off = next(
        (one.name for one in desk.catalog.providers if one.short_name == code and not one.enabled),
        None,
    )
    return DeskFacts(silent_since=silent, clock_problem=link.clock_problem(), provider_off=off)


def line_again(tracked: TrackedOrder, catalog: Catalog) -> str:
    """``0.49994 btc.bitcoin eth.ethereum``: a line for a new swap of what came back of an order
    that was refunded, or of what one asked for that expired unpaid. Empty for every other order,
    and where a token is no longer listed, or where a chain shows a payment."""
    order = tracked.order
    display = display_of(order)
    left = order.refund_amount if display == DisplayStatus.REFUNDED else None
    if display == DisplayStatus.EXPIRED and not deposit_arrived(order) and not tracked.payments:
        left = order.in_amount
    tokens = [
        resolve(token_id, catalog).token if token_id is not None else None
        for token_id in (order.in_token_id, order.out_token_id)
    ]
    if left is None or None in tokens:
        return ""
    names = (f"{token.symbol}.{token.chain}".lower() for token in tokens if token is not None)
    return f"{plain(left)} {' '.join(names)}"


# As texts alone


class CaseStep(Struct, frozen=True, rename="camel"):
    at: str
    """``13:24:02``, UTC."""
    level: str
    text: str


class CaseSheet(Struct, frozen=True, rename="camel"):
    """One order at one moment. Sentences have their points; nothing is left to be concluded."""

    order_id: str
    created: datetime | None
    route: str
    pair: tuple[tuple[str, bool], ...]
    """``0.5 BTC → 14.524108 ETH`` in parts; whether a part is an amount."""
    word: str
    """``On hold``."""
    sign: str
    level: str
    """What glyph and hue the state has."""
    stage: int
    stages: int
    signed: bool
    steps: tuple[CaseStep, ...]
    """The newest states, oldest first."""
    earlier: int
    """How many states came before these."""
    receiver: str | None
    memo: str | None
    refund: str | None
    request_id: str | None
    time: str
    """``41m of ~14m``; empty where no time is known."""
    late: bool
    archived: bool
    """Whether the service no longer answers for it."""
    rule: str
    certainty: str
    cause: str
    money: str
    place: str
    """The same as it follows the word Funds: ``0.5 BTC, held at Juniper.``"""
    owner: str
    acts: str
    by: str
    facts: tuple[str, ...]
    reply: tuple[str, ...]
    """Lines of the reply to the customer."""
    escalation: tuple[str, ...]
    """Lines of the text to the service."""

    @property
    def rests_on(self) -> str:
        return f"rule {self.rule}, {self.certainty}"

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """What is concluded, under its labels."""
        return ("Cause", self.cause), ("Money", self.money), ("Acts", self.acts), ("By", self.by)

    def facts_of_order(self, *, whole: bool = False) -> Iterator[CaseRow]:
        """Where it pays, and what else is known of it; ``whole`` where there is room for every
        character of an address."""
        # In a file it may be a name that stands for the address.
        pays, refund = self.receiver or "not told", self.refund or "none recorded"
        if self.receiver and pays.isalnum():
            pays = grouped_address(pays)
        if self.refund and refund.isalnum():
            refund = grouped_address(refund) if whole else short_address(refund)
        yield CaseRow("Payout", pays)
        if self.memo:
            yield CaseRow("Memo", self.memo)
        yield CaseRow("Refund", refund)
        yield CaseRow("Request", self.request_id or "not made at this desk")
        if self.time:
            yield CaseRow("Time", self.time, "status-trouble" if self.late else "")
        if self.archived:
            old = "older than 48 h: the service no longer answers for it"
            yield CaseRow("Known", old, "status-waiting")


class CaseRow(Struct, frozen=True):
    """``role`` is the one of the palette, where it is none of plain text."""

    label: str
    text: str
    role: str = ""


class CaseMoment(Struct, frozen=True, rename="camel"):
    """Something new was heard of the order ``at`` a time. ``written`` is when it happened; None in
    a file whose service did not say."""

    at: datetime
    source: str
    state: str
    level: str
    written: datetime | None
    changed: tuple[str, ...]
    sheet: CaseSheet

    @property
    def happened(self) -> datetime:
        return self.written or self.at


class CaseRecord(Struct, frozen=True, rename="camel"):
    """All that is shown of one order. Moments, and the requests that concerned it without their
    bodies, oldest first."""

    at: datetime
    """When it was looked at."""
    sheet: CaseSheet
    moments: tuple[CaseMoment, ...]
    calls: tuple[LoggedCall, ...]


class TimelineEntry(Struct, frozen=True):
    """One row of a time line. ``day`` is the label of its day where it is the first of it,
    ``quiet`` how long nothing was heard between it and the row before, which is a later one."""

    key: str
    """``update 3``, ``call 0``: of which kind it is, and which one of the record."""
    of: CaseMoment | LoggedCall
    at: datetime
    day: str
    quiet: str


def timeline(record: CaseRecord) -> Iterator[TimelineEntry]:
    """Updates and requests, newest first."""
    every: list[tuple[str, CaseMoment | LoggedCall, datetime]] = [
        *((f"call {at}", one, one.at) for at, one in enumerate(record.calls)),
        *((f"update {at}", one, one.happened) for at, one in enumerate(record.moments)),
    ]
    shown, later = "", None
    for key, one, at in sorted(every, key=lambda each: each[2])[::-1]:
        day, quiet = date(at, record.at), ""
        if isinstance(one, CaseMoment):
            if later is not None and later - at >= QUIET:
                quiet = f"nothing new for {duration((later - at).total_seconds())}"
            later = at
        yield TimelineEntry(key, one, at, day if day != shown else "", quiet)
        shown = day


def record_of(facts: CaseFacts) -> CaseRecord:
    updates = list(reversed(updates_of(facts.seen)))
    moments = tuple(
        CaseMoment(
            one.at,
            one.source,
            one.state,
            one.level,
            one.happened,
            one.changed,
            sheet_of(facts.then(number), updates[: number + 1]),
        )
        for number, one in enumerate(updates)
    )
    calls = tuple(map(logged_call, facts.calls))
    return CaseRecord(facts.at, sheet_of(facts, updates), moments, calls)


def sheet_of(facts: CaseFacts, updates: Sequence[Update] | None = None) -> CaseSheet:
    """``updates``, oldest first, where they are known."""
    if updates is None:
        updates = list(reversed(updates_of(facts.seen)))
    case, order = support_case(facts), facts.tracked.order
    status, found = case.status, case.diagnosis
    steps = tuple(
        CaseStep(clock_time(one.happened), one.level, one.state.replace("_", " ").lower())
        for one in updates[-MOST_STEPS:]
    )
    return CaseSheet(
        order_id=order.service_id,
        created=order.created,
        route=route_of(order),
        pair=pair_parts(facts.tracked),
        word=status.word,
        sign=status.sign,
        level=status.level,
        stage=status.stage,
        stages=len(status.stages),
        signed=not status.not_signed,
        steps=steps,
        earlier=max(0, len(updates) - MOST_STEPS),
        receiver=order.receiver_address,
        memo=order.receiver_tag,
        refund=order.refund_address,
        request_id=facts.request_id,
        time=status.time.text if status.time.text != NOTHING else "",
        late=status.time.late,
        archived=facts.tracked.archived(facts.at),
        rule=found.rule,
        certainty=found.certainty,
        cause=found.cause,
        money=found.money,
        place=f"{found.money[:1].lower()}{found.money[1:]}",
        owner=found.owner,
        acts=found.acts,
        by=found.by,
        facts=found.facts,
        reply=tuple(case.reply.splitlines()),
        escalation=tuple(case.escalation.splitlines()),
    )
