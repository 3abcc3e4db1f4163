"""What support writes: a reply to the customer and an escalation to the service.

A reply says in plain words what happened, where the money is, what the customer must and must not
do, and what comes next. It promises nothing that the facts do not carry and never asks for a second
payment. It names an amount as paid only where a chain shows it. Each situation has its text in
``orders.situations``. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.chain.addresses.display import known_page
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.notation import as_of, clock_time, iso, short_address
from swapdesk.flows.orders.deposit_destination import deposit_known, sent_otherwise
from swapdesk.flows.orders.order_fields import (
    deposit_arrived,
    kept_by_provider,
    symbols,
    transaction_page,
)
from swapdesk.flows.orders.order_merge import display_of, ended, payout_hash
from swapdesk.flows.orders.order_status import order_words
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain
from swapdesk.flows.orders.situations import HIDDEN_REPLY, LAST_HEARD, PAID_LESS
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import Diagnosis, Owner, status_for_support
from swapdesk.flows.support.paid_on_chain import NamedTransaction
from swapdesk.flows.support.pasted_text import PastedText, ReadAs
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from swapdesk.wire.tokens import Token

NO_SECRETS = "We never ask for a private key or a recovery phrase. Do not give them to anybody."
_NOT_AGAIN = "Do not send anything to this order any more."
_IF_PAID = "If you have paid, send us the transaction hash."
_PASSED_ON = "We pass this on to the exchange service and write to you when we know more."
_WATCH = "You do not need to do anything. We keep an eye on it."
_WHERE_BACK = "Tell us the address of yours that a refund should go to."
_BACK_THERE = "Is {} the address of yours that a refund should go to?"
_DONE = "Nothing is left to do."

_SENT_OTHERWISE = "You sent {sent}; your order asked for {asked}."
_OUT_OF_THAT = " The exchange carried that out, and {got} arrived at {receiver}. " + _DONE

SECRET_REPLY = (
    "Your message held a private key or a recovery phrase. We did not keep it, and we never ask for"
    " one. Whoever has read it can take your money: move it to a new wallet now, and do not use the"
    " old one any more. To find your order we need its id or the transaction hash alone."
)

_SILENT = "The exchange service does not answer at the moment; this is what we heard last. "
_OVERDUE = " It takes longer than expected; we are not told how long."
_NOT_PRIVATE = (
    "Your order was made as a private one, and the exchange service does not treat it as one. "
)


SeenState = tuple[datetime, datetime, str]
"""When a state began, when it was seen, and its name."""


def reply_to(
    tracked: TrackedOrder,
    diagnosis: Diagnosis,
    now: datetime,
    *,
    made: Sequence[OrderTransaction] = (),
    seen: Sequence[SeenState] = (),
    named: Sequence[NamedTransaction] = (),
    addresses: Sequence[str] = (),
) -> str:
    """The reply, ready to be sent as it is; times are UTC. ``seen`` are the states that were seen.
    ``named`` are transactions that the customer names and that are not known
    to have paid the order, ``addresses`` such that could take a refund and the order does not
    have."""
    order = tracked.order
    status = status_for_support(tracked, now, made)
    deposit = deposit_known(tracked, made)
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
    if_paid = " ".join(map(named_words, named)) or _IF_PAID
    where_back = _WHERE_BACK if len(addresses) != 1 else _BACK_THERE.format(addresses[0])
    failed = tracked.batch_payment is not None and tracked.batch_payment.problem
    words |= {
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
        "not_again": _NOT_AGAIN,
        "passed_on": _PASSED_ON,
        "watch": _WATCH,
        "done": _DONE,
        "ask_hash": "" if shown or deposit_arrived(order) else f" {if_paid}",
        "why_back": _why_back(order, words["asked"], deposit, seen),
    }
    text = status.situation.reply
    if diagnosis.rule == "not-private" and not deposit_arrived(order):
        text = HIDDEN_REPLY
    other = deposit is not None and deposit_arrived(order) and sent_otherwise(order, deposit)
    if other and status.situation is not LAST_HEARD:
        text = _SENT_OTHERWISE + (_OUT_OF_THAT if status.situation is PAID_LESS else f" {text}")
    body = text.format_map(words)
    if diagnosis.rule == "not-private":
        body = f"{_NOT_PRIVATE}{body} {_PASSED_ON}"
    if diagnosis.rule in ("late", "provider-off"):
        passed_on = f" {_PASSED_ON}" if diagnosis.owner is Owner.SUPPORT else ""
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


def _why_back(
    order: Order, asked: str, deposit: PaidOnChain | None, seen: Sequence[SeenState]
) -> str:
    """Why a payment went back, as far as that is known; part of a sentence. Of a refund the
    service says no reason."""
    late = any(state == DisplayStatus.EXPIRED for *_, state in seen)
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


def named_words(named: NamedTransaction) -> str:
    """A transaction that a customer named, in sentences to the customer."""
    if named.payments:
        paid = named.payments[0]
        if paid.failed:
            return f"Your transaction {named.hash} was executed on {paid.chain_name} and failed."
        return (
            f"Your transaction {named.hash} on {paid.chain_name} paid {paid.words} to"
            f" {short_address(paid.to)}, which is the address of no order that we know."
        )
    if named.asked:
        return (
            f"None of the networks that we can ask knows the transaction {named.hash}. Look at your"
            " wallet: did it go out, and on which network?"
        )
    return f"You name the transaction {named.hash}; we ask the exchange service about it."


def not_found_reply(
    pasted: PastedText, named: Sequence[NamedTransaction], *, whole: bool = True
) -> str:
    """What is written where nothing was found. What the customer gave is not asked for again.
    ``whole``: every place was searched."""
    ids, lacks = whole_ids(pasted), lacking(pasted)
    why = "it is older than we can read, or it was not made with us"
    if not whole:
        why = "we cannot look everywhere at the moment and do so again"
    said = [f"We do not find the order {name}: {why}." for name in ids]
    said += map(named_words, named)
    if not said:
        said.append("We could not find an order by what you sent us.")
    if lacks:
        asked = f"Send us {' or '.join(lacks)}."
        said.append(asked if not ids else f"If you have paid, {asked[:1].lower()}{asked[1:]}")
    if ids or named:
        said.append(_PASSED_ON)
    return f"{' '.join((*said, 'Do not pay again meanwhile.'))}\n\n{NO_SECRETS}"


def lacking(pasted: PastedText) -> tuple[str, ...]:
    """What would find an order and is not in the text."""
    begun = bool(pasted.of(ReadAs.ID))
    wanted = {
        "the whole order id" if begun else "the order id": whole_ids(pasted),
        "the transaction hash of your payment": pasted.of(ReadAs.TRANSACTION),
    }
    return tuple(name for name, given in wanted.items() if not given)


WHOLE_ID = 12
"""Characters from which on an id is taken for a whole one."""


def whole_ids(pasted: PastedText) -> list[str]:
    return [one.value for one in pasted.of(ReadAs.ID) if len(one.value) >= WHOLE_ID]


def not_found_escalation(
    pasted: PastedText,
    named: Sequence[NamedTransaction],
    searched: Sequence[tuple[str, str]],
    now: datetime,
) -> str:
    """What the service needs to look for what a customer names; ``searched`` are the places and
    what each answered."""
    hashes = {one.hash for one in named}
    lines = (
        "No order was found by what the customer names:",
        *(f"  {one.called}: {one.value}" for one in pasted.readings if one.value not in hashes),
        *(f"  transaction {one.hash}: {one.said}" for one in named),
        "Searched:",
        *(f"  {place}: {said}" for place, said in searched),
        "Asked: whether there is such an order, whose it is, and what became of it.",
        f"Written {iso(now)}",
    )
    return "\n".join(lines)


def escalation(
    tracked: TrackedOrder,
    diagnosis: Diagnosis,
    now: datetime,
    *,
    request_id: str | None = None,
    made: Sequence[OrderTransaction] = (),
    seen: Sequence[SeenState] = (),
    named: Sequence[NamedTransaction] = (),
) -> str:
    """What the service needs to find the order: ids, addresses, memos, hashes and times. ``seen``
    and ``named`` as of :func:`reply_to`."""
    order = tracked.order
    sent, received = symbols(order, tracked.intent)
    # What is hidden because this desk did not confirm it is the service's own word to it.
    told = tracked.withheld is None or tracked.standing is DepositRelease.FOREIGN
    address = order.deposit_address is not None and told
    lines = [
        f"Order {order.service_id}",
        f"Record id {order.id}" if order.id else "",
        f"Group {order.multi_id}" if order.multi_id else "",
        f"Create request {request_id}" if request_id else "Create request: not made at this desk",
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
        *(f"  {iso(began)} {state}, seen {iso(at)}" for began, at, state in seen),
        *(f"Transaction ({one.role}, {one.fate}) {one.hash}" for one in made),
        *(f"Chain shows {payment.said}, {payment.hash}" for payment in tracked.payments),
        *(f"The customer names transaction {one.hash}: {one.said}" for one in named),
        f"Payout {order.in_transaction_out_hash}" if order.in_transaction_out_hash else "",
        f"Payout {order.out_transaction_out_hash}" if order.out_transaction_out_hash else "",
        f"Refund {order.refund_hash}" if order.refund_hash else "",
        f"Finding ({diagnosis.rule}, {diagnosis.certainty}): {diagnosis.cause}",
        f"Money: {diagnosis.money}",
        f"Asked: {_ASKED_CLOSED if ended(display_of(order)) else _ASKED_OPEN}",
        f"Written {iso(now)}",
    ]
    return "\n".join(line for line in lines if line)


_ASKED_OPEN = "what the order waits for, who has to act, and until when."
_ASKED_CLOSED = "whether this is its last state, and how each amount of it came about."


def _legs(*statuses: int | None) -> str:
    known = {status.value: status.name.lower() for status in LegStatus}
    told = [
        f"{status} {known.get(status, 'not known here')}"
        for status in statuses
        if status is not None
    ]
    return f"legs {', '.join(told)}" if told else "legs not given"
