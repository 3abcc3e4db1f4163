"""The situations an order can be in, and what is said in each: one table, a row a situation.

A row says when an order is in it and what it means: the cause, the place of the money, who acts,
until when, and how sure that is. Rows are tried from top to bottom and the first that fits is
taken. The upper part holds what the desk knows before the service does, the lower part what the
service says; of the lower part every order is in exactly one, unknown values among them
(contract 8.4 to 8.16). What a chain shows of a payment, and what was heard last, are rows that are
named and not looked for. A new situation is a new row here and nothing else.

The words are templates over the facts of one order (``order_status``). They are short, promise
nothing, and say so where the service gives no reason, amount or date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context
from enum import Enum, StrEnum
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.failure_messages import Level
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal_records import PaidOnChain
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.journal.order_merge import PROGRESS, display_of, ended
from swapdesk.flows.orders.order_fields import deposit_arrived, on_hold
from swapdesk.flows.orders.payment_progress import QUOTE_AGAIN, PaidTo, SwapFailure, SwapPayment
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

Sign = Literal["waiting", "moving", "done", "trouble", "failed", "back", "expired", "unknown"]
"""Which glyph stands before the word of a state."""
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
"""The role of a palette that glyph and word have."""


class Certainty(StrEnum):
    """How sure the cause is: the service states it, it follows, or nobody says."""

    CERTAIN = "certain"
    LIKELY = "likely"
    NOT_KNOWN = "not known"


class SituationRow(Struct, frozen=True):
    """A row of the table. Texts are templates; None is what the service's row says there."""

    states: tuple[str | None, ...]
    """Displayed states in which the row is looked for; ``OTHER`` is any unknown one."""
    when: Callable[[Order], bool] | None
    """What must hold besides; None for a row of the desk."""
    word: str
    """Fits a table cell: ``On hold``."""
    level: Level
    cause: str
    """Reads alone, without its closing point: ``The payout is on its way``."""
    money: str | None
    """Follows the word Funds, with its point: ``in your wallet.``"""
    actor: str
    """Who acts next: ``you``."""
    act: str
    """What the actor does: ``send the deposit``."""
    by: str | None
    """Until when: ``before 14:32:11``."""
    certainty: Certainty = Certainty.CERTAIN
    sign: Sign | None = None
    """The glyph, where it is not that of the level."""
    known: Callable[[Knowledge], bool] | None = None
    """When a row of the desk is taken; None for a row of the service, and for what is not looked
    up: a payment that a chain shows, and what was heard last."""
    until_deadline: bool = False
    """Whether the order's deadline ends it."""
    settled: bool = False
    """Whether nothing more is to be said of a refund."""
    stranded: bool = False
    """An end in which money is, or may be, with the service until its owner acts."""
    asks_where: bool = False
    """Whether support is to be told where the deposit goes, if the order does not say."""
    own: bool = False
    """Whether it rests on what this desk did alone, which the service cannot change."""

    @property
    def lasts(self) -> bool:
        """Whether it is still true once the service cannot be asked any more."""
        return self.own or (self.settled and not self.stranded)


class Knowledge(Struct, frozen=True):
    """What this desk knows of an order beside the service's own words."""

    said: Situation
    """What the service says."""
    display: str | None
    late: bool
    """The order waits, and its deadline is over."""
    hidden: bool
    """Its address is withheld for a reason that is to be told."""
    over: bool
    """It is late, and nobody decided that its address stays withheld."""
    standing: DepositRelease
    in_batch: bool
    batch: PaidTo | None
    swap: SwapPayment | None
    paid: bool
    """This desk sent the deposit, and the service has not seen it."""
    pays_less: bool
    """It paid noticeably less than was confirmed."""

    @property
    def closing(self) -> bool:
        """Whether its deadline is over, or the service closed it since."""
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
_SUPPORT = "write to support with order {name}"
_NO_DEADLINE = "no deadline is known"
_NOTHING = "nothing is due"
_AT_ADDRESS = "{paid} at the deposit address on {network}."
_LIKELY = Certainty.LIKELY
_NOT_KNOWN = Certainty.NOT_KNOWN
_LEG_STATUSES = frozenset(LegStatus)


def _swap(state: State, failure: SwapFailure | None = None) -> Callable[[Knowledge], bool]:
    """Whether the transaction of a swap on chains stands so."""

    def stands(known: Knowledge) -> bool:
        swap = known.swap
        return swap is not None and (swap.state, swap.failure) == (state, failure)

    return stands


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
    """A leg failed, or its deposit never came although the order's own had arrived."""
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
class Situation(Enum):
    """What is going on, and with whom the money is."""

    # What the service cannot be asked any more; the words are those of what was heard last.
    LAST_HEARD = SituationRow(
        _ANY, None, "As of {as_of}", "waiting",
        "As of {as_of} UTC: {told}. The service cannot be asked about this order any more:"
        " {beyond}",
        "as of {as_of} UTC, {money}", "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN, sign="unknown",
    )
    # What a chain shows of the deposit before the service has seen it.
    PAYMENT_MISSING = SituationRow(
        _ANY, None, "Payment missing", "trouble",
        "{network} does not know the payment that was sent: it never went out, was dropped, or"
        " another transaction took its place",
        "in the wallet that sent it, unless another transaction took it.",
        "you", "look at the wallet's transactions; nothing was paid by this one", NO_TIME, _LIKELY,
    )
    PAYMENT_FAILED = SituationRow(
        _ANY, None, "Payment failed", "trouble",
        "The payment was executed on {network} and failed; nothing was paid by it",
        "in the wallet that sent it, but for the network fee.",
        "you", "look at the wallet; the order is unpaid", NO_TIME,
    )
    PAYMENT_WRONG_CHAIN = SituationRow(
        _ANY, None, "Wrong chain", "trouble",
        "{Paid} was sent on {network}; the order asked for {asked_on}. An exchange does not see a"
        " payment on another chain by itself",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_WRONG_TOKEN = SituationRow(
        _ANY, None, "Wrong token", "trouble",
        "{Paid} was sent on {network}; the order asked for {asked_on}. An exchange does not credit"
        " another token by itself",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_MEMO_MISSING = SituationRow(
        _ANY, None, "Memo missing", "trouble",
        "{Paid} was sent without the memo that the order names, so the exchange cannot tell whose"
        " it is",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_ANOTHER_MEMO = SituationRow(
        _ANY, None, "Another memo", "trouble",
        "{Paid} was sent with another memo than the order names, so the exchange cannot tell whose"
        " it is",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_UNDERPRICED = SituationRow(
        _ANY, None, "Fee too low", "trouble",
        "The payment waited at {looked} UTC, and its network fee was below what a block of"
        " {network} cost",
        "in the wallet that sent it, until the payment is in a block.",
        "you", "raise the fee of the same transaction, or wait; do not pay a second time", NO_TIME,
        _LIKELY,
    )
    PAYMENT_NOT_IN_A_BLOCK = SituationRow(
        _ANY, None, "Not in a block", "moving",
        "The payment of {paid} was not in a block of {network} at {looked} UTC",
        "on its way to the deposit address.",
        "the chain", "it takes the payment into a block", NO_TIME,
        _LIKELY,
    )
    PAYMENT_CLOSED_BEFORE = SituationRow(
        _ANY, None, "Closed before", "trouble",
        "The payment of {paid} was not in a block of {network} at {looked} UTC, and the order is"
        " closed",
        "in the wallet that sent it, until the payment is in a block.",
        "you", "cancel the transaction, where the wallet can; do not pay a second time", NO_TIME,
        _LIKELY,
    )
    PAYMENT_LATE_STUCK = SituationRow(
        _ANY, None, "Came too late", "trouble",
        "{Paid} arrived on {network} after the deadline of the order. The order names no address"
        " for a refund",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_LATE = SituationRow(
        _ANY, None, "Came too late", "trouble",
        "{Paid} arrived on {network} after the deadline of the order",
        _AT_ADDRESS, "the service", "it sends the deposit back", NO_TIME, _LIKELY,
    )
    PAYMENT_CLOSED_WITHOUT = SituationRow(
        _ANY, None, "Closed without it", "trouble",
        "{Paid} arrived on {network}, and the order was closed as one that was not paid",
        _AT_ADDRESS, "you", _SUPPORT, _NO_DEADLINE, _LIKELY, stranded=True,
    )
    PAYMENT_TOO_LITTLE = SituationRow(
        _ANY, None, "Too little came", "trouble",
        "{Paid} arrived on {network}, less than the {asked_on} that the order asked for; the"
        " service has not said what it does with it",
        _AT_ADDRESS, "the service", "it exchanges what came, or sends it back", NO_TIME, _LIKELY,
    )
    PAYMENT_TOO_MUCH = SituationRow(
        _ANY, None, "Too much came", "trouble",
        "{Paid} arrived on {network}, more than the {asked_on} that the order asked for; the"
        " service has not said what it does with it",
        _AT_ADDRESS, "the service", "it exchanges what it takes, and sends the rest back", NO_TIME,
        _LIKELY,
    )
    PAYMENT_AS_ASKED = SituationRow(
        _ANY, None, "On the chain", "moving",
        "{Paid} arrived on {network} as asked; the service has not seen it yet. Do not send again",
        _AT_ADDRESS, "the service", "it takes note of the deposit", NO_TIME,
    )
    # What the desk knows better: a swap on chains that it signs.
    NOT_SIGNED_YET = SituationRow(
        _WAITING, None, "To be signed", "waiting",
        "The order's transaction is not signed yet",
        "{wallet}", "you", "sign its transaction, or refuse it", None,
        known=lambda known: _swap(State.PREPARED)(known) and not known.late,
    )
    NOT_SIGNED = SituationRow(
        _ANY, None, "Not signed", "expired",
        "The order's transaction was not signed and nothing is on the chain",
        "{wallet}", "you", QUOTE_AGAIN, _NOTHING,
        own=True, known=_swap(State.REFUSED, "not-signed"),
    )
    REVERTED = SituationRow(
        _WAITING, None, "Failed", "trouble",
        "The order's transaction was executed and failed",
        "in your wallet, but for the gas.", "you", QUOTE_AGAIN, _NOTHING,
        own=True, known=_swap(State.REFUSED, "reverted"),
    )
    NOT_EXECUTED = SituationRow(
        _WAITING, None, "Not executed", "expired",
        "The order's transaction was not executed, and cannot be any more",
        "{wallet}", "you", QUOTE_AGAIN, _NOTHING,
        own=True, known=_swap(State.REFUSED, "not-executed"),
    )
    EXECUTED = SituationRow(
        _WAITING, None, "Executed", "moving",
        "The order's transaction was executed; the service has not seen it yet",
        "with {venue}, which pays {recipient}.",
        "the service", "it takes note of the transaction", NO_TIME,
        known=_swap(State.DONE),
    )
    # What the desk knows better: a batch that pays, a deadline, an address that is hidden.
    BATCH_UNDER_WAY = SituationRow(
        _WAITING, None, "Batch under way", "moving",
        "Its batch is being paid. Do not pay it by itself",
        "{batch_money}", "{batch_actor}", "{batch_act}", NO_TIME,
        known=lambda known: known.batch is PaidTo.WAY,
    )
    PAID_BY_BATCH = SituationRow(
        _WAITING, None, "Paid by batch", "moving",
        "Its batch paid the deposit; the service has not seen it yet. Do not pay it by itself",
        "{batch_money}", "{batch_actor}", "{batch_act}", NO_TIME,
        known=lambda known: known.batch is PaidTo.ADDRESS,
    )
    CHAIN_DEADLINE_OVER = SituationRow(
        _WAITING, None, "Deadline over", "expired",
        "The deadline passed before the service saw this order's transaction",
        "in your wallet, if its transaction was not executed.",
        "the service", "it closes the order", NO_TIME,
        known=lambda known: known.over and known.said is Situation.CHAIN_AWAITED,
    )
    BATCH_DEADLINE_OVER = SituationRow(
        (*_WAITING, *_EXPIRED), None, "Deadline over", "expired",
        "{batch_problem}The deadline passed. Do not send to this order any more",
        "{batch_money}", "{batch_actor}", "{batch_act}", NO_TIME,
        own=True, known=lambda known: known.closing and known.batch is PaidTo.ACCOUNT,
    )
    DEADLINE_OVER = SituationRow(
        _WAITING, None, "Deadline over", "expired",
        "{batch_problem}The deadline passed. Do not send to this order any more",
        "{unpaid}", "the service", "it closes the order", NO_TIME,
        known=lambda known: known.over,
    )
    WITH_BATCH = SituationRow(
        _NOT_PAID_YET, None, "With its batch", "waiting", "{batch_problem}{withheld}",
        "{batch_money}", "{batch_actor}", "{batch_act}", None,
        own=True, known=lambda known: known.withheld(DepositRelease.FOREIGN) and known.in_batch,
    )
    WITHHELD_FOREIGN = SituationRow(
        _NOT_PAID_YET, None, "Not of this desk", "waiting", "{withheld}",
        None, "whoever made it", "this desk pays only what was confirmed here", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.FOREIGN),
    )
    WITHHELD_UNREPEATED = SituationRow(
        _NOT_PAID_YET, None, "Being compared", "waiting", "{withheld}",
        None, "the service", "it repeats the order, then the address is shown", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.UNREPEATED),
    )
    WITHHELD_LOWER = SituationRow(
        _NOT_PAID_YET, None, "Gives less", "trouble", "{withheld}",
        None, "you", "accept less, or let it expire", _NOTHING,
        known=lambda known: known.withheld(DepositRelease.LOWER),
    )
    WITHHELD = SituationRow(
        _NOT_PAID_YET, None, "Do not pay", "trouble", "{withheld}",
        None, "you", "do not pay; ask for new quotes", _NOTHING,
        known=lambda known: known.hidden,
    )
    PAID_BY_DESK = SituationRow(
        _WAITING, None, "Paid by you", "moving",
        "This desk sent the deposit; the service has not seen it yet. Do not pay it again",
        None, "the service", "it takes note of the deposit{sent_again}", NO_TIME,
        known=lambda known: known.paid and known.said is Situation.WAITING,
    )
    PAID_LESS = SituationRow(
        _DONE, None, "Paid less", "done", "The payout arrived",
        None, "nobody", "nothing is left to do", _NOTHING, sign="trouble", settled=True,
        known=lambda known: known.pays_less and known.said is Situation.COMPLETED,
    )

    # What the service says: the order is open.
    NOT_SAID = SituationRow(
        (None,), _always, "Not known", "waiting", "The service does not say the state",
        "not known; the service does not say the state.",
        "the service", "it says more", NO_TIME, _NOT_KNOWN, sign="unknown",
    )
    HELD = SituationRow(
        _OPEN, on_hold, "On hold", "trouble",
        "{Holder} holds {moving} for a compliance check; the service does not say what it asks for",
        "{amount}held at {holder}.", "you", _SUPPORT, _NO_DEADLINE,
    )
    FLAGGED = SituationRow(
        _OPEN, _flagged, "Needs support", "trouble",
        "The service marked this order for support and gives no reason",
        "{amount}with the service.", "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN,
    )
    LEG_FAILED = SituationRow(
        _OPEN, _leg_broke, "Exchange failed", "trouble",
        "{Holder} could not finish; the service has not closed the order yet",
        "{amount}with the service.", "the service", "it sends the money on, or back", NO_TIME,
    )
    LEG_RETURNED = SituationRow(
        _OPEN, _leg(LegStatus.REFUNDED), "Coming back", "back",
        "{Holder} returned the funds; the service has not closed the order",
        "{amount}on its way back.", "the service", "it reports the refund", NO_TIME,
    )
    LEG_FAILED_UNPAID = SituationRow(
        _OPEN, _leg(LegStatus.FAILED), "Closing", "trouble",
        "{Holder} failed before a deposit was seen. Do not send to this order any more",
        "in your wallet, if you sent nothing.", "the service", "it closes the order", NO_TIME,
    )
    LEG_EXPIRED = SituationRow(
        _OPEN, _leg(LegStatus.EXPIRED), "Closing", "expired",
        "The exchange saw no deposit in time. Do not send to this order any more",
        "in your wallet, if you sent nothing.", "the service", "it closes the order", NO_TIME,
    )
    FALLBACK_PAYING = SituationRow(
        _OPEN, _leg(LegStatus.FALLBACK), "Paid by fallback", "moving",
        "{Holder} did not finish; the service pays {got} by another way",
        "{got} on its way to {recipient}.", "the service", "it completes the order", "{expected}",
    )
    CHAIN_AWAITED = SituationRow(
        _WAITING, _chain_unseen, "Waiting for the chain", "waiting",
        "The service has not seen this order's transaction. Nothing is deposited by hand",
        "in your wallet, until the transaction is executed.",
        "the chain", "it executes the order's transaction", "{deadline}", until_deadline=True,
    )
    DEPOSIT_AHEAD = SituationRow(
        _WAITING, deposit_arrived, "Deposit seen", "moving",
        "The exchange has seen the deposit; the order still shows waiting. Do not send again",
        "{amount}on its way to {holder}.", "the service", "it confirms the deposit", "{expected}",
    )
    SETTING_UP = SituationRow(
        _WAITING, _no_address, "Setting up", "waiting",
        "The service has not given a deposit address yet",
        "in your wallet.", "the service", "it sets up the deposit address", "{deadline}",
        until_deadline=True,
    )
    WAITING = SituationRow(
        _WAITING, _always, "Waiting for you", "waiting", "Waiting for the deposit",
        "in your wallet.", "you", "send the deposit{within}", "{deadline}", until_deadline=True,
    )
    CHAIN_SEEN = SituationRow(
        _DETECTED, _on_chain, "On the chain", "moving",
        "The order's transaction was seen and is being confirmed",
        "{amount}on its way to {holder}.", "the chain", "it confirms the transaction", "{expected}",
    )
    DEPOSIT_SEEN = SituationRow(
        _DETECTED, _always, "Deposit seen", "moving",
        "The deposit was seen and is being confirmed",
        "{amount}on its way to {holder}.", "the chain", "it confirms the deposit", "{expected}",
    )
    EXCHANGING = SituationRow(
        (DisplayStatus.EXCHANGE_IN_PROGRESS,), _always, "Exchanging", "moving",
        "The exchange is in progress",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    )
    TO_MIDDLE = SituationRow(
        (DisplayStatus.SENDING_TO_INTERMEDIARY,), _always, "To the middle", "moving",
        "The first exchange sends to the second",
        "between the two exchanges.", "the chain", "it carries the funds over", "{expected}",
    )
    AT_MIDDLE = SituationRow(
        (DisplayStatus.REACHED_INTERMEDIARY,), _always, "At the middle", "moving",
        "The funds reached the second exchange",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    )
    SECOND_STARTS = SituationRow(
        (DisplayStatus.INITIATING_SECOND_EXCHANGE,), _always, "Second exchange starts", "moving",
        "The second exchange confirms the funds",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    )
    SECOND_EXCHANGE = SituationRow(
        (DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,), _always, "Second exchange", "moving",
        "The second exchange is in progress",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    )
    PAYING_OUT = SituationRow(
        (DisplayStatus.SENDING_TO_RECEIVER,), _always, "Sending{to_label}", "moving",
        "The payout is on its way",
        "{got} on its way to {recipient}.", "the chain", "it confirms the payout", "{expected}",
    )
    UNKNOWN_STATE = SituationRow(
        (OTHER,), _always, "Other ({state_short})", "moving",
        "A state this desk does not know: {state}. Do not send a deposit now",
        "not known; the service names a state of its own.",
        "the service", "it names a state this desk knows", NO_TIME, _NOT_KNOWN, sign="unknown",
    )

    # What the service says: the payout arrived.
    COMPLETED_FLAGGED = SituationRow(
        _DONE, _flagged, "Needs support", "trouble",
        "The payout arrived, and the service marked the order for support without a reason",
        "{got} arrived at {recipient}; the service may hold the rest.",
        "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN, stranded=True,
    )
    PAID_BY_FALLBACK = SituationRow(
        _DONE, _leg(LegStatus.FALLBACK), "Paid by fallback", "done",
        "The payout arrived. {Holder} did not finish; the service paid it by another way{compared}",
        "{got} arrived at {recipient}.", "nobody", "nothing is left to do", _NOTHING, settled=True,
    )
    REROUTED = SituationRow(
        _DONE, lambda order: bool(order.rerouted), "Rerouted", "done",
        "The payout arrived. {First} failed, {finisher} finished it{compared}",
        "{got} arrived at {recipient}.", "nobody", "nothing is left to do", _NOTHING, settled=True,
    )
    PART_RETURNED = SituationRow(
        _DONE, _part_returned, "Part returned", "done",
        "The payout arrived. More was deposited than asked for, and {back} came back{chain}",
        "{got} arrived at {recipient}; {back} came back{to}.",
        "nobody", "nothing is left to do", _NOTHING, _LIKELY, settled=True,
    )
    COMPLETED = SituationRow(
        _DONE, _always, "Completed", "done", "The payout arrived",
        "{got} arrived at {recipient}.", "nobody", "nothing is left to do", _NOTHING, settled=True,
    )

    # What the service says: the order ended otherwise.
    NOT_REFUNDABLE = SituationRow(
        (*_EXPIRED, *_FAILED), _arrived_for_good, "Not refundable", "trouble",
        "{Paid} arrived and the order did not finish; the service says a refund is not possible"
        " any more",
        "{amount}with the service or its provider.", "you", _SUPPORT, _NO_DEADLINE,
        settled=True, stranded=True,
    )
    LATE_STUCK = SituationRow(
        _EXPIRED, _arrived_and_stuck, "Came too late", "trouble",
        "The deposit came after the deadline, and no address for a refund is known",
        "{amount}with the service, after the deadline.",
        "you", _SUPPORT, _NO_DEADLINE, stranded=True,
    )
    LATE_RETURNING = SituationRow(
        _EXPIRED, deposit_arrived, "Came too late", "trouble",
        "The deposit came after the deadline and goes back{refund_to}",
        "{amount}with the service, after the deadline.",
        "the service", "it sends the deposit back", NO_TIME, _LIKELY,
    )
    CHAIN_EXPIRED = SituationRow(
        _EXPIRED, _on_chain, "Expired", "expired",
        "No transaction of this order came{before}. The order is closed",
        "in your wallet, if its transaction was not executed.",
        "nobody", "nothing is left to do", _NOTHING, settled=True,
    )
    FAILED_STUCK = SituationRow(
        _FAILED, _arrived_and_stuck, "Failed", "trouble",
        "{Holder} could not finish after {paid} arrived",
        "{amount}with the service.", "you", _SUPPORT, _NO_DEADLINE,
        stranded=True, asks_where=True,
    )
    FAILED_RETURNING = SituationRow(
        _FAILED, deposit_arrived, "Refund pending", "trouble",
        "{Holder} could not finish after {paid} arrived. The deposit goes back{refund_to}",
        "{amount}with the service.",
        "the service", "it sends the deposit back", NO_TIME, _LIKELY,
    )
    CHAIN_FAILED = SituationRow(
        _FAILED, _on_chain, "Failed", "trouble",
        "The swap failed on the chain, or was never executed there",
        "in your wallet, but for the gas.", "you", QUOTE_AGAIN, _NOTHING, _LIKELY, settled=True,
    )
    NEVER_SET_UP = SituationRow(
        (*_EXPIRED, *_FAILED), _no_address, "Not set up", "expired",
        "The service never gave a deposit address, so nothing could be paid",
        "in your wallet.", "you", QUOTE_AGAIN, _NOTHING, settled=True,
    )
    EXPIRED = SituationRow(
        _EXPIRED, _always, "Expired", "expired",
        "No deposit came{before}. The order is closed. Do not send to its address any more",
        "in your wallet, if you sent nothing.",
        "nobody", "do not send to this address any more", _NOTHING, settled=True,
    )
    FAILED_BEFORE = SituationRow(
        _FAILED, _leg_known, "Failed", "trouble",
        "The order failed before a deposit arrived. Do not send to it any more",
        "in your wallet, if you sent nothing.", "you", QUOTE_AGAIN, _NOTHING, settled=True,
    )
    FAILED_UNCLEAR = SituationRow(
        _FAILED, _always, "Failed", "trouble",
        "The order failed; the service does not say whether a deposit arrived",
        "in your wallet if you sent nothing, else with the service.",
        "you", f"if you paid, {_SUPPORT}", _NO_DEADLINE, _NOT_KNOWN,
    )
    REFUNDED_FIRST_TOKEN = SituationRow(
        _BACK, _private_fixed, "Refunded", "back",
        "The private swap at a fixed rate stopped part-way. {Back}, the token you sent,"
        " came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.",
        "nobody", "nothing is left to do", _NOTHING, settled=True,
    )
    REFUNDED = SituationRow(
        _BACK, _always, "Refunded", "back", "{Back} came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.",
        "nobody", "nothing is left to do", _NOTHING, settled=True,
    )
    DELETED_WITH_MONEY = SituationRow(
        _GONE, deposit_arrived, "Deleted", "trouble",
        "The service deleted the order after a deposit arrived",
        "{amount}with the service.", "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN,
        stranded=True, asks_where=True,
    )
    DELETED = SituationRow(
        _GONE, _always, "Deleted", "expired",
        "The service deleted the order. Do not send to it any more",
        "in your wallet, if you sent nothing.",
        "nobody", "nothing is left to do", _NOTHING, settled=True,
    )

    @property
    def meaning(self) -> SituationRow:
        """The row."""
        return self._value_

    @property
    def code(self) -> str:
        """How journals name it: ``failed stuck``."""
        return self.name.lower().replace("_", " ")
# fmt: on


def _rows(*, of_desk: bool) -> dict[str | None, tuple[Situation, ...]]:
    """The rows to look through in each displayed state."""
    states = dict.fromkeys(_ANY)
    rows = [row for row in Situation if (row.meaning.known if of_desk else row.meaning.when)]
    return {state: tuple(row for row in rows if state in row.meaning.states) for state in states}


_OF_SERVICE = _rows(of_desk=False)
_OF_DESK = _rows(of_desk=True)

OF_PAYMENT = tuple(row for row in Situation if row.name.startswith("PAYMENT_"))
"""What a payment means that a chain shows and the service has not seen, the worst first."""

STRANDED = frozenset(row for row in Situation if row.meaning.stranded)
"""Ends of an order in which its money is, or may be, with the service and stays there until the
owner acts."""


def situation_of(order: Order) -> Situation:
    """What the service says of an order."""
    display = display_of(order)
    for row in _OF_SERVICE.get(display) or _OF_SERVICE[OTHER]:
        when = row.meaning.when
        if when is not None and when(order):
            return row
    raise AssertionError(f"no row for {display}")


def known_better(known: Knowledge) -> Situation | None:
    """What the desk knows better than the service; None where the service's word stands."""
    for row in _OF_DESK.get(known.display) or _OF_DESK[OTHER]:
        test = row.meaning.known
        if test is not None and test(known):
            return row
    return None


def awaits_deposit(order: Order) -> bool:
    """Whether it waits for its deposit by its state and by its legs: a leg may tell of a deposit,
    or of a trouble, before the state does."""
    return situation_of(order) in (Situation.WAITING, Situation.SETTING_UP)


def match_payment(order: Order, paid: PaidOnChain) -> Situation:
    """How ``paid`` stands to what ``order`` asked for (contract 8.10 to 8.12). The service tells
    none of that."""
    asked = order.in_token
    if paid.missing:
        return Situation.PAYMENT_MISSING
    if paid.failed:
        return Situation.PAYMENT_FAILED
    waits = None
    if paid.confirmations is None:
        low = paid.underpriced
        waits = Situation.PAYMENT_UNDERPRICED if low else Situation.PAYMENT_NOT_IN_A_BLOCK
    if order.is_dex:
        return waits or Situation.PAYMENT_AS_ASKED
    if asked is not None and asked.chain != paid.chain:
        return Situation.PAYMENT_WRONG_CHAIN
    if asked is not None and paid.token_id != asked.id:
        return Situation.PAYMENT_WRONG_TOKEN
    if order.deposit_tag and not paid.memo:
        return Situation.PAYMENT_MEMO_MISSING
    if order.deposit_tag and paid.memo != order.deposit_tag:
        return Situation.PAYMENT_ANOTHER_MEMO
    closed = ended(display_of(order))
    if waits is not None:
        return Situation.PAYMENT_CLOSED_BEFORE if closed else waits
    if paid.at is not None and order.expires is not None and paid.at > order.expires:
        known = order.refund_address
        return Situation.PAYMENT_LATE if known else Situation.PAYMENT_LATE_STUCK
    if closed:
        return Situation.PAYMENT_CLOSED_WITHOUT
    if paid.amount is None or order.in_amount is None or paid.amount == order.in_amount:
        return Situation.PAYMENT_AS_ASKED
    less = paid.amount < order.in_amount
    return Situation.PAYMENT_TOO_LITTLE if less else Situation.PAYMENT_TOO_MUCH


_WIDE = Context(prec=200)


def deposit_on_chain(order: Order, payments: Sequence[PaidOnChain]) -> PaidOnChain | None:
    """What chains show of the deposit, as one payment: those of one kind added up, and of several
    kinds the one that needs somebody first. What moved money comes before what moved none."""
    kinds: dict[tuple[str, str | None, str | None], PaidOnChain] = {}
    moved = [one for one in payments if one.moved]
    waiting = [one for one in payments if not one.failed and not one.missing]
    for one in moved or waiting or payments:
        kind = (one.chain, one.token_id, one.memo)
        kinds[kind] = _together(kinds[kind], one) if kind in kinds else one
    return min(
        kinds.values(), key=lambda one: OF_PAYMENT.index(match_payment(order, one)), default=None
    )


def unseen_match(order: Order, deposit: PaidOnChain | None) -> Situation | None:
    """How what chains show of the deposit stands to the order, as long as the service has not seen
    it. That a swap on a chain was executed is told by the situation of the swap."""
    if deposit is None or deposit_arrived(order):
        return None
    match = match_payment(order, deposit)
    return None if order.is_dex and match is Situation.PAYMENT_AS_ASKED else match


def _together(one: PaidOnChain, other: PaidOnChain) -> PaidOnChain:
    """Both as one, as old as the first of them and as certain as the last."""
    if one.amount is None or other.amount is None:
        return one
    times = [each.at for each in (one, other) if each.at is not None]
    depths = [each.confirmations for each in (one, other) if each.confirmations is not None]
    return replace(
        one,
        amount=short(_WIDE.add(one.amount, other.amount)),
        confirmations=min(depths, default=None),
        at=min(times, default=None),
        seen_at=min(one.seen_at, other.seen_at),
    )
