"""What support writes: a reply to the customer and an escalation to the service.

A reply says in plain words what happened, where the money is, what the customer must and must not
do, and what comes next. It promises nothing that the facts do not carry and never asks for a second
payment. It names an amount as paid only where a chain shows it. One text for each situation. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.notation import as_of, clock_time, iso, short_address
from swapdesk.flows.orders.deposit_destination import deposit_known, sent_otherwise
from swapdesk.flows.orders.order_fields import deposit_arrived, symbols
from swapdesk.flows.orders.order_status import order_words
from swapdesk.flows.orders.situations import Situation
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import Diagnosis, Owner, status_for_support
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import LegStatus

NO_SECRETS = "We never ask for a private key or a recovery phrase. Do not give them to anybody."
_NOT_AGAIN = "Do not send anything to this order any more."
_ASK_HASH = "If you have paid, send us the transaction hash."
_PASSED_ON = "We pass this on to the exchange service and write to you when we know more."
_WATCH = "You do not need to do anything. We keep an eye on it."
_WHERE_BACK = "Tell us the address of yours that a refund should go to."
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

NOT_FOUND_REPLY = (
    "We could not find an order by what you sent us. Send us the order id, or the transaction hash"
    " of your payment. Do not pay again meanwhile."
)
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
        _BATCH + " The time for that ran out, and the money is with us. " + _PASSED_ON
    ),
    Situation.DEADLINE_OVER: (
        "The time to pay your order ran out. " + _NOT_AGAIN + " If you sent nothing, your money is"
        " in your wallet. " + _ASK_HASH
    ),
    Situation.WITH_BATCH: _BATCH + " The money is with us until then. " + _WATCH,
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
        "Your order is complete: {got} arrived at {receiver}. That is less than was confirmed; the"
        " exchange service gives no reason."
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
        " amount once, to the address of your order. If you have paid, do not pay again;"
        " send us the transaction hash."
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
        "{got} arrived at {receiver}. The exchange service marked your order to be looked at all"
        " the same and gives no reason. " + _PASSED_ON
    ),
    Situation.PAID_BY_FALLBACK: "Your order is complete: {got} arrived at {receiver}. " + _DONE,
    Situation.REROUTED: (
        "Your order is complete: {got} arrived at {receiver}. One exchange could not finish, and"
        " another one did. " + _DONE
    ),
    Situation.PART_RETURNED: (
        "Your order is complete: {got} arrived at {receiver}. More was paid than the order asked"
        " for, and {back} went back{back_to}. " + _DONE
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
        "The exchange stopped part-way, and {back}, what you sent at first, went back{back_to}."
        "{refund} " + _NOT_AGAIN
    ),
    Situation.REFUNDED: (
        "The exchange was not carried out, and {back} went back{back_to}.{refund} " + _NOT_AGAIN
    ),
    Situation.DELETED_WITH_MONEY: (
        "The exchange service deleted your order after {yours} arrived. The money is with the"
        " exchange service.{where_back} " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.LAST_HEARD: (
        "We cannot read your order at the exchange service any more. When it was last read, at"
        " {as_of} UTC, {heard}. We ask the exchange service what became of it and write to you when"
        " we know more. " + _NOT_AGAIN + "{ask_hash}"
    ),
    Situation.PAYMENT_MISSING: (
        "{network} does not know the transaction of your payment: it was dropped, or another one"
        " took its place. Unless another one took it, the money is in your wallet."
        " Look at your wallet's transactions and tell us what you see before you pay anything."
    ),
    Situation.PAYMENT_FAILED: (
        "Your transaction was executed on {network} and failed. Nothing was paid by it; your money"
        " is in the wallet that sent it, and only the network fee was spent."
    ),
    Situation.PAYMENT_WRONG_CHAIN: (
        "Your {sent} arrived at the address, but on {network}, and the order asked for {asked}. The"
        " exchange cannot credit that by itself. " + _PASSED_ON + " " + _NOT_AGAIN
    ),
    Situation.PAYMENT_WRONG_TOKEN: (
        "Your {sent} arrived at the address of your order, which asked for {asked}. The exchange"
        " cannot credit that by itself. " + _PASSED_ON + " " + _NOT_AGAIN
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
        " order, which names no address for a refund. "
        + _WHERE_BACK
        + " "
        + _PASSED_ON
        + " "
        + _NOT_AGAIN
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


def reply_to(
    tracked: TrackedOrder,
    diagnosis: Diagnosis,
    now: datetime,
    *,
    made: Sequence[OrderTransaction] = (),
) -> str:
    """The reply, ready to be sent as it is; times are UTC."""
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
    words |= {
        "yours": yours,
        "sent": deposit.words if deposit is not None else "",
        "Yours": f"{yours[:1].upper()}{yours[1:]}",
        "where_back": "" if order.refund_address else f" {_WHERE_BACK}",
        "receiver": receiver,
        "back_to": back_to,
        "until": f" until {clock_time(status.deadline)} UTC" if left and status.deadline else "",
        "as_of": as_of(tracked.seen_at, now),
        "heard": f"{yours} had arrived and the exchange was not complete"
        if shown or deposit_arrived(order)
        else "no payment had been seen",
        "ask_hash": "" if shown or deposit_arrived(order) else f" {_ASK_HASH}",
        "refund": f" The transaction is {order.refund_hash}." if order.refund_hash else "",
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
    return f"{body[:1].upper()}{body[1:]}\n\n{NO_SECRETS}"


def escalation(
    tracked: TrackedOrder,
    diagnosis: Diagnosis,
    now: datetime,
    *,
    request_id: str | None = None,
    made: Sequence[OrderTransaction] = (),
    seen: Sequence[tuple[datetime, str]] = (),
) -> str:
    """What the service needs to find the order: ids, hashes and times. ``seen`` are the states
    that were seen, each with its time."""
    order = tracked.order
    sent, received = symbols(order, tracked.intent)
    address = order.deposit_address is not None and tracked.withheld is None
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
        f"Quoted {plain(order.quoted_out_amount)} {received}"
        if order.quoted_out_amount is not None
        else "",
        f"To pay out {plain(order.out_amount)} {received}" if order.out_amount is not None else "",
        f"State {display_of(order) or 'not given'}, {_legs(order.in_status, order.out_status)}",
        *(f"  seen {iso(at)} {state}" for at, state in seen),
        *(f"Transaction ({one.role}, {one.fate}) {one.hash}" for one in made),
        *(f"Chain shows {payment.said}, {payment.hash}" for payment in tracked.payments),
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
