"""What support writes: a reply to the customer and an escalation to the service.

A reply says in plain words what happened, where the money is, what the customer must and must not
do, and what comes next. It promises nothing that the facts do not carry and never asks for a second
payment. It names an amount as paid only where a chain shows it. One text for each situation. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.chain.addresses.display import known_page
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal_records import PaidOnChain
from swapdesk.flows.journal.order_merge import display_of, ended, payout_hash
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.notation import as_of, clock_time, iso, short_address
from swapdesk.flows.orders.deposit_destination import deposit_known, sent_otherwise
from swapdesk.flows.orders.order_fields import (
    deposit_arrived,
    kept_by_provider,
    symbols,
    transaction_page,
)
from swapdesk.flows.orders.order_status import order_words
from swapdesk.flows.orders.situations import Situation
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import Diagnosis, Owner, status_for_support
from swapdesk.flows.support.paid_on_chain import NamedTransaction
from swapdesk.flows.support.pasted_text import PastedText, ReadAs
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from swapdesk.wire.tokens import Token

NO_SECRETS = "We never ask for a private key or a recovery phrase. Do not give them to anybody."
_NOT_AGAIN = "Do not send anything to this order any more."
_ASK_HASH = "{if_paid}"
"""The hash is asked for, unless the customer named one."""
_IF_PAID = "If you have paid, send us the transaction hash."
_PASSED_ON = "We pass this on to the exchange service and write to you when we know more."
_WATCH = "You do not need to do anything. We keep an eye on it."
_WHERE_BACK = "Tell us the address of yours that a refund should go to."
_BACK_THERE = "Is {} the address of yours that a refund should go to?"
_DONE = "Nothing is left to do."

_EXCHANGING = "{Yours} arrived and is being exchanged by {holder}. " + _WATCH + " Do not pay twice."
_BATCH = (
    "Your order over {asked} belongs to a payment of ours that covers several orders at once."
    " Do not pay it yourself."
)
_HIDDEN = (
    "Do not pay this order: we are comparing what the exchange service made of it with what"
    " was asked for. If you sent nothing, your money is in your wallet. We write to you when that"
    " is settled."
)
_STUCK = (
    "{Yours} arrived, but the exchange could not be finished. The money is with the exchange"
    " service.{where_back} " + _PASSED_ON + " " + _NOT_AGAIN
)

_SENT_OTHERWISE = "You sent {sent}; your order asked for {asked}."
_OUT_OF_THAT = " The exchange carried that out, and {got} arrived at {receiver}. " + _DONE

SECRET_REPLY = (
    "Your message held a private key or a recovery phrase. We did not keep it, and we never ask for"
    " one. Whoever has read it can take your money: move it to a new wallet now, and do not use the"
    " old one any more. To find your order we need its id or the transaction hash alone."
)

REPLIES: dict[Situation, str] = {
    Situation.NOT_SIGNED_YET: (
        "The transaction of your swap has not been signed yet, so {yours} has not left your"
        " wallet. You can sign it{until}, or let it run out."
    ),
    Situation.NOT_SIGNED: (
        "The transaction of your swap was not signed. Nothing was paid, and {yours} is in your"
        " wallet. You can start a new swap at any time."
    ),
    Situation.REVERTED: (
        "The transaction of your swap was executed on the chain and failed. {Yours} is in your"
        " wallet; only the network fee was spent. You can start a new swap at any time."
    ),
    Situation.NOT_EXECUTED: (
        "The transaction of your swap was not executed and cannot be any more. {Yours} is in"
        " your wallet. You can start a new swap at any time."
    ),
    Situation.EXECUTED: (
        "The transaction of your swap was executed on the chain, and {got} is on its way to"
        " {receiver}. The exchange service has not noted it yet. " + _WATCH
    ),
    Situation.BATCH_UNDER_WAY: _BATCH + " The payment is on its way. " + _WATCH,
    Situation.PAID_BY_BATCH: _BATCH + " The payment is at the address of the order. " + _WATCH,
    Situation.CHAIN_DEADLINE_OVER: (
        "The time for your swap ran out before its transaction was seen. If it was not executed,"
        " {yours} is in your wallet. Do not sign it any more. " + _ASK_HASH
    ),
    Situation.BATCH_DEADLINE_OVER: (
        _BATCH + "{batch_failed} The time for that ran out, and the money is with us. " + _PASSED_ON
    ),
    Situation.DEADLINE_OVER: (
        "The time to pay your order ran out. " + _NOT_AGAIN + " If you sent nothing, your money is"
        " in your wallet. " + _ASK_HASH
    ),
    Situation.WITH_BATCH: _BATCH + "{batch_failed} The money is with us until then. " + _WATCH,
    Situation.WITHHELD_FOREIGN: (
        "We are waiting for the payment of {asked} for your order{until}. Pay only to the"
        " address that you were given when you made the order, and only once. " + _ASK_HASH
    ),
    Situation.WITHHELD_UNREPEATED: (
        "Your order over {asked} was just made and its address is being checked. Wait for it"
        " and pay nothing yet; the money is in your wallet."
    ),
    Situation.WITHHELD_LOWER: (
        "The rate fell before your order was paid: it would pay out {got}. Do not pay it"
        " unless you agree to that; without a payment it closes by itself, and your money stays in"
        " your wallet."
    ),
    Situation.WITHHELD: _HIDDEN,
    Situation.PAID_BY_DESK: (
        "{Yours} was sent and is on its way to the exchange service, which has not"
        " noted it yet. Do not pay again. " + _WATCH
    ),
    Situation.PAID_LESS: (
        "Your order is complete: {got} arrived at {receiver}. That is less than was"
        " confirmed; the exchange service gives no reason."
    ),
    Situation.NOT_SAID: (
        "We do not know the state of your order over {asked} yet and are asking the exchange"
        " service. Do not pay it now. " + _ASK_HASH
    ),
    Situation.HELD: (
        "{Yours} arrived. {Holder} is checking the payment and holds the money meanwhile. We"
        " are not told what the check asks for. " + _PASSED_ON + " Do not pay again."
    ),
    Situation.FLAGGED: (
        "Your order over {asked} needs a person to look at it. We are not told why. The money is"
        " with the exchange service. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.LEG_FAILED: (
        "{Holder} could not finish your order. {Yours} is with the exchange service, which has"
        " still to say how it goes on: by another exchange, or back to you. " + _NOT_AGAIN
    ),
    Situation.LEG_RETURNED: (
        "{Holder} returned {yours}. It is on its way back{back_to}; the exchange service has not"
        " told us the transaction yet. " + _NOT_AGAIN
    ),
    Situation.LEG_FAILED_UNPAID: (
        "The exchange failed before a payment was seen, and your order is being closed. "
        + _NOT_AGAIN
        + " If you sent nothing, your money is in your wallet. "
        + _ASK_HASH
    ),
    Situation.LEG_EXPIRED: (
        "No payment was seen in time, and your order is being closed. " + _NOT_AGAIN + " If you"
        " sent nothing, your money is in your wallet. " + _ASK_HASH
    ),
    Situation.FALLBACK_PAYING: (
        "{Holder} did not finish your order, and the exchange service pays {got} by another way."
        " It is on its way to {receiver}. " + _WATCH
    ),
    Situation.CHAIN_AWAITED: (
        "The transaction of your swap has not been seen on the chain yet. Until it is executed,"
        " {yours} is in your wallet. Do not sign it a second time. " + _ASK_HASH
    ),
    Situation.DEPOSIT_AHEAD: (
        "{Yours} was seen and is being confirmed. " + _WATCH + " Do not pay again."
    ),
    Situation.SETTING_UP: (
        "Your order over {asked} is being set up and has no address yet. Pay nothing before"
        " you are given one; the money is in your wallet."
    ),
    Situation.WAITING: (
        "We are waiting for your payment of {asked}{until}. If you have not paid, pay exactly this"
        " amount once, to the address of your order. Do not pay twice. " + _ASK_HASH
    ),
    Situation.CHAIN_SEEN: "Your swap of {asked} was seen on the chain and is being confirmed. "
    + _WATCH,
    Situation.DEPOSIT_SEEN: (
        "{Yours} was seen and is being confirmed by the network. " + _WATCH + " Do not pay again."
    ),
    Situation.EXCHANGING: _EXCHANGING,
    Situation.TO_MIDDLE: _EXCHANGING,
    Situation.AT_MIDDLE: _EXCHANGING,
    Situation.SECOND_STARTS: _EXCHANGING,
    Situation.SECOND_EXCHANGE: _EXCHANGING,
    Situation.PAYING_OUT: ("The exchange is done and {got} is on its way to {receiver}. " + _WATCH),
    Situation.UNKNOWN_STATE: (
        "Your order over {asked} is in a state that we do not know and are asking the exchange"
        " service about. Do not pay now. " + _ASK_HASH
    ),
    Situation.COMPLETED_FLAGGED: (
        "{got} arrived at {receiver}. The exchange service marked your order to be looked"
        " at all the same and gives no reason. " + _PASSED_ON
    ),
    Situation.PAID_BY_FALLBACK: ("Your order is complete: {got} arrived at {receiver}. " + _DONE),
    Situation.REROUTED: (
        "Your order is complete: {got} arrived at {receiver}. One exchange could not"
        " finish, and another one did. " + _DONE
    ),
    Situation.PART_RETURNED: (
        "Your order is complete: {got} arrived at {receiver}. More was paid than the order"
        " asked for, and {back} went back{back_to}. " + _DONE
    ),
    Situation.COMPLETED: "Your order is complete: {got} arrived at {receiver}. " + _DONE,
    Situation.NOT_REFUNDABLE: (
        "{Yours} arrived, but the exchange did not finish. The money is with the exchange service,"
        " which says that a refund is not possible any more. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.LATE_STUCK: (
        "{Yours} came after the time for it had run out. The money is with the"
        " exchange service.{where_back} " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.LATE_RETURNING: (
        "{Yours} came after the time for it had run out. It is with the exchange"
        " service, which sends it back{back_to}. We are not told when. " + _NOT_AGAIN
    ),
    Situation.CHAIN_EXPIRED: (
        "Your swap was not executed in time and is closed. If its transaction was not executed,"
        " {yours} is in your wallet. You can start a new swap at any time."
    ),
    Situation.FAILED_STUCK: _STUCK,
    Situation.FAILED_RETURNING: (
        "{Yours} arrived, but the exchange could not be finished. It is with the exchange service,"
        " which sends it back{back_to}. We are not told when. " + _NOT_AGAIN
    ),
    Situation.CHAIN_FAILED: (
        "Your swap failed on the chain or was never executed there. {Yours} is in your wallet;"
        " at most the network fee was spent. You can start a new swap at any time."
    ),
    Situation.NEVER_SET_UP: (
        "Your order could not be set up and never had an address, so nothing could be paid."
        " Your money is in your wallet. You can start a new order at any time."
    ),
    Situation.EXPIRED: (
        "No payment came in time, and your order is closed. " + _NOT_AGAIN + " If you sent nothing,"
        " your money is in your wallet. " + _ASK_HASH
    ),
    Situation.FAILED_BEFORE: (
        "Your order failed before a payment arrived. " + _NOT_AGAIN + " If you sent nothing,"
        " your money is in your wallet. " + _ASK_HASH
    ),
    Situation.FAILED_UNCLEAR: (
        "Your order failed, and the exchange service does not say whether a payment arrived. If you"
        " sent nothing, your money is in your wallet; else it is with the exchange service. "
        + _NOT_AGAIN
        + " "
        + _ASK_HASH
    ),
    Situation.REFUNDED_FIRST_TOKEN: (
        "The exchange stopped part-way, and {back}, what you sent at first, went back{back_to}"
        "{why_back}. " + _NOT_AGAIN
    ),
    Situation.REFUNDED: (
        "The exchange was not carried out, and {back} went back{back_to}{why_back}. " + _NOT_AGAIN
    ),
    Situation.DELETED_WITH_MONEY: (
        "The exchange service deleted your order after {yours} arrived. The money is with the"
        " exchange service.{where_back} " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.LAST_HEARD: (
        "The exchange service does not tell us of your order any more: {beyond}. When it was last"
        " read, at {as_of} UTC, {heard}. We ask the exchange service what became of it and write to"
        " you when we know more. " + _NOT_AGAIN + "{ask_hash}"
    ),
    Situation.PAYMENT_MISSING: (
        "{network} does not know the transaction{hash} of your payment: it never went out, was"
        " dropped, or another one took its place. Unless another one took it, the money is in your"
        " wallet. Look at your wallet's transactions and tell us what you see before you pay"
        " anything."
    ),
    Situation.PAYMENT_FAILED: (
        "Your transaction was executed on {network} and failed. Nothing was paid by it; your money"
        " is in the wallet that sent it, and only the network fee was spent."
    ),
    Situation.PAYMENT_WRONG_CHAIN: (
        "Your {sent} arrived at the address, but on {network}, and the order asked for {asked_on}."
        " The exchange cannot credit that by itself. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_WRONG_TOKEN: (
        "Your {sent} on {network} arrived at the address of your order, which asked for {asked_on}."
        " The exchange cannot credit that by itself. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_MEMO_MISSING: (
        "Your {sent} arrived at the address without the memo that your order names, so the exchange"
        " cannot tell that it is yours. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_ANOTHER_MEMO: (
        "Your {sent} arrived at the address with another memo than your order names, so the"
        " exchange cannot tell that it is yours. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_UNDERPRICED: (
        "Your payment waits because its network fee is below what {network} asks for."
        " Until then the money is in your wallet, which can raise the fee of the same transaction."
        " Do not pay a second time."
    ),
    Situation.PAYMENT_NOT_IN_A_BLOCK: (
        "Your payment of {sent} is on its way: {network} had not confirmed it when we looked. Do"
        " not pay again. " + _WATCH
    ),
    Situation.PAYMENT_CLOSED_BEFORE: (
        "Your payment of {sent} is not confirmed by {network} yet, and your order is closed. Until"
        " it is confirmed, the money is in your wallet. If your wallet can cancel the payment,"
        " cancel it. " + _NOT_AGAIN
    ),
    Situation.PAYMENT_LATE_STUCK: (
        "Your {sent} arrived after the time to pay had run out. It is at the address of your"
        " order, which names no address for a refund.{where_back} " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_CLOSED_WITHOUT: (
        "Your {sent} arrived at the address of your order, and the order was closed without it. "
        + _PASSED_ON
        + " "
        + _NOT_AGAIN
    ),
    Situation.PAYMENT_LATE: (
        "Your {sent} arrived after the time to pay had run out. It is at the address of your order."
        " The exchange service has still to say what it does with it. " + _NOT_AGAIN
    ),
    Situation.PAYMENT_TOO_LITTLE: (
        "Your {sent} arrived at the address of your order, which asked for {asked}. The exchange"
        " service has still to say whether it exchanges that or sends it back. " + _NOT_AGAIN
    ),
    Situation.PAYMENT_TOO_MUCH: (
        "Your {sent} arrived at the address of your order, which asked for {asked}. The exchange"
        " service has still to say what it does with the rest. " + _NOT_AGAIN
    ),
    Situation.PAYMENT_AS_ASKED: (
        "Your {sent} arrived at the address of your order. The exchange service has not noted it"
        " yet. Do not pay again. " + _WATCH
    ),
    Situation.DELETED: (
        "Your order was deleted. " + _NOT_AGAIN + " If you sent nothing, your money is in your"
        " wallet. " + _ASK_HASH
    ),
}
"""What is written in each situation. A new situation without a text fails its test."""

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
        "ask_hash": "" if shown or deposit_arrived(order) else f" {if_paid}",
        "why_back": _why_back(order, words["asked"], deposit, seen),
    }
    text = REPLIES[status.situation]
    if diagnosis.rule == "not-private" and not deposit_arrived(order):
        text = _HIDDEN
    other = deposit is not None and deposit_arrived(order) and sent_otherwise(order, deposit)
    if other and status.situation is not Situation.LAST_HEARD:
        text = _SENT_OTHERWISE + (
            _OUT_OF_THAT if status.situation is Situation.PAID_LESS else f" {text}"
        )
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
