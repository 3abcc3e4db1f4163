"""The table of the situations that an order can be in, one row for each, with their conditions and
texts.

The first row whose condition is met is taken. The upper part of the table is for what this desk
knows before the service does, the lower part for the service's state; every order is in exactly one
row of the lower part (contract 8.4 to 8.16). Rows without a condition are chosen by name. Texts are
templates; they promise nothing and say so if the service gives no reason, amount or date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context
from enum import StrEnum
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.flows.failure_messages import Level
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.orders.order_fields import deposit_arrived, on_hold
from swapdesk.flows.orders.order_merge import PROGRESS, display_of, ended
from swapdesk.flows.orders.order_transactions import PaidOnChain
from swapdesk.flows.orders.payment_progress import QUOTE_AGAIN, SwapFailure
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

Sign = Literal["waiting", "moving", "done", "trouble", "failed", "back", "expired", "unknown"]
"""The name of the glyph before the word of a state."""
HUES: Mapping[str, str] = {
    "waiting": "status-waiting",
    "moving": "status-moving",
    "done": "status-done",
    "trouble": "status-trouble",
    "failed": "status-trouble",
    "back": "status-waiting",
    "expired": "muted",
    "unknown": "muted",
}
"""By :data:`Sign`, the colour role of the palette for a glyph and its word."""


class Certainty(StrEnum):
    """How certain the cause in a status is: stated by the service, inferred, or not known."""

    CERTAIN = "certain"
    LIKELY = "likely"
    NOT_KNOWN = "not known"


class Situation(Struct, frozen=True, eq=False):
    """A situation of an order, with its condition and its texts. If a text is None, the text for
    the service's state is used."""

    code: str
    """The row's name in the journal and in JSON: ``failed stuck``."""

    states: tuple[str | None, ...]
    """The displayed states in which the row may apply. :data:`OTHER` stands for any unknown
    state."""
    when: Callable[[Order], bool] | None
    """A further condition; None if the row does not depend on the service's state alone."""
    word: str
    """The state in a few words that fit a table cell: ``On hold``."""
    level: Level
    cause: str
    """What happened, as a sentence without its full stop: ``The payout is on its way``."""
    money: str | None
    """Where the money is, to be shown after the word Funds, with a full stop: ``in your
    wallet.``"""
    actor: str
    """Who acts next: ``you``, ``the service``, ``nobody``."""
    act: str
    """What the actor does: ``send the deposit``."""
    by: str | None
    """The time by which the actor acts: ``before 14:32:11``."""
    reply: str
    """Support's reply to the customer. It assures nothing and asks for no second payment."""
    certainty: Certainty = Certainty.CERTAIN
    sign: Sign | None = None
    """The name of the glyph; None for the glyph that belongs to the level."""
    known: Callable[[Knowledge], bool] | None = None
    """The condition of a row for which this desk must know more than the service."""
    until_deadline: bool = False
    """True if the situation lasts until the order's deadline."""
    settled: bool = False
    """True if no note about the possibility of a refund is added."""
    stranded: bool = False
    """True if the order ended and money is, or may be, stuck with the service until the user
    acts."""
    asks_where: bool = False
    """True if the support diagnosis mentions that the order names no refund address."""
    own: bool = False
    """True if the situation results from what this desk did, so that it applies whatever the
    service reports."""

    @property
    def lasts(self) -> bool:
        """True if the situation stays true once the service can no longer be asked about the
        order."""
        return self.own or (self.settled and not self.stranded)


class Knowledge(Struct, frozen=True):
    """What this desk knows of an order, including the service's state. :func:`known_better` derives
    a situation from it."""

    reported: Situation
    """The row that follows from the service's state."""
    display: str | None
    late: bool
    """True if the order waits for a deposit and its deadline has passed."""
    hidden: bool
    """True if the order's deposit address is withheld and the reason is shown."""
    over: bool
    """True if the order's deadline has passed and its address was not refused for good."""
    standing: DepositRelease
    in_batch: bool
    batch: State | None
    in_account: bool
    """True if the money for the order's unpaid batch is in the owner's smart account."""
    swap: State | None
    swap_failure: SwapFailure | None
    paid: bool
    """True if this desk sent the deposit and the service has not seen it."""
    pays_less: bool
    """True if the order paid noticeably less than the quoted amount."""

    @property
    def closing(self) -> bool:
        return self.over or self.display == DisplayStatus.EXPIRED

    def withheld(self, standing: DepositRelease) -> bool:
        return self.hidden and self.standing is standing


OTHER = ""
"""Stands for every displayed state that this desk does not know."""

_OPEN: tuple[str | None, ...] = (*PROGRESS, OTHER)
_WAITING = (DisplayStatus.WAITING_FOR_DEPOSIT,)
_NOT_PAID_YET = (DisplayStatus.WAITING_FOR_DEPOSIT, None)
_DETECTED = (DisplayStatus.DEPOSIT_DETECTED,)
_DONE = (DisplayStatus.SWAP_COMPLETED,)
_BACK = (DisplayStatus.REFUNDED,)
_EXPIRED = (DisplayStatus.EXPIRED,)
_FAILED = (DisplayStatus.FAILED,)
_GONE = (DisplayStatus.DELETED,)
_ANY = (*_OPEN, None, *_DONE, *_BACK, *_EXPIRED, *_FAILED, *_GONE)

PAY_BATCH = "pay the batch; b shows it"
NO_TIME = "the service names no time"
_NO_DEADLINE = "no deadline is known"
_NOTHING = "nothing is due"
_SUPPORT = "write to support with order {name}"

# Who acts, how, and until when.
_BY_SUPPORT = ("you", _SUPPORT, _NO_DEADLINE)
_AGAIN = ("you", QUOTE_AGAIN, _NOTHING)
_OVER = ("nobody", "nothing is left to do", _NOTHING)
_CLOSING = ("the service", "it closes the order", NO_TIME)
_RETURNING = ("the service", "it sends the deposit back", NO_TIME)
_OF_BATCH = ("{batch_money}", "{batch_actor}", "{batch_act}")
_PAYING_OUT = ("{holder}", "it exchanges and pays out", "{expected}")

# Where the money is.
UNLESS_SENT = "in your wallet, if you sent nothing."
_IN_WALLET = "in your wallet."
_AT_ADDRESS = "{paid} at the deposit address on {network}."
_TO_HOLDER = "{amount}on its way to {holder}."
_WITH_SERVICE = "{amount}with the service."
_PAID_OUT = "{got} arrived at {recipient}."

_COMPLETE = "Your order is complete: {got} arrived at {receiver}. "
_LIKELY = Certainty.LIKELY
_NOT_KNOWN = Certainty.NOT_KNOWN
_LEG_STATUSES = frozenset(LegStatus)

_EXCHANGING = "{Yours} arrived and is being exchanged by {holder}. {watch} Do not pay twice."
_BATCH = (
    "Your order over {asked} belongs to a payment of ours that covers several orders at once."
    " Do not pay it yourself."
)
HIDDEN_REPLY = (
    "Do not pay this order: we are comparing what the exchange service made of it with what"
    " was asked for. If you sent nothing, your money is in your wallet. We write to you when that"
    " is settled."
)
_STUCK = "{Yours} arrived, but the exchange could not be finished. {stuck}"


def _always(order: Order) -> bool:
    return True


def _flagged(order: Order) -> bool:
    return bool(order.action_required)


def _on_chain(order: Order) -> bool:
    return bool(order.is_dex)


def _chain_unseen(order: Order) -> bool:
    return _on_chain(order) and not deposit_arrived(order)


def _no_address(order: Order) -> bool:
    return order.deposit_address is None


def _leg(status: LegStatus) -> Callable[[Order], bool]:
    return lambda order: status in (order.in_status, order.out_status)


def _leg_broke(order: Order) -> bool:
    broke = LegStatus.FAILED, LegStatus.EXPIRED
    return deposit_arrived(order) and any(_leg(status)(order) for status in broke)


def _part_returned(order: Order) -> bool:
    return bool(order.refund_hash) or order.refund_amount is not None


def _private_fixed(order: Order) -> bool:
    return order.anonymous is True and order.fixed is True


def _arrived_for_good(order: Order) -> bool:
    return bool(order.non_refundable) and deposit_arrived(order)


def _arrived_and_stuck(order: Order) -> bool:
    stuck = order.action_required or order.refund_address is None
    return bool(stuck) and deposit_arrived(order)


def _leg_known(order: Order) -> bool:
    return order.in_status in _LEG_STATUSES


# fmt: off
_TABLE: tuple[Situation, ...] = (
    # The service can no longer be asked; the texts are those of its last answer.
    Situation(
        "last heard", _ANY, None, "As of {as_of}", "waiting",
        "As of {as_of} UTC: {told}. The service cannot be asked about this order any more:"
        " {beyond}",
        "as of {as_of} UTC, {money}", *_BY_SUPPORT,
        certainty=_NOT_KNOWN, sign="unknown",
        reply=(
            "The exchange service does not tell us of your order any more: {beyond}. When it was"
            " last read, at {as_of} UTC, {heard}. We ask the exchange service what became of it"
            " and write to you when we know more. {not_again}{ask_hash}"
        ),
    ),
    # What a chain shows of the deposit before the service has seen it.
    Situation(
        "payment missing", _ANY, None, "Payment missing", "trouble",
        "{network} does not know the payment that was sent: it never went out, was dropped, or"
        " another transaction took its place",
        "in the wallet that sent it, unless another transaction took it.",
        "you", "look at the wallet's transactions; nothing was paid by this one", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "{network} does not know the transaction{hash} of your payment: it never went out,"
            " was dropped, or another one took its place. Unless another one took it, the money"
            " is in your wallet. Look at your wallet's transactions and tell us what you see"
            " before you pay anything."
        ),
    ),
    Situation(
        "payment failed", _ANY, None, "Payment failed", "trouble",
        "The payment was executed on {network} and failed; nothing was paid by it",
        "in the wallet that sent it, but for the network fee.",
        "you", "look at the wallet; the order is unpaid", NO_TIME,
        reply=(
            "Your transaction was executed on {network} and failed. Nothing was paid by it; your"
            " money is in the wallet that sent it, and only the network fee was spent."
        ),
    ),
    Situation(
        "payment wrong chain", _ANY, None, "Wrong chain", "trouble",
        "{Paid} was sent on {network}; the order asked for {asked_on}. An exchange does not see a"
        " payment on another chain by itself",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} arrived at the address, but on {network}, and the order asked for"
            " {asked_on}. The exchange cannot credit that by itself. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment wrong token", _ANY, None, "Wrong token", "trouble",
        "{Paid} was sent on {network}; the order asked for {asked_on}. An exchange does not credit"
        " another token by itself",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} on {network} arrived at the address of your order, which asked for"
            " {asked_on}. The exchange cannot credit that by itself. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment memo missing", _ANY, None, "Memo missing", "trouble",
        "{Paid} was sent without the memo that the order names, so the exchange cannot tell whose"
        " it is",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} arrived at the address without the memo that your order names, so the"
            " exchange cannot tell that it is yours. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment another memo", _ANY, None, "Another memo", "trouble",
        "{Paid} was sent with another memo than the order names, so the exchange cannot tell whose"
        " it is",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} arrived at the address with another memo than your order names, so the"
            " exchange cannot tell that it is yours. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment underpriced", _ANY, None, "Fee too low", "trouble",
        "The payment waited at {looked} UTC, and its network fee was below what a block of"
        " {network} cost",
        "in the wallet that sent it, until the payment is in a block.",
        "you", "raise the fee of the same transaction, or wait; do not pay a second time", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "Your payment waits because its network fee is below what {network} asks for. Until"
            " then the money is in your wallet, which can raise the fee of the same transaction."
            " Do not pay a second time."
        ),
    ),
    Situation(
        "payment not in a block", _ANY, None, "Not in a block", "moving",
        "The payment of {paid} was not in a block of {network} at {looked} UTC",
        "on its way to the deposit address.",
        "the chain", "it takes the payment into a block", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "Your payment of {sent} is on its way: {network} had not confirmed it when we looked."
            " Do not pay again. {watch}"
        ),
    ),
    Situation(
        "payment closed before", _ANY, None, "Closed before", "trouble",
        "The payment of {paid} was not in a block of {network} at {looked} UTC, and the order is"
        " closed",
        "in the wallet that sent it, until the payment is in a block.",
        "you", "cancel the transaction, where the wallet can; do not pay a second time", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "Your payment of {sent} is not confirmed by {network} yet, and your order is closed."
            " Until it is confirmed, the money is in your wallet. If your wallet can cancel the"
            " payment, cancel it. {not_again}"
        ),
    ),
    Situation(
        "payment late stuck", _ANY, None, "Came too late", "trouble",
        "{Paid} arrived on {network} after the deadline of the order. The order names no address"
        " for a refund",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} arrived after the time to pay had run out. It is at the address of your"
            " order, which names no address for a refund.{where_back} {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment late", _ANY, None, "Came too late", "trouble",
        "{Paid} arrived on {network} after the deadline of the order",
        _AT_ADDRESS, *_RETURNING, certainty=_LIKELY,
        reply=(
            "Your {sent} arrived after the time to pay had run out. It is at the address of your"
            " order. The exchange service has still to say what it does with it. {not_again}"
        ),
    ),
    Situation(
        "payment closed without", _ANY, None, "Closed without it", "trouble",
        "{Paid} arrived on {network}, and the order was closed as one that was not paid",
        _AT_ADDRESS, *_BY_SUPPORT, certainty=_LIKELY, stranded=True,
        reply=(
            "Your {sent} arrived at the address of your order, and the order was closed without"
            " it. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "payment too little", _ANY, None, "Too little came", "trouble",
        "{Paid} arrived on {network}, less than the {asked_on} that the order asked for; the"
        " service has not said what it does with it",
        _AT_ADDRESS, "the service", "it exchanges what came, or sends it back", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "Your {sent} arrived at the address of your order, which asked for {asked}. The"
            " exchange service has still to say whether it exchanges that or sends it back."
            " {not_again}"
        ),
    ),
    Situation(
        "payment too much", _ANY, None, "Too much came", "trouble",
        "{Paid} arrived on {network}, more than the {asked_on} that the order asked for; the"
        " service has not said what it does with it",
        _AT_ADDRESS, "the service", "it exchanges what it takes, and sends the rest back", NO_TIME,
        certainty=_LIKELY,
        reply=(
            "Your {sent} arrived at the address of your order, which asked for {asked}. The"
            " exchange service has still to say what it does with the rest. {not_again}"
        ),
    ),
    Situation(
        "payment as asked", _ANY, None, "On the chain", "moving",
        "{Paid} arrived on {network} as asked; the service has not seen it yet. Do not send again",
        _AT_ADDRESS, "the service", "it takes note of the deposit", NO_TIME,
        reply=(
            "Your {sent} arrived at the address of your order. The exchange service has not noted"
            " it yet. Do not pay again. {watch}"
        ),
    ),
    # What the desk knows better: a swap on chains that it signs.
    Situation(
        "not signed yet", _WAITING, None, "To be signed", "waiting",
        "The order's transaction is not signed yet",
        "{wallet}", "you", "sign its transaction, or refuse it", None,
        known=lambda known: known.swap is State.PREPARED and not known.late,
        reply=(
            "The transaction of your swap has not been signed yet, so {yours} has not left your"
            " wallet. You can sign it{until}, or let it run out."
        ),
    ),
    Situation(
        "not signed", _ANY, None, "Not signed", "expired",
        "The order's transaction was not signed and nothing is on the chain",
        "{wallet}", *_AGAIN,
        own=True, known=lambda known: known.swap_failure == "not-signed",
        reply=(
            "The transaction of your swap was not signed. Nothing was paid, and {yours} is in"
            " your wallet. {new_swap}"
        ),
    ),
    Situation(
        "reverted", _WAITING, None, "Failed", "trouble",
        "The order's transaction was executed and failed",
        "in your wallet, but for the gas.", *_AGAIN,
        own=True, known=lambda known: known.swap_failure == "reverted",
        reply=(
            "The transaction of your swap was executed on the chain and failed. {Yours} is in"
            " your wallet; only the network fee was spent. {new_swap}"
        ),
    ),
    Situation(
        "not executed", _WAITING, None, "Not executed", "expired",
        "The order's transaction was not executed, and cannot be any more",
        "{wallet}", *_AGAIN,
        own=True, known=lambda known: known.swap_failure == "not-executed",
        reply=(
            "The transaction of your swap was not executed and cannot be any more. {Yours} is in"
            " your wallet. {new_swap}"
        ),
    ),
    Situation(
        "executed", _WAITING, None, "Executed", "moving",
        "The order's transaction was executed; the service has not seen it yet",
        "with {venue}, which pays {recipient}.",
        "the service", "it takes note of the transaction", NO_TIME,
        known=lambda known: known.swap is State.DONE,
        reply=(
            "The transaction of your swap was executed on the chain, and {got} is on its way to"
            " {receiver}. The exchange service has not noted it yet. {watch}"
        ),
    ),
    # What the desk knows better: a batch that pays, a deadline, an address that is hidden.
    Situation(
        "batch under way", _WAITING, None, "Batch under way", "moving",
        "Its batch is being paid. Do not pay it by itself",
        *_OF_BATCH, NO_TIME,
        known=lambda known: known.batch is State.SENT,
        reply=_BATCH + " The payment is on its way. {watch}",
    ),
    Situation(
        "paid by batch", _WAITING, None, "Paid by batch", "moving",
        "Its batch paid the deposit; the service has not seen it yet. Do not pay it by itself",
        *_OF_BATCH, NO_TIME,
        known=lambda known: known.batch is State.DONE,
        reply=_BATCH + " The payment is at the address of the order. {watch}",
    ),
    Situation(
        "chain deadline over", _WAITING, None, "Deadline over", "expired",
        "The deadline passed before the service saw this order's transaction",
        "in your wallet, if its transaction was not executed.",
        *_CLOSING,
        known=lambda known: known.over and known.reported is CHAIN_AWAITED,
        reply=(
            "The time for your swap ran out before its transaction was seen. If it was not"
            " executed, {yours} is in your wallet. Do not sign it any more. {if_paid}"
        ),
    ),
    Situation(
        "batch deadline over", (*_WAITING, *_EXPIRED), None, "Deadline over", "expired",
        "{batch_problem}The deadline passed. Do not send to this order any more",
        *_OF_BATCH, NO_TIME,
        own=True, known=lambda known: known.closing and known.in_account,
        reply=_BATCH + (
            "{batch_failed} The time for that ran out, and the money is with us. {passed_on}"
        ),
    ),
    Situation(
        "deadline over", _WAITING, None, "Deadline over", "expired",
        "{batch_problem}The deadline passed. Do not send to this order any more",
        "{unpaid}", *_CLOSING,
        known=lambda known: known.over,
        reply=(
            "The time to pay your order ran out. {unless_sent}"
        ),
    ),
    Situation(
        "with batch", _NOT_PAID_YET, None, "With its batch", "waiting", "{batch_problem}{withheld}",
        *_OF_BATCH, None,
        own=True, known=lambda known: known.withheld(DepositRelease.FOREIGN) and known.in_batch,
        reply=_BATCH + "{batch_failed} The money is with us until then. {watch}",
    ),
    Situation(
        "withheld foreign", _NOT_PAID_YET, None, "Not of this desk", "waiting", "{withheld}",
        None, "whoever made it", "this desk pays only what was confirmed here", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.FOREIGN),
        reply=(
            "We are waiting for the payment of {asked} for your order{until}. Pay only to the"
            " address that you were given when you made the order, and only once. {if_paid}"
        ),
    ),
    Situation(
        "withheld unrepeated", _NOT_PAID_YET, None, "Being compared", "waiting", "{withheld}",
        None, "the service", "it repeats the order, then the address is shown", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.UNREPEATED),
        reply=(
            "Your order over {asked} was just made and its address is being checked. Wait for it"
            " and pay nothing yet; the money is in your wallet."
        ),
    ),
    Situation(
        "withheld lower", _NOT_PAID_YET, None, "Gives less", "trouble", "{withheld}",
        None, "you", "accept less, or let it expire", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.LOWER),
        reply=(
            "The rate fell before your order was paid: it would pay out {got}. Do not pay it"
            " unless you agree to that; without a payment it closes by itself, and your money"
            " stays in your wallet."
        ),
    ),
    Situation(
        "withheld", _NOT_PAID_YET, None, "Do not pay", "trouble", "{withheld}",
        None, "you", "do not pay; ask for new quotes", _NOTHING,
        known=lambda known: known.hidden,
        reply=HIDDEN_REPLY,
    ),
    Situation(
        "paid by desk", _WAITING, None, "Paid by you", "moving",
        "This desk sent the deposit; the service has not seen it yet. Do not pay it again",
        None, "the service", "it takes note of the deposit{sent_again}", NO_TIME,
        known=lambda known: known.paid and known.reported is WAITING,
        reply=(
            "{Yours} was sent and is on its way to the exchange service, which has not noted it"
            " yet. Do not pay again. {watch}"
        ),
    ),
    Situation(
        "paid less", _DONE, None, "Paid less", "done", "The payout arrived",
        None, *_OVER, sign="trouble", settled=True,
        known=lambda known: known.pays_less and known.reported is COMPLETED,
        reply=(
            _COMPLETE + "That is less than was"
            " confirmed; the exchange service gives no reason."
        ),
    ),

    # What the service says: the order is open.
    Situation(
        "not said", (None,), _always, "Not known", "waiting", "The service does not say the state",
        "not known; the service does not say the state.",
        "the service", "it says more", NO_TIME, certainty=_NOT_KNOWN, sign="unknown",
        reply=(
            "We do not know the state of your order over {asked} yet and are asking the exchange"
            " service. Do not pay it now. {if_paid}"
        ),
    ),
    Situation(
        "held", _OPEN, on_hold, "On hold", "trouble",
        "{Holder} holds {moving} for a compliance check; the service does not say what it asks for",
        "{amount}held at {holder}.", *_BY_SUPPORT,
        reply=(
            "{Yours} arrived. {Holder} is checking the payment and holds the money meanwhile. We"
            " are not told what the check asks for. {passed_on} Do not pay again."
        ),
    ),
    Situation(
        "flagged", _OPEN, _flagged, "Needs support", "trouble",
        "The service marked this order for support and gives no reason",
        _WITH_SERVICE, *_BY_SUPPORT, certainty=_NOT_KNOWN,
        reply=(
            "Your order over {asked} needs a person to look at it. We are not told why. The money"
            " is with the exchange service. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "leg failed", _OPEN, _leg_broke, "Exchange failed", "trouble",
        "{Holder} could not finish; the service has not closed the order yet",
        _WITH_SERVICE, "the service", "it sends the money on, or back", NO_TIME,
        reply=(
            "{Holder} could not finish your order. {Yours} is with the exchange service, which"
            " has still to say how it goes on: by another exchange, or back to you. {not_again}"
        ),
    ),
    Situation(
        "leg returned", _OPEN, _leg(LegStatus.REFUNDED), "Coming back", "back",
        "{Holder} returned the funds; the service has not closed the order",
        "{amount}on its way back.", "the service", "it reports the refund", NO_TIME,
        reply=(
            "{Holder} returned {yours}. It is on its way back{back_to}; the exchange service has"
            " not told us the transaction yet. {not_again}"
        ),
    ),
    Situation(
        "leg failed unpaid", _OPEN, _leg(LegStatus.FAILED), "Closing", "trouble",
        "{Holder} failed before a deposit was seen. Do not send to this order any more",
        UNLESS_SENT, *_CLOSING,
        reply=(
            "The exchange failed before a payment was seen, and your order is being closed."
            " {unless_sent}"
        ),
    ),
    Situation(
        "leg expired", _OPEN, _leg(LegStatus.EXPIRED), "Closing", "expired",
        "The exchange saw no deposit in time. Do not send to this order any more",
        UNLESS_SENT, *_CLOSING,
        reply=(
            "No payment was seen in time, and your order is being closed. {unless_sent}"
        ),
    ),
    Situation(
        "fallback paying", _OPEN, _leg(LegStatus.FALLBACK), "Paid by fallback", "moving",
        "{Holder} did not finish; the service pays {got} by another way",
        "{got} on its way to {recipient}.", "the service", "it completes the order", "{expected}",
        reply=(
            "{Holder} did not finish your order, and the exchange service pays {got} by another"
            " way. It is on its way to {receiver}. {watch}"
        ),
    ),
    Situation(
        "chain awaited", _WAITING, _chain_unseen, "Waiting for the chain", "waiting",
        "The service has not seen this order's transaction. Nothing is deposited by hand",
        "in your wallet, until the transaction is executed.",
        "the chain", "it executes the order's transaction", "{deadline}", until_deadline=True,
        reply=(
            "The transaction of your swap has not been seen on the chain yet. Until it is"
            " executed, {yours} is in your wallet. Do not sign it a second time. {if_paid}"
        ),
    ),
    Situation(
        "deposit ahead", _WAITING, deposit_arrived, "Deposit seen", "moving",
        "The exchange has seen the deposit; the order still shows waiting. Do not send again",
        _TO_HOLDER, "the service", "it confirms the deposit", "{expected}",
        reply="{Yours} was seen and is being confirmed. {watch} Do not pay again.",
    ),
    Situation(
        "setting up", _WAITING, _no_address, "Setting up", "waiting",
        "The service has not given a deposit address yet",
        _IN_WALLET, "the service", "it sets up the deposit address", "{deadline}",
        until_deadline=True,
        reply=(
            "Your order over {asked} is being set up and has no address yet. Pay nothing before"
            " you are given one; the money is in your wallet."
        ),
    ),
    Situation(
        "waiting", _WAITING, _always, "Waiting for you", "waiting", "Waiting for the deposit",
        _IN_WALLET, "you", "send the deposit{within}", "{deadline}", until_deadline=True,
        reply=(
            "We are waiting for your payment of {asked}{until}. If you have not paid, pay exactly"
            " this amount once, to the address of your order. Do not pay twice. {if_paid}"
        ),
    ),
    Situation(
        "chain seen", _DETECTED, _on_chain, "On the chain", "moving",
        "The order's transaction was seen and is being confirmed",
        _TO_HOLDER, "the chain", "it confirms the transaction", "{expected}",
        reply="Your swap of {asked} was seen on the chain and is being confirmed. {watch}",
    ),
    Situation(
        "deposit seen", _DETECTED, _always, "Deposit seen", "moving",
        "The deposit was seen and is being confirmed",
        _TO_HOLDER, "the chain", "it confirms the deposit", "{expected}",
        reply="{Yours} was seen and is being confirmed by the network. {watch} Do not pay again.",
    ),
    Situation(
        "exchanging", (DisplayStatus.EXCHANGE_IN_PROGRESS,), _always, "Exchanging", "moving",
        "The exchange is in progress",
        "with {holder}.", *_PAYING_OUT,
        reply=_EXCHANGING,
    ),
    Situation(
        "to middle", (DisplayStatus.SENDING_TO_INTERMEDIARY,), _always, "To the middle", "moving",
        "The first exchange sends to the second",
        "between the two exchanges.", "the chain", "it carries the funds over", "{expected}",
        reply=_EXCHANGING,
    ),
    Situation(
        "at middle", (DisplayStatus.REACHED_INTERMEDIARY,), _always, "At the middle", "moving",
        "The funds reached the second exchange",
        "with {holder}.", *_PAYING_OUT,
        reply=_EXCHANGING,
    ),
    Situation(
        "second starts",
        (DisplayStatus.INITIATING_SECOND_EXCHANGE,), _always, "Second exchange starts", "moving",
        "The second exchange confirms the funds",
        "with {holder}.", *_PAYING_OUT,
        reply=_EXCHANGING,
    ),
    Situation(
        "second exchange",
        (DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,), _always, "Second exchange", "moving",
        "The second exchange is in progress",
        "with {holder}.", *_PAYING_OUT,
        reply=_EXCHANGING,
    ),
    Situation(
        "paying out", (DisplayStatus.SENDING_TO_RECEIVER,), _always, "Sending{to_label}", "moving",
        "The payout is on its way",
        "{got} on its way to {recipient}.", "the chain", "it confirms the payout", "{expected}",
        reply="The exchange is done and {got} is on its way to {receiver}. {watch}",
    ),
    Situation(
        "unknown state", (OTHER,), _always, "Other ({state_short})", "moving",
        "A state this desk does not know: {state}. Do not send a deposit now",
        "not known; the service names a state of its own.",
        "the service", "it names a state this desk knows", NO_TIME,
        certainty=_NOT_KNOWN, sign="unknown",
        reply=(
            "Your order over {asked} is in a state that we do not know and are asking the"
            " exchange service about. Do not pay now. {if_paid}"
        ),
    ),

    # What the service says: the payout arrived.
    Situation(
        "completed flagged", _DONE, _flagged, "Needs support", "trouble",
        "The payout arrived, and the service marked the order for support without a reason",
        "{got} arrived at {recipient}; the service may hold the rest.",
        *_BY_SUPPORT, certainty=_NOT_KNOWN, stranded=True,
        reply=(
            "{got} arrived at {receiver}. The exchange service marked your order to be looked at"
            " all the same and gives no reason. {passed_on}"
        ),
    ),
    Situation(
        "paid by fallback", _DONE, _leg(LegStatus.FALLBACK), "Paid by fallback", "done",
        "The payout arrived. {Holder} did not finish; the service paid it by another way{compared}",
        _PAID_OUT, *_OVER, settled=True,
        reply=_COMPLETE + "{done}",
    ),
    Situation(
        "rerouted", _DONE, lambda order: bool(order.rerouted), "Rerouted", "done",
        "The payout arrived. {First} failed, {finisher} finished it{compared}",
        _PAID_OUT, *_OVER, settled=True,
        reply=(
            _COMPLETE + "One exchange could not finish,"
            " and another one did. {done}"
        ),
    ),
    Situation(
        "part returned", _DONE, _part_returned, "Part returned", "done",
        "The payout arrived. More was deposited than asked for, and {back} came back{chain}",
        "{got} arrived at {recipient}; {back} came back{to}.",
        *_OVER, certainty=_LIKELY, settled=True,
        reply=(
            _COMPLETE + "More was paid than the order"
            " asked for, and {back} went back{back_to}. {done}"
        ),
    ),
    Situation(
        "completed", _DONE, _always, "Completed", "done", "The payout arrived",
        _PAID_OUT, *_OVER, settled=True,
        reply=_COMPLETE + "{done}",
    ),

    # What the service says: the order ended otherwise.
    Situation(
        "not refundable", (*_EXPIRED, *_FAILED), _arrived_for_good, "Not refundable", "trouble",
        "{Paid} arrived and the order did not finish; the service says a refund is not possible"
        " any more",
        "{amount}with the service or its provider.", *_BY_SUPPORT,
        settled=True, stranded=True,
        reply=(
            "{Yours} arrived, but the exchange did not finish. The money is with the exchange"
            " service, which says that a refund is not possible any more. {passed_on} {not_again}"
        ),
    ),
    Situation(
        "late stuck", _EXPIRED, _arrived_and_stuck, "Came too late", "trouble",
        "The deposit came after the deadline, and no address for a refund is known",
        "{amount}with the service, after the deadline.",
        *_BY_SUPPORT, stranded=True,
        reply=(
            "{Yours} came after the time for it had run out. {stuck}"
        ),
    ),
    Situation(
        "late returning", _EXPIRED, deposit_arrived, "Came too late", "trouble",
        "The deposit came after the deadline and goes back{refund_to}",
        "{amount}with the service, after the deadline.",
        *_RETURNING, certainty=_LIKELY,
        reply=(
            "{Yours} came after the time for it had run out. It is with the exchange service,"
            " which sends it back{back_to}. We are not told when. {not_again}"
        ),
    ),
    Situation(
        "chain expired", _EXPIRED, _on_chain, "Expired", "expired",
        "No transaction of this order came{before}. The order is closed",
        "in your wallet, if its transaction was not executed.",
        *_OVER, settled=True,
        reply=(
            "Your swap was not executed in time and is closed. If its transaction was not"
            " executed, {yours} is in your wallet. {new_swap}"
        ),
    ),
    Situation(
        "failed stuck", _FAILED, _arrived_and_stuck, "Failed", "trouble",
        "{Holder} could not finish after {paid} arrived",
        _WITH_SERVICE, *_BY_SUPPORT,
        stranded=True, asks_where=True,
        reply=_STUCK,
    ),
    Situation(
        "failed returning", _FAILED, deposit_arrived, "Refund pending", "trouble",
        "{Holder} could not finish after {paid} arrived. The deposit goes back{refund_to}",
        _WITH_SERVICE,
        *_RETURNING, certainty=_LIKELY,
        reply=(
            "{Yours} arrived, but the exchange could not be finished. It is with the exchange"
            " service, which sends it back{back_to}. We are not told when. {not_again}"
        ),
    ),
    Situation(
        "chain failed", _FAILED, _on_chain, "Failed", "trouble",
        "The swap failed on the chain, or was never executed there",
        "in your wallet, but for the gas.", *_AGAIN,
        certainty=_LIKELY, settled=True,
        reply=(
            "Your swap failed on the chain or was never executed there. {Yours} is in your"
            " wallet; at most the network fee was spent. {new_swap}"
        ),
    ),
    Situation(
        "never set up", (*_EXPIRED, *_FAILED), _no_address, "Not set up", "expired",
        "The service never gave a deposit address, so nothing could be paid",
        _IN_WALLET, *_AGAIN, settled=True,
        reply=(
            "Your order could not be set up and never had an address, so nothing could be paid."
            " Your money is in your wallet. You can start a new order at any time."
        ),
    ),
    Situation(
        "expired", _EXPIRED, _always, "Expired", "expired",
        "No deposit came{before}. The order is closed. Do not send to its address any more",
        UNLESS_SENT,
        "nobody", "do not send to this address any more", _NOTHING, settled=True,
        reply=(
            "No payment came in time, and your order is closed. {unless_sent}"
        ),
    ),
    Situation(
        "failed before", _FAILED, _leg_known, "Failed", "trouble",
        "The order failed before a deposit arrived. Do not send to it any more",
        UNLESS_SENT, *_AGAIN, settled=True,
        reply=(
            "Your order failed before a payment arrived. {unless_sent}"
        ),
    ),
    Situation(
        "failed unclear", _FAILED, _always, "Failed", "trouble",
        "The order failed; the service does not say whether a deposit arrived",
        "in your wallet if you sent nothing, else with the service.",
        "you", f"if you paid, {_SUPPORT}", _NO_DEADLINE, certainty=_NOT_KNOWN,
        reply=(
            "Your order failed, and the exchange service does not say whether a payment arrived."
            " If you sent nothing, your money is in your wallet; else it is with the exchange"
            " service. {not_again} {if_paid}"
        ),
    ),
    Situation(
        "refunded first token", _BACK, _private_fixed, "Refunded", "back",
        "The private swap at a fixed rate stopped part-way. {Back}, the token you sent,"
        " came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.",
        *_OVER, settled=True,
        reply=(
            "The exchange stopped part-way, and {back}, what you sent at first, went"
            " back{back_to}{why_back}. {not_again}"
        ),
    ),
    Situation(
        "refunded", _BACK, _always, "Refunded", "back", "{Back} came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.",
        *_OVER, settled=True,
        reply=(
            "The exchange was not carried out, and {back} went back{back_to}{why_back}."
            " {not_again}"
        ),
    ),
    Situation(
        "deleted with money", _GONE, deposit_arrived, "Deleted", "trouble",
        "The service deleted the order after a deposit arrived",
        _WITH_SERVICE, *_BY_SUPPORT, certainty=_NOT_KNOWN,
        stranded=True, asks_where=True,
        reply=(
            "The exchange service deleted your order after {yours} arrived. {stuck}"
        ),
    ),
    Situation(
        "deleted", _GONE, _always, "Deleted", "expired",
        "The service deleted the order. Do not send to it any more",
        UNLESS_SENT,
        *_OVER, settled=True,
        reply=(
            "Your order was deleted. {unless_sent}"
        ),
    ),
)
# fmt: on

SITUATIONS: Mapping[str, Situation] = {row.code: row for row in _TABLE}
"""The rows of the table, by code."""

LAST_HEARD: Situation = SITUATIONS["last heard"]
PAYMENT_AS_ASKED: Situation = SITUATIONS["payment as asked"]
NOT_SIGNED: Situation = SITUATIONS["not signed"]
WITHHELD_UNREPEATED: Situation = SITUATIONS["withheld unrepeated"]
PAID_LESS: Situation = SITUATIONS["paid less"]
CHAIN_AWAITED: Situation = SITUATIONS["chain awaited"]
SETTING_UP: Situation = SITUATIONS["setting up"]
WAITING: Situation = SITUATIONS["waiting"]
COMPLETED: Situation = SITUATIONS["completed"]
EXPIRED: Situation = SITUATIONS["expired"]


def _rows(*, of_desk: bool) -> dict[str | None, tuple[Situation, ...]]:
    states = dict.fromkeys(_ANY)
    rows = [row for row in _TABLE if (row.known if of_desk else row.when)]
    return {state: tuple(row for row in rows if state in row.states) for state in states}


_OF_SERVICE = _rows(of_desk=False)
_OF_DESK = _rows(of_desk=True)

OF_PAYMENT = tuple(row for row in _TABLE if row.code.startswith("payment "))
"""Rows for a payment that a chain shows but the service has not seen, the worst one first."""

STRANDED = frozenset(row for row in _TABLE if row.stranded)


def situation_of(order: Order) -> Situation:
    display = display_of(order)
    rows = _OF_SERVICE.get(display) or _OF_SERVICE[OTHER]
    return next(row for row in rows if row.when is not None and row.when(order))


def known_better(known: Knowledge) -> Situation | None:
    """Returns the situation that follows from this desk's own knowledge; None if the service's
    state is all that counts."""
    rows = _OF_DESK.get(known.display) or _OF_DESK[OTHER]
    return next((row for row in rows if row.known is not None and row.known(known)), None)


def awaits_deposit(order: Order) -> bool:
    """Returns whether the order waits for its deposit, according to both its state and its legs. A
    leg may be ahead of the state."""
    return situation_of(order) in (WAITING, SETTING_UP)


def match_payment(order: Order, paid: PaidOnChain) -> Situation:
    """Returns the situation that follows from comparing a payment with what the order asked for,
    such as "too little came" (contract 8.10 to 8.12). The service makes no such comparison."""
    asked = order.in_token
    if paid.missing:
        return _payment("missing")
    if paid.failed:
        return _payment("failed")
    waits = None
    if paid.confirmations is None:
        waits = _payment("underpriced" if paid.underpriced else "not in a block")
    if order.is_dex:
        return waits or PAYMENT_AS_ASKED
    if asked is not None and asked.chain != paid.chain:
        return _payment("wrong chain")
    if asked is not None and paid.token_id != asked.id:
        return _payment("wrong token")
    if order.deposit_tag and not paid.memo:
        return _payment("memo missing")
    if order.deposit_tag and paid.memo != order.deposit_tag:
        return _payment("another memo")
    closed = ended(display_of(order))
    if waits is not None:
        return _payment("closed before") if closed else waits
    if paid.at is not None and order.expires is not None and paid.at > order.expires:
        return _payment("late" if order.refund_address else "late stuck")
    if closed:
        return _payment("closed without")
    if paid.amount is None or order.in_amount is None or paid.amount == order.in_amount:
        return PAYMENT_AS_ASKED
    less = paid.amount < order.in_amount
    return _payment("too little" if less else "too much")


def _payment(match: str) -> Situation:
    return SITUATIONS[f"payment {match}"]


_WIDE = Context(prec=200)


def deposit_on_chain(order: Order, payments: Sequence[PaidOnChain]) -> PaidOnChain | None:
    """Returns the deposit as one payment; None if there are no payments. Payments of the same token
    and memo are added up. If there are several sums, the sum that fits the order worst is
    returned."""
    sums: dict[tuple[str, str | None, str | None], PaidOnChain] = {}
    moved = [paid for paid in payments if paid.moved]
    waiting = [paid for paid in payments if not paid.failed and not paid.missing]
    for paid in moved or waiting or payments:
        kind = (paid.chain, paid.token_id, paid.memo)
        sums[kind] = _together(sums[kind], paid) if kind in sums else paid
    return min(
        sums.values(), key=lambda paid: OF_PAYMENT.index(match_payment(order, paid)), default=None
    )


def unseen_match(order: Order, deposit: PaidOnChain | None) -> Situation | None:
    """Returns the situation that :func:`match_payment` finds for a deposit that the service has not
    seen yet. None if there is no such deposit, and for a DEX swap paid as asked."""
    if deposit is None or deposit_arrived(order):
        return None
    match = match_payment(order, deposit)
    return None if order.is_dex and match is PAYMENT_AS_ASKED else match


def _together(first: PaidOnChain, second: PaidOnChain) -> PaidOnChain:
    if first.amount is None or second.amount is None:
        return first
    times = [paid.at for paid in (first, second) if paid.at is not None]
    depths = [paid.confirmations for paid in (first, second) if paid.confirmations is not None]
    return replace(
        first,
        amount=short(_WIDE.add(first.amount, second.amount)),
        confirmations=min(depths, default=None),
        at=min(times, default=None),
        seen_at=min(first.seen_at, second.seen_at),
    )
