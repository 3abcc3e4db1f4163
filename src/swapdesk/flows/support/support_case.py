"""Describes one order as support works on it: its diagnosis, the reply to the customer, and the
text to the service.

The texts come from the order's situation (``orders.situations``), so that all pages of the desk
agree. A reply promises nothing beyond the facts and never asks for a second payment. It names an
amount as paid only if a chain shows that amount. Pages and files render the same record, so that a
file shows what the desk showed.
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
    capital,
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
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain
from swapdesk.flows.orders.situations import (
    HIDDEN_REPLY,
    LAST_HEARD,
    NO_TIME,
    OF_PAYMENT,
    PAID_LESS,
    UNLESS_SENT,
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
"""Multiple of the expected time after which the advice is to ask the service."""
NO_REFUND_ADDRESS = "The order names no address for a refund."
_SUPPORT_ACT = "write to support"
SILENT_SECONDS = 120
"""Seconds without an answer of the service after which what is known of an open order may be
outdated."""
MOST_STEPS = 6
QUIET = timedelta(minutes=5)
"""Smallest gap between updates that the timeline mentions."""


Owner = Literal["the customer", "you", "the service", "the chain", "nobody"]
"""Who acts next, seen by support. ``you`` is the person who helps the customer."""


class DeskFacts(Struct, frozen=True):
    """Problems of the desk or the service that may affect the order. A field is None if there is no
    such problem."""

    silent_since: datetime | None = None
    clock_problem: str | None = None
    """A sentence that says that this machine's clock differs from the service's; None if it does
    not."""
    provider_off: str | None = None
    """The name of the order's provider if the service has switched that provider off; None if it
    has not."""


class CaseFacts(Struct, frozen=True):
    """What is known of one order at the time ``at``."""

    at: datetime
    tracked: TrackedOrder
    made: tuple[OrderTransaction, ...] = ()
    seen: tuple[Seen, ...] = ()
    """The states of the order that the journal kept, oldest first."""
    request_id: str | None = None
    """The id of the request that created the order; None if this desk did not create it."""
    known: DeskFacts = DeskFacts()
    calls: tuple[Exchange, ...] = ()
    """The requests that this run of the desk made about the order."""
    named: tuple[NamedTransaction, ...] = ()
    """Transactions that the customer named and that are not known to have paid the order."""
    addresses: tuple[str, ...] = ()
    """Addresses that the customer named and that a refund could go to. The order's own addresses
    are left out."""
    found_by: str = ""
    """The field by which the search found the order: ``deposit address``. Empty if it was opened
    without a search."""

    @property
    def status(self) -> OrderStatus:
        """What the order means to its customer, who need not know that this desk hides the deposit
        address."""
        tracked = self.tracked
        if tracked.standing is DepositRelease.FOREIGN and not tracked.in_batch:
            tracked = replace(tracked, withheld=None, standing=DepositRelease.RELEASED)
        return order_status(tracked, self.at, self.made)

    def then(self, number: int) -> CaseFacts:
        """Returns the facts that were known when the state ``seen[number]`` was received, as far as
        the journal recorded them."""
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
            payments=tuple(paid for paid in self.tracked.payments if paid.seen_at <= at),
            gone=False,
            paid_at=self.tracked.paid_at if (self.tracked.paid_at or at) < at else None,
        )
        return CaseFacts(at, tracked, (), self.seen[: number + 1], self.request_id)


# Why it is where it is


class Diagnosis(Struct, frozen=True):
    """What happened to an order, where its money is, and who acts next. Texts are sentences."""

    rule: str
    """The name of the situation or circumstance that the diagnosis is based on: ``held``,
    ``payment-wrong-token``, ``late``."""
    certainty: Certainty
    cause: str
    money: str
    owner: Owner
    acts: str
    """Who acts next, and how: ``you: pass it to the service with order h8Kq2P…, request 6f1d….``"""
    by: str
    facts: tuple[str, ...]
    """The facts that the diagnosis is based on, each with its value, source and time."""


def diagnose(facts: CaseFacts) -> Diagnosis:
    tracked, now, known = facts.tracked, facts.at, facts.known
    order, status = tracked.order, facts.status
    request = f", request {facts.request_id}" if facts.request_id else ""
    pass_on = f"pass it to the service with order {tracked.service_id}{request}"
    diagnosis = _of_situation(facts, status, pass_on)
    old = status.situation is LAST_HEARD
    ahead = old or status.situation in OF_PAYMENT
    private = tracked.intent is not None and tracked.intent.route == "private"
    if private and not order.anonymous and not ahead:
        diagnosis = _on_top(
            diagnosis,
            "not-private",
            "A private route was confirmed, and the service tells the order as one that is not"
            " private: whoever watches the chain may join both ends",
            "you",
            pass_on,
        )
    elif status.late_by is not None and status.situation.level == "moving" and not ahead:
        diagnosis = _overdue(diagnosis, status, known, pass_on)
    silent = known.silent_since
    if silent is not None and not status.closed and not old:
        diagnosis = _on_top(
            diagnosis,
            "service-silent",
            f"The service has not answered since {_moment(silent, now)}. What is said of the order"
            f" is what was heard last",
            "the service",
            "it answers again",
        )
    cause = f"{diagnosis.cause}."
    since = seen_since(facts.seen)
    if since is not None and not status.closed and not ahead:
        cause = f"{cause} It has been so since {_moment(since, now)}."
    if known.clock_problem is not None:
        cause = f"{cause} {known.clock_problem}"
    return replace(
        diagnosis,
        cause=capital(cause),
        money=capital(diagnosis.money),
        acts=f"{diagnosis.acts}.",
        by=f"{capital(diagnosis.by)}.",
    )


def _on_top(diagnosis: Diagnosis, rule: str, cause: str, owner: Owner, act: str) -> Diagnosis:
    return replace(
        diagnosis,
        rule=rule,
        certainty=Certainty.LIKELY,
        cause=f"{cause}. {diagnosis.cause}",
        owner=owner,
        acts=f"{owner}: {act}",
        by=NO_TIME,
    )


def _of_situation(facts: CaseFacts, status: OrderStatus, pass_on: str) -> Diagnosis:
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
    """Returns a text that was written for the customer, reworded for support: "your wallet" becomes
    "the customer's wallet"."""
    for yours, theirs in _CUSTOMER:
        text = text.replace(yours, theirs)
    return text


_CUSTOMER = (
    ("your wallet", "the customer's wallet"),
    ("if you sent nothing", "if nothing was sent"),
    ("the token you sent", "the token that was sent"),
    ("than you confirmed", "than was confirmed"),
)


def _unless_sent(status: OrderStatus) -> str:
    unpaid = status.reported is WAITING and status.money == WAITING.money
    return UNLESS_SENT if unpaid else status.money


def _owner(status: OrderStatus, tracked: TrackedOrder) -> Owner:
    if status.actor == "you":
        # A batch is paid from this desk.
        mine = tracked.in_batch or _SUPPORT_ACT in status.act
        return "you" if mine else "the customer"
    if status.actor == "whoever made it":
        return "the customer"
    # Any other name is that of a provider, which acts for the service.
    return next((owner for owner in get_args(Owner) if owner == status.actor), "the service")


def _overdue(
    diagnosis: Diagnosis, status: OrderStatus, known: DeskFacts, pass_on: str
) -> Diagnosis:
    passed, due = status.elapsed, status.expected
    if passed is not None and due is not None and passed >= due * MUCH_LATER:
        diagnosis = replace(diagnosis, owner="you", acts=f"you: {pass_on}")
    if known.provider_off is None:
        by = "the expected time has passed; the service names no other"
        return replace(diagnosis, rule="late", by=by)
    return replace(
        diagnosis,
        rule="provider-off",
        certainty=Certainty.LIKELY,
        cause=f"{known.provider_off} is switched off at the service. {diagnosis.cause}",
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
    lines = [
        f"displayStatus {status.display or 'not given'}, {heard}",
        f"leg state{'s' if len(status.legs) > 1 else ''} {legs}, {heard}",
        *(f"{name} true, {heard}" for name, value in flags.items() if value),
        f"expires {_moment(order.expires, now)}" if order.expires is not None else "",
        f"refund told, {heard}" if order.refund_hash or order.refund_amount is not None else "",
        *(
            f"the service names {sent.role} {sent.hash}"
            if sent.fate == "seen"
            else f"journal: {sent.fate} {sent.role} {sent.hash}"
            for sent in facts.made
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
    return tuple(filter(None, lines))


def _moment(at: datetime, now: datetime) -> str:
    same = at.date() == now.date()
    return f"{clock_time(at)} UTC" if same else f"{date(at, now)} {clock_time(at)} UTC"


# What is written of it


NOT_AGAIN = "Do not send anything to this order any more."
_IF_PAID = "If you have paid, send us the transaction hash."
_WHERE_BACK = "Tell us the address of yours that a refund should go to."
_BACK_THERE = "Is {} the address of yours that a refund should go to?"
_DONE = "Nothing is left to do."
_UNLESS_SENT = "If you sent nothing, your money is in your wallet."
_WITH_SERVICE = "The money is with the exchange service."
_SENTENCES = {
    "not_again": NOT_AGAIN,
    "new_swap": "You can start a new swap at any time.",
    "watch": "You do not need to do anything. We keep an eye on it.",
    "passed_on": PASSED_ON,
    "done": _DONE,
}
"""Sentences that are inserted in replies, by the names of their placeholders in the texts of
situations."""

_SENT_OTHERWISE = "You sent {sent}; your order asked for {asked}."
_OUT_OF_THAT = " The exchange carried that out, and {got} arrived at {receiver}. " + _DONE

_SILENT = "The exchange service does not answer at the moment; this is what we heard last. "
_OVERDUE = " It takes longer than expected; we are not told how long."
_NOT_PRIVATE = (
    "Your order was made as a private one, and the exchange service does not treat it as one. "
)


def reply_to(facts: CaseFacts, diagnosis: Diagnosis) -> str:
    """Returns the reply to the customer as text, ready to be sent. Times are in UTC."""
    tracked, now, status = facts.tracked, facts.at, facts.status
    order = tracked.order
    deposit = deposit_known(tracked, facts.made)
    asked = (
        status.facts["asked"] if order.in_amount is not None else "an amount that we are not told"
    )
    on_chain = deposit if deposit and not (deposit.failed or deposit.missing) else None
    # The service names what it asked for, not what came.
    paid = on_chain.words if on_chain is not None else "payment"
    yours = f"your {asked if order.is_dex else paid}"
    arrived = on_chain is not None or deposit_arrived(order)
    receiver = short_address(order.receiver_address) if order.receiver_address else "its receiver"
    back_to = f" to {short_address(order.refund_address)}" if order.refund_address else ""
    left = status.deadline is not None and status.deadline > now
    if_paid = " ".join(named.to_customer for named in facts.named) or _IF_PAID
    where_back = "" if order.refund_address else f" {_WHERE_BACK}"
    if where_back and len(facts.addresses) == 1:
        where_back = f" {_BACK_THERE.format(facts.addresses[0])}"
    failed = tracked.batch_payment is not None and tracked.batch_payment.problem
    words = {
        **status.facts,
        **_SENTENCES,
        "asked": asked,
        "yours": yours,
        "sent": deposit.words if deposit is not None else "",
        "Yours": capital(yours),
        "where_back": where_back,
        "stuck": f"{_WITH_SERVICE}{where_back} {PASSED_ON} {NOT_AGAIN}",
        "unless_sent": f"{NOT_AGAIN} {_UNLESS_SENT} {if_paid}",
        "receiver": receiver,
        "back_to": back_to,
        "until": f" until {clock_time(status.deadline)} UTC" if left and status.deadline else "",
        "as_of": as_of(tracked.seen_at, now),
        "beyond": tracked.beyond(now),
        "heard": f"{yours} had arrived and the exchange was not complete"
        if arrived
        else "no payment had been seen",
        "batch_failed": " That payment was not carried out." if failed else "",
        "hash": f" {deposit.hash}" if deposit is not None else "",
        "if_paid": if_paid,
        "ask_hash": "" if arrived else f" {if_paid}",
        "why_back": _why_back(facts, asked, deposit),
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
        capital(body),
        *_transaction("Transaction", order.out_token, payout_hash(order)),
        *_transaction("Transaction that went back", order.in_token, order.refund_hash),
    )
    return "\n".join((*lines, "", NO_SECRETS))


_SHORTEST_HASH = 32
"""Smallest length at which a text counts as a transaction hash. The mask of a hidden hash is
shorter."""


def _transaction(label: str, token: Token | None, hash_: str | None) -> tuple[str, ...]:
    """Returns a transaction's hash and, if the explorer's host is known, a link. Other links are
    left out, because a service could send the customer elsewhere. Empty without a hash."""
    if not hash_:
        return ()
    page = known_page(transaction_page(token, hash_)) if len(hash_) >= _SHORTEST_HASH else None
    return (f"{label}: {hash_}", page) if page else (f"{label}: {hash_}",)


def _why_back(facts: CaseFacts, asked: str, deposit: PaidOnChain | None) -> str:
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
    """Returns the text to send to the service about the order, with its ids, addresses, memos,
    hashes and times."""
    tracked = facts.tracked
    order = tracked.order
    sent, received = symbols(order, tracked.intent)
    # An address that is hidden because it was not confirmed here came from the service itself.
    named = tracked.withheld is None or tracked.standing is DepositRelease.FOREIGN
    address = order.deposit_address is not None and named
    payouts = (order.in_transaction_out_hash, order.out_transaction_out_hash)
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
        *(f"Transaction ({sent.role}, {sent.fate}) {sent.hash}" for sent in facts.made),
        *(f"Chain shows {payment.said}, {payment.hash}" for payment in tracked.payments),
        *(f"The customer names transaction {named.hash}: {named.said}" for named in facts.named),
        *(f"Payout {hash_}" for hash_ in payouts if hash_),
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
"""The question to the service: for an order that is open (False), and for one that ended (True)."""


def _legs(*statuses: int | None) -> str:
    names = {status.value: status.name.lower() for status in LegStatus}
    legs = [
        f"{status} {names.get(status, 'not known here')}"
        for status in statuses
        if status is not None
    ]
    return f"legs {', '.join(legs)}" if legs else "legs not given"


class SupportCase(Struct, frozen=True):
    """An order with its diagnosis, the reply to its customer and the text to send to the
    service."""

    PRINTED: ClassVar = {
        "foundBy": "facts.found_by", "serviceId": "facts.tracked.service_id",
        "requestId": "facts.request_id", "diagnosis": "diagnosis", "reply": "reply",
        "escalation": "escalation", "updates": "updates", "order": "order",
    }  # fmt: skip
    MERGED: ClassVar = "diagnosis"

    facts: CaseFacts
    diagnosis: Diagnosis
    reply: str
    escalation: str

    @classmethod
    def of(cls, facts: CaseFacts) -> SupportCase:
        diagnosis = diagnose(facts)
        return cls(facts, diagnosis, reply_to(facts, diagnosis), escalation(facts, diagnosis))

    @property
    def updates(self) -> tuple[Update, ...]:
        return tuple(updates_of(self.facts.seen))

    @property
    def order(self) -> Order:
        tracked = self.facts.tracked
        return shown_order(tracked.order, withheld=tracked.withheld)


def case_sentence(case: SupportCase) -> str:
    diagnosis = case.diagnosis
    head = order_head(case.facts.tracked, case.facts.status)
    return f"{head}: {diagnosis.cause} Money: {diagnosis.money} Next {diagnosis.acts}"


def facts_of(desk: Desk, service_id: str, search: OrderSearch | None = None) -> CaseFacts | None:
    """Returns what this desk knows of an order, except the API requests about the order. None if
    the journal does not have it. ``search`` adds what the customer and the chains named. Raises
    JournalUnavailable."""
    tracked = desk.link.tracker.recall(service_id)
    if tracked is None:
        return None
    payment = search.payment_of(service_id) if search is not None else None
    if payment is not None and payment not in tracked.payments:
        same = (payment.hash, payment.token_id)
        others = (paid for paid in tracked.payments if (paid.hash, paid.token_id) != same)
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
    """Returns the id of the API request that created an order. None if this desk did not create the
    order or has no id of the request. Raises JournalUnavailable."""
    acts = ledger.where(
        "subject = ?1 AND kind IN ('create', 'call')"
        " OR id IN (SELECT parent FROM operation WHERE subject = ?1 AND kind = 'row')",
        service_id,
    )
    return next((str(name) for act in acts if (name := act.result.get("request_id"))), None)


def calls_about(desk: Desk, facts: CaseFacts) -> CaseFacts:
    """Returns ``facts`` completed with the requests that this run of the desk made about the order,
    oldest first."""
    order = facts.tracked.order
    names = {name for name in (order.service_id, order.multi_id, facts.request_id) if name}
    return replace(facts, calls=tuple(call for call in desk.exchange_log if concerns(call, names)))


def desk_facts(desk: Desk, tracked: TrackedOrder) -> DeskFacts:
    link, now = desk.link, desk.service_clock.now()
    tracker = link.tracker
    offline = tracker.stream_state == "offline" and tracker.stream_age() > SILENT_SECONDS
    heard = (now - tracked.seen_at).total_seconds() < SILENT_SECONDS
    silent = tracker.stream_since if offline and not heard else None
    code = tracked.order.in_
    off = next(
        (
            provider.name
            for provider in desk.catalog.providers
            if provider.short_name == code and not provider.enabled
        ),
        None,
    )
    return DeskFacts(silent_since=silent, clock_problem=link.clock_problem(), provider_off=off)


def line_again(tracked: TrackedOrder, catalog: Catalog) -> str:
    """Returns the line with which a refund is swapped again or an order that expired unpaid is
    repeated: ``0.49994 btc.bitcoin eth.ethereum``. Empty for other orders, and if a chain shows a
    payment to the expired order."""
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
    """The time in UTC: ``13:24:02``."""
    level: str
    text: str


class CaseSheet(Struct, frozen=True, rename="camel"):
    """The texts about one order at one moment. Sentences end with a full stop."""

    order_id: str
    created: datetime | None
    route: str
    pair: tuple[tuple[str, bool], ...]
    """``0.5 BTC → 14.524108 ETH`` in parts, each with True if it is an amount."""
    word: str
    """The state in a few words: ``On hold``."""
    sign: str
    level: str
    stage: int
    stages: int
    signed: bool
    steps: tuple[CaseStep, ...]
    """The newest states of the order, oldest first."""
    earlier: int
    """Number of earlier states, which are not in ``steps``."""
    receiver: str | None
    memo: str | None
    refund: str | None
    request_id: str | None
    time: str
    """How long the order took and the expected time: ``41m of ~14m``. Empty if no time is known."""
    late: bool
    archived: bool
    """True if the order is too old for the service to answer requests about it."""
    rule: str
    certainty: str
    cause: str
    money: str
    place: str
    """The text of ``money`` without its leading capital, to follow the word Funds: ``0.5 BTC, held
    at Juniper.``"""
    owner: str
    acts: str
    by: str
    facts: tuple[str, ...]
    reply: tuple[str, ...]
    escalation: tuple[str, ...]

    @property
    def rests_on(self) -> str:
        return f"rule {self.rule}, {self.certainty}"

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        return ("Cause", self.cause), ("Money", self.money), ("Acts", self.acts), ("By", self.by)

    def facts_of_order(self, *, whole: bool = False) -> list[tuple[str, str, str]]:
        """Returns rows about the order, each with a label, a text, and a colour role (empty for
        plain text). ``whole`` shows the refund address in full."""
        # In a file it may be the mask of an address.
        pays, refund = self.receiver or "not told", self.refund or "none recorded"
        if self.receiver and pays.isalnum():
            pays = grouped_address(pays)
        if self.refund and refund.isalnum():
            refund = grouped_address(refund) if whole else short_address(refund)
        old = "older than 48 h: the service no longer answers for it" if self.archived else ""
        rows = (
            ("Payout", pays, ""),
            ("Memo", self.memo or "", ""),
            ("Refund", refund, ""),
            ("Request", self.request_id or "not made at this desk", ""),
            ("Time", self.time, "status-trouble" if self.late else ""),
            ("Known", old, "status-waiting"),
        )
        return [(label, text, role) for label, text, role in rows if text]


class CaseMoment(Struct, frozen=True, rename="camel"):
    """An update of the order. ``at`` is when this desk received it, ``written`` is the service's
    time of the update, if known. ``sheet`` has the texts as of ``at``."""

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
    """What pages and files show of one order. ``moments`` (updates) and ``calls`` (requests without
    their bodies) are sorted oldest first."""

    at: datetime
    sheet: CaseSheet
    moments: tuple[CaseMoment, ...]
    calls: tuple[LoggedCall, ...]


class TimelineEntry(Struct, frozen=True):
    """A row of the timeline, newest first. ``day`` is empty unless the row is the first of its day.
    ``quiet`` names a long time without news."""

    key: str
    """The kind of the row and its index in the record: ``update 3``, ``call 0``."""
    of: CaseMoment | LoggedCall
    at: datetime
    day: str
    quiet: str


def timeline(record: CaseRecord) -> Iterator[TimelineEntry]:
    entries: list[tuple[str, CaseMoment | LoggedCall, datetime]] = [
        *((f"call {at}", call, call.at) for at, call in enumerate(record.calls)),
        *((f"update {at}", moment, moment.happened) for at, moment in enumerate(record.moments)),
    ]
    shown, later = "", None
    for key, entry, at in sorted(entries, key=lambda entry: entry[2])[::-1]:
        day, quiet = date(at, record.at), ""
        if isinstance(entry, CaseMoment):
            if later is not None and later - at >= QUIET:
                quiet = f"nothing new for {duration((later - at).total_seconds())}"
            later = at
        yield TimelineEntry(key, entry, at, day if day != shown else "", quiet)
        shown = day


def record_of(facts: CaseFacts) -> CaseRecord:
    updates = list(reversed(updates_of(facts.seen)))
    moments = tuple(
        CaseMoment(
            update.at,
            update.source,
            update.state,
            update.level,
            update.happened,
            update.changed,
            sheet_of(facts.then(number), updates[: number + 1]),
        )
        for number, update in enumerate(updates)
    )
    calls = tuple(map(logged_call, facts.calls))
    return CaseRecord(facts.at, sheet_of(facts, updates), moments, calls)


def sheet_of(facts: CaseFacts, updates: Sequence[Update] | None = None) -> CaseSheet:
    """Returns the texts about the order at the moment of ``facts``. ``updates`` are the updates in
    ``facts.seen``, oldest first; if None, they are computed."""
    if updates is None:
        updates = list(reversed(updates_of(facts.seen)))
    case, order = SupportCase.of(facts), facts.tracked.order
    status, diagnosis = facts.status, case.diagnosis
    steps = tuple(
        CaseStep(clock_time(update.happened), update.level, update.state.replace("_", " ").lower())
        for update in updates[-MOST_STEPS:]
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
        rule=diagnosis.rule,
        certainty=diagnosis.certainty,
        cause=diagnosis.cause,
        money=diagnosis.money,
        place=f"{diagnosis.money[:1].lower()}{diagnosis.money[1:]}",
        owner=diagnosis.owner,
        acts=diagnosis.acts,
        by=diagnosis.by,
        facts=diagnosis.facts,
        reply=tuple(case.reply.splitlines()),
        escalation=tuple(case.escalation.splitlines()),
    )
