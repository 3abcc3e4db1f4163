"""One order as support works on it: what it is, why it is there, and what to write.

The situation of the order (``orders.situations``) gives the words, so that no line of a desk says
another thing. Beside it stands what is wrong with the service or the clock, and what an overdue
order means. Where the service gives no reason, amount or date, that is the diagnosis.

A reply says in plain words what happened, where the money is, what the customer must and must not
do, and what comes next. It promises nothing that the facts do not carry and never asks for a second
payment. It names an amount as paid only where a chain shows it.

What is shown of it to whoever helps its customer is texts alone. A sheet is one order at one
moment. A record is the sheet of now, one of each moment at which something new was heard, and the
requests between them. Pages and files render the same record, so that a file shows what the desk
showed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.display import known_page
from swapdesk.client.exchange_log import Exchange
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.notation import (
    NOTHING,
    as_of,
    clock_time,
    date,
    duration,
    grouped_address,
    iso,
    short_address,
)
from swapdesk.flows.orders.deposit_destination import deposit_known, sent_otherwise
from swapdesk.flows.orders.order_fields import (
    deposit_arrived,
    kept_by_provider,
    route_of,
    shown_order,
    symbols,
    transaction_page,
)
from swapdesk.flows.orders.order_history import Seen, Update, happened, seen_since, updates_of
from swapdesk.flows.orders.order_merge import display_of, ended, payout_hash
from swapdesk.flows.orders.order_sentence import order_head, pair_parts
from swapdesk.flows.orders.order_status import OrderStatus, order_status, order_words
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain
from swapdesk.flows.orders.situations import (
    HIDDEN_REPLY,
    LAST_HEARD,
    NO_TIME,
    OF_PAYMENT,
    PAID_LESS,
    WAITING,
    Certainty,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.request_lines import LoggedCall, concerns, logged_call
from swapdesk.flows.support.order_search import NO_SECRETS, PASSED_ON, NamedTransaction, OrderSearch
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.journal.ledger import Ledger

MUCH_LATER = 2
"""From so many times the expected time on, waiting longer is no advice."""
NO_REFUND_ADDRESS = "The order names no address for a refund."
_SUPPORT_ACT = "write to support"
SILENT_SECONDS = 120
"""From so many seconds without an answer on, an open order may stand otherwise than it was last
heard of."""
MOST_STEPS = 6
QUIET = timedelta(minutes=5)
"""From so long on it is said that nothing new was heard."""


Owner = Literal["the customer", "you", "the service", "the chain", "nobody"]
"""Who acts next, as support sees it: "you" is whoever helps the customer."""


class DeskFacts(Struct, frozen=True):
    """What this desk knows beside the order. Each is None where nothing is wrong."""

    silent_since: datetime | None = None
    """Since when the service has not answered."""
    clock_problem: str | None = None
    """A sentence: this machine's clock differs from the service's."""
    provider_off: str | None = None
    """The name of the order's provider, where the service says that it is switched off."""


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

    @property
    def status(self) -> OrderStatus:
        """What the order means to whoever helps its customer: that this desk would not pay an order
        of somebody else says nothing of it."""
        tracked = self.tracked
        if tracked.standing is DepositRelease.FOREIGN and not tracked.in_batch:
            tracked = replace(tracked, withheld=None, standing=DepositRelease.RELEASED)
        return order_status(tracked, self.at, self.made)

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


# Why it is where it is


class Diagnosis(Struct, frozen=True):
    """Sentences with their points; ``rule`` names what decided."""

    rule: str
    """``held``, ``payment-wrong-token``, ``late``."""
    certainty: Certainty
    cause: str
    money: str
    owner: Owner
    acts: str
    """``you: pass it to the service with order h8Kq2P…, request 6f1d….``"""
    by: str
    facts: tuple[str, ...]
    """What it was concluded from: each with its value, its source and its time."""


def diagnose(facts: CaseFacts) -> Diagnosis:
    tracked, now, known = facts.tracked, facts.at, facts.known
    order, status = tracked.order, facts.status
    request = f", request {facts.request_id}" if facts.request_id else ""
    pass_on = f"pass it to the service with order {tracked.service_id}{request}"
    found = _of_situation(facts, status, pass_on)
    old = status.situation is LAST_HEARD
    ahead = old or status.situation in OF_PAYMENT
    private = tracked.intent is not None and tracked.intent.route == "private"
    if private and not order.anonymous and not ahead:
        found = _on_top(
            found,
            "not-private",
            "A private route was confirmed, and the service tells the order as one that is not"
            " private: whoever watches the chain may join both ends",
            "you",
            pass_on,
        )
    elif status.late_by is not None and status.situation.level == "moving" and not ahead:
        found = _overdue(found, status, known, pass_on)
    silent = known.silent_since
    if silent is not None and not status.closed and not old:
        found = _on_top(
            found,
            "service-silent",
            f"The service has not answered since {_moment(silent, now)}. What is said of the order"
            f" is what was heard last",
            "the service",
            "it answers again",
        )
    cause = f"{found.cause}."
    since = seen_since(facts.seen)
    if since is not None and not status.closed and not ahead:
        cause = f"{cause} It has been so since {_moment(since, now)}."
    if known.clock_problem is not None:
        cause = f"{cause} {known.clock_problem}"
    return replace(
        found,
        cause=f"{cause[:1].upper()}{cause[1:]}",
        money=f"{found.money[:1].upper()}{found.money[1:]}",
        acts=f"{found.acts}.",
        by=f"{found.by[:1].upper()}{found.by[1:]}.",
    )


def _on_top(found: Diagnosis, rule: str, cause: str, owner: Owner, act: str) -> Diagnosis:
    """The same order with something that comes before what is the matter with it."""
    return replace(
        found,
        rule=rule,
        certainty=Certainty.LIKELY,
        cause=f"{cause}. {found.cause}",
        owner=owner,
        acts=f"{owner}: {act}",
        by=NO_TIME,
    )


def _of_situation(facts: CaseFacts, status: OrderStatus, pass_on: str) -> Diagnosis:
    """What the situation says, still without the points of its sentences."""
    tracked = facts.tracked
    cause = for_support(status.told.removesuffix("."))
    if status.situation.asks_where and tracked.order.refund_address is None:
        cause = f"{cause}. {NO_REFUND_ADDRESS.removesuffix('.')}"
    owner, act = _owner(status, tracked), status.act
    # A provider has a name of its own.
    actor = status.actor if owner == "the service" else owner
    if owner == "you" and not tracked.in_batch:
        act = f"if it was paid, {pass_on}" if act.startswith("if you paid") else pass_on
    return Diagnosis(
        rule=status.situation.code.replace(" ", "-"),
        certainty=status.certainty,
        cause=cause,
        # A batch is paid from this desk.
        money=status.money if tracked.in_batch else for_support(_unless_sent(status)),
        owner=owner,
        acts=f"{actor}: {act}",
        by=status.by,
        facts=_shown_facts(facts, status),
    )


def for_support(text: str) -> str:
    """A sentence about an order, for whoever helps: "you" is its customer."""
    for said, told in _CUSTOMER:
        text = text.replace(said, told)
    return text


_CUSTOMER = (
    ("your wallet", "the customer's wallet"),
    ("if you sent nothing", "if nothing was sent"),
    ("the token you sent", "the token that was sent"),
    ("than you confirmed", "than was confirmed"),
)


def _unless_sent(status: OrderStatus) -> str:
    """That the service saw no deposit does not tell that none was sent."""
    if status.said is WAITING and status.money == WAITING.money:
        return "in your wallet, if you sent nothing."
    return status.money


def _owner(status: OrderStatus, tracked: TrackedOrder) -> Owner:
    if status.actor == "you":
        # What a batch waits for is done at this desk.
        mine = tracked.in_batch or _SUPPORT_ACT in status.act
        return "you" if mine else "the customer"
    if status.actor == "whoever made it":
        return "the customer"
    # Any other name is a provider's, which acts for the service.
    return next((owner for owner in get_args(Owner) if owner == status.actor), "the service")


def _overdue(found: Diagnosis, status: OrderStatus, known: DeskFacts, pass_on: str) -> Diagnosis:
    """An order under way is over the time that the service expected."""
    passed, due = status.elapsed, status.expected
    if passed is not None and due is not None and passed >= due * MUCH_LATER:
        found = replace(found, owner="you", acts=f"you: {pass_on}")
    if known.provider_off is None:
        by = "the expected time has passed; the service names no other"
        return replace(found, rule="late", by=by)
    return replace(
        found,
        rule="provider-off",
        certainty=Certainty.LIKELY,
        cause=f"{known.provider_off} is switched off at the service. {found.cause}",
        by=NO_TIME,
    )


def _shown_facts(facts: CaseFacts, status: OrderStatus) -> tuple[str, ...]:
    tracked, now, known = facts.tracked, facts.at, facts.known
    order = tracked.order
    heard = f"{tracked.source} {_moment(tracked.seen_at, now)}"
    legs = " and ".join(str(leg) if leg is not None else "not given" for leg in status.legs)
    flags = {
        "actionRequired": order.action_required,
        "nonRefundable": order.non_refundable,
        "rerouted": order.rerouted,
    }
    silent = known.silent_since
    archived = tracked.archived(now)
    said = [
        f"displayStatus {status.display or 'not given'}, {heard}",
        f"leg state{'s' if len(status.legs) > 1 else ''} {legs}, {heard}",
        *(f"{name} true, {heard}" for name, value in flags.items() if value),
        f"expires {_moment(order.expires, now)}" if order.expires is not None else "",
        f"refund told, {heard}" if order.refund_hash or order.refund_amount is not None else "",
        *(
            f"the service names {one.role} {one.hash}"
            if one.fate == "seen"
            else f"journal: {one.fate} {one.role} {one.hash}"
            for one in facts.made
        ),
        *(
            f"chain: {paid.said}, {_moment(paid.at, now)}, {paid.hash}"
            if paid.at is not None
            else f"chain: {paid.said}, {paid.hash}"
            for paid in tracked.payments
        ),
        f"no answer of the service since {_moment(silent, now)}" if silent is not None else "",
        "older than the 48 hours that the service answers for" if archived else "",
        "the service did not know the order when it was asked last"
        if tracked.gone and not archived
        else "",
    ]
    return tuple(filter(None, said))


def _moment(at: datetime, now: datetime) -> str:
    same = at.date() == now.date()
    return f"{clock_time(at)} UTC" if same else f"{date(at, now)} {clock_time(at)} UTC"


# What is written of it


_IF_PAID = "If you have paid, send us the transaction hash."
_WHERE_BACK = "Tell us the address of yours that a refund should go to."
_BACK_THERE = "Is {} the address of yours that a refund should go to?"
_DONE = "Nothing is left to do."
_SENTENCES = {
    "not_again": "Do not send anything to this order any more.",
    "watch": "You do not need to do anything. We keep an eye on it.",
    "passed_on": PASSED_ON,
    "done": _DONE,
}
"""What any reply may say, under the names that the texts of situations have for it."""

_SENT_OTHERWISE = "You sent {sent}; your order asked for {asked}."
_OUT_OF_THAT = " The exchange carried that out, and {got} arrived at {receiver}. " + _DONE

_SILENT = "The exchange service does not answer at the moment; this is what we heard last. "
_OVERDUE = " It takes longer than expected; we are not told how long."
_NOT_PRIVATE = (
    "Your order was made as a private one, and the exchange service does not treat it as one. "
)


def reply_to(facts: CaseFacts, diagnosis: Diagnosis) -> str:
    """The reply, ready to be sent as it is; times are UTC."""
    tracked, now, status = facts.tracked, facts.at, facts.status
    order = tracked.order
    deposit = deposit_known(tracked, facts.made)
    words = order_words(order, tracked.intent, status.said, now, None, deposit)
    if order.in_amount is None:
        words["asked"] = "an amount that we are not told"
    shown = deposit is not None and not deposit.failed and not deposit.missing
    if order.is_dex:
        yours = f"your {words['asked']}"
    else:
        # The service names what it asked for, not what came.
        yours = f"your {deposit.words}" if shown and deposit is not None else "your payment"
    receiver = short_address(order.receiver_address) if order.receiver_address else "its receiver"
    back_to = f" to {short_address(order.refund_address)}" if order.refund_address else ""
    left = status.deadline is not None and status.deadline > now
    if_paid = " ".join(one.to_customer for one in facts.named) or _IF_PAID
    where_back = _WHERE_BACK
    if len(facts.addresses) == 1:
        where_back = _BACK_THERE.format(facts.addresses[0])
    failed = tracked.batch_payment is not None and tracked.batch_payment.problem
    words |= _SENTENCES | {
        "yours": yours,
        "sent": deposit.words if deposit is not None else "",
        "Yours": f"{yours[:1].upper()}{yours[1:]}",
        "where_back": "" if order.refund_address else f" {where_back}",
        "receiver": receiver,
        "back_to": back_to,
        "until": f" until {clock_time(status.deadline)} UTC" if left and status.deadline else "",
        "as_of": as_of(tracked.seen_at, now),
        "beyond": tracked.beyond(now),
        "heard": f"{yours} had arrived and the exchange was not complete"
        if shown or deposit_arrived(order)
        else "no payment had been seen",
        "batch_failed": " That payment was not carried out." if failed else "",
        "hash": f" {deposit.hash}" if deposit is not None else "",
        "if_paid": if_paid,
        "ask_hash": "" if shown or deposit_arrived(order) else f" {if_paid}",
        "why_back": _why_back(facts, words["asked"], deposit),
    }
    text = status.situation.reply
    if diagnosis.rule == "not-private" and not deposit_arrived(order):
        text = HIDDEN_REPLY
    other = deposit is not None and deposit_arrived(order) and sent_otherwise(order, deposit)
    if other and status.situation is not LAST_HEARD:
        text = _SENT_OTHERWISE + (_OUT_OF_THAT if status.situation is PAID_LESS else f" {text}")
    body = text.format_map(words)
    if diagnosis.rule == "not-private":
        body = f"{_NOT_PRIVATE}{body} {PASSED_ON}"
    if diagnosis.rule in ("late", "provider-off"):
        passed_on = f" {PASSED_ON}" if diagnosis.owner == "you" else ""
        body = f"{body}{_OVERDUE}{passed_on}"
    if diagnosis.rule == "service-silent":
        body = f"{_SILENT}{body}"
    lines = (
        f"Order {order.service_id}",
        f"{body[:1].upper()}{body[1:]}",
        *_transaction("Transaction", order.out_token, payout_hash(order)),
        *_transaction("Transaction that went back", order.in_token, order.refund_hash),
    )
    return "\n".join((*lines, "", NO_SECRETS))


_SHORTEST_HASH = 32
"""Characters; a name that stands for a masked one has fewer."""


def _transaction(label: str, token: Token | None, hash_: str | None) -> tuple[str, ...]:
    """The hash, and its page on a line of its own. A page stands there only where its host is an
    explorer's: a service must not bring a page of its own before a customer."""
    if not hash_:
        return ()
    page = known_page(transaction_page(token, hash_)) if len(hash_) >= _SHORTEST_HASH else None
    return (f"{label}: {hash_}", page) if page else (f"{label}: {hash_}",)


def _why_back(facts: CaseFacts, asked: str, deposit: PaidOnChain | None) -> str:
    """Why a payment went back, as far as that is known; part of a sentence. Of a refund the
    service says no reason."""
    order = facts.tracked.order
    late = any(display_of(seen) == DisplayStatus.EXPIRED for _, _, seen in facts.seen)
    if deposit is not None and deposit.at is not None and order.expires is not None:
        late = late or deposit.at > order.expires
    if late:
        return ": it came after the time to pay had run out"
    if deposit is not None and sent_otherwise(order, deposit):
        return ": it was not what the order asked for"
    if order.refund_amount is None:
        return "; the exchange service does not say how much, and gives no reason"
    missing = kept_by_provider(order)
    less = f"; the order asked for {asked}" if missing else ""
    return f"{less}. The exchange service gives no reason"


def escalation(facts: CaseFacts, diagnosis: Diagnosis) -> str:
    """What the service needs to find the order: ids, addresses, memos, hashes and times."""
    tracked = facts.tracked
    order = tracked.order
    sent, received = symbols(order, tracked.intent)
    # What is hidden because this desk did not confirm it is the service's own word to it.
    told = tracked.withheld is None or tracked.standing is DepositRelease.FOREIGN
    address = order.deposit_address is not None and told
    lines = [
        f"Order {order.service_id}",
        f"Record id {order.id}" if order.id else "",
        f"Group {order.multi_id}" if order.multi_id else "",
        f"Create request {facts.request_id}"
        if facts.request_id
        else "Create request: not made at this desk",
        f"Provider {order.swap_name or order.in_}" if order.swap_name or order.in_ else "",
        f"Created {iso(order.created)}" if order.created is not None else "",
        f"Deposit due {iso(order.expires)}" if order.expires is not None else "",
        f"Deposit address {order.deposit_address}" if address else "",
        f"Deposit memo {order.deposit_tag}" if address and order.deposit_tag else "",
        f"Refund address {order.refund_address}" if order.refund_address else "",
        f"Asked for {plain(order.in_amount)} {sent}" if order.in_amount is not None else "",
        f"Receiver {order.receiver_address}" if order.receiver_address else "",
        f"Receiver memo {order.receiver_tag}" if order.receiver_tag else "",
        f"Quoted {plain(order.quoted_out_amount)} {received}"
        if order.quoted_out_amount is not None
        else "",
        f"To pay out {plain(order.out_amount)} {received}" if order.out_amount is not None else "",
        f"State {display_of(order) or 'not given'}, {_legs(order.in_status, order.out_status)}",
        *(
            f"  {iso(happened(seen, at))} {display_of(seen) or 'no state'}, seen {iso(at)}"
            for at, _, seen in facts.seen
        ),
        *(f"Transaction ({one.role}, {one.fate}) {one.hash}" for one in facts.made),
        *(f"Chain shows {payment.said}, {payment.hash}" for payment in tracked.payments),
        *(f"The customer names transaction {one.hash}: {one.said}" for one in facts.named),
        f"Payout {order.in_transaction_out_hash}" if order.in_transaction_out_hash else "",
        f"Payout {order.out_transaction_out_hash}" if order.out_transaction_out_hash else "",
        f"Refund {order.refund_hash}" if order.refund_hash else "",
        f"Finding ({diagnosis.rule}, {diagnosis.certainty}): {diagnosis.cause}",
        f"Money: {diagnosis.money}",
        f"Asked: {_ASKED[ended(display_of(order))]}",
        f"Written {iso(facts.at)}",
    ]
    return "\n".join(line for line in lines if line)


_ASKED = {
    False: "what the order waits for, who has to act, and until when.",
    True: "whether this is its last state, and how each amount of it came about.",
}
"""Of an order that goes on, and of one that ended."""


def _legs(*statuses: int | None) -> str:
    known = {status.value: status.name.lower() for status in LegStatus}
    told = [
        f"{status} {known.get(status, 'not known here')}"
        for status in statuses
        if status is not None
    ]
    return f"legs {', '.join(told)}" if told else "legs not given"


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
    diagnosis: Diagnosis
    reply: str
    """To the customer, as it is sent."""
    escalation: str
    """To the service, as it is sent."""

    @classmethod
    def of(cls, facts: CaseFacts) -> SupportCase:
        found = diagnose(facts)
        return cls(facts, found, reply_to(facts, found), escalation(facts, found))

    @property
    def updates(self) -> tuple[Update, ...]:
        return tuple(updates_of(self.facts.seen))

    @property
    def order(self) -> Order:
        """As the service told it, without the address where that is withheld."""
        tracked = self.facts.tracked
        return shown_order(tracked.order, withheld=tracked.withheld)


def case_sentence(case: SupportCase) -> str:
    """The order as one line, with what its diagnosis says of it and nothing else."""
    found = case.diagnosis
    head = order_head(case.facts.tracked, case.facts.status)
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
    offline = tracker.stream_state == "offline" and tracker.stream_age() > SILENT_SECONDS
    heard = (now - tracked.seen_at).total_seconds() < SILENT_SECONDS
    silent = tracker.stream_since if offline and not heard else None
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

    def facts_of_order(self, *, whole: bool = False) -> list[CaseRow]:
        """Where it pays, and what else is known of it; ``whole`` where there is room for every
        character of an address."""
        # In a file it may be a name that stands for the address.
        pays, refund = self.receiver or "not told", self.refund or "none recorded"
        if self.receiver and pays.isalnum():
            pays = grouped_address(pays)
        if self.refund and refund.isalnum():
            refund = grouped_address(refund) if whole else short_address(refund)
        old = "older than 48 h: the service no longer answers for it" if self.archived else ""
        rows = (
            CaseRow("Payout", pays),
            CaseRow("Memo", self.memo or ""),
            CaseRow("Refund", refund),
            CaseRow("Request", self.request_id or "not made at this desk"),
            CaseRow("Time", self.time, "status-trouble" if self.late else ""),
            CaseRow("Known", old, "status-waiting"),
        )
        return [row for row in rows if row.text]


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
    case, order = SupportCase.of(facts), facts.tracked.order
    status, found = facts.status, case.diagnosis
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
