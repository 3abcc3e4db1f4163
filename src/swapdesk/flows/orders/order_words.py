"""What is said of an order in each of its cases: cause, place of the money, who acts, by when.

Short and factual; nothing is promised, and where the service gives no reason, amount or date
that is said. The templates take the facts of one order (``order_account``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swapdesk.flows.orders.order_case import Case
from swapdesk.flows.wording import Level
from swapdesk.wire.orders import DisplayStatus


class Certainty(StrEnum):
    """How sure the cause is: the service states it, it follows, or nobody says."""

    CERTAIN = "certain"
    LIKELY = "likely"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class CaseWords:
    """``short`` fits a table cell; ``cause`` reads alone, without its closing point; ``money``
    follows the word Funds; ``act`` is what ``actor`` does, ``by`` until when."""

    short: str
    level: Level
    cause: str
    money: str
    actor: str
    act: str
    by: str
    certainty: Certainty = Certainty.CERTAIN


_SUPPORT = "write to support with order {name}"
_NO_DEADLINE = "no deadline is known"
NO_TIME = "the service names no time"
_NOTHING = "nothing is due"
_NOBODY = ("nobody", "nothing is left to do", _NOTHING)
_LIKELY = Certainty.LIKELY
_NOT_KNOWN = Certainty.NOT_KNOWN

WORDS: dict[Case, CaseWords] = {
    Case.NOT_SAID: CaseWords(
        "Not known", "waiting", "The service does not say the state",
        "not known; the service does not say the state.",
        "the service", "it says more", NO_TIME, _NOT_KNOWN,
    ),
    Case.UNKNOWN_STATE: CaseWords(
        "Other ({state_short})", "moving",
        "A state this desk does not know: {state}. Do not send a deposit now",
        "not known; the service names a state of its own.",
        "the service", "it names a state this desk knows", NO_TIME, _NOT_KNOWN,
    ),
    Case.SETTING_UP: CaseWords(
        "Setting up", "waiting", "The service has not given a deposit address yet",
        "in your wallet.", "the service", "it sets up the deposit address", "{deadline}",
    ),
    Case.WAITING: CaseWords(
        "Waiting for you", "waiting", "Waiting for the deposit",
        "in your wallet.", "you", "send the deposit", "{deadline}",
    ),
    Case.DEPOSIT_AHEAD: CaseWords(
        "Deposit seen", "moving",
        "The exchange has seen the deposit; the order still shows waiting. Do not send again",
        "{paid} on its way to {holder}.", "the service", "it confirms the deposit", "{expected}",
    ),
    Case.DEPOSIT_SEEN: CaseWords(
        "Deposit seen", "moving", "The deposit was seen and is being confirmed",
        "{paid} on its way to {holder}.", "the chain", "it confirms the deposit", "{expected}",
    ),
    Case.CHAIN_AWAITED: CaseWords(
        "Waiting for the chain", "waiting",
        "The service has not seen this order's transaction. Nothing is deposited by hand",
        "in your wallet, until the transaction is executed.",
        "the chain", "it executes the order's transaction", "{deadline}",
    ),
    Case.CHAIN_SEEN: CaseWords(
        "On the chain", "moving", "The order's transaction was seen and is being confirmed",
        "{paid} on its way to {holder}.", "the chain", "it confirms the transaction", "{expected}",
    ),
    Case.EXCHANGING: CaseWords(
        "Exchanging", "moving", "The exchange is in progress",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    ),
    Case.TO_MIDDLE: CaseWords(
        "To the middle", "moving", "The first exchange sends to the second",
        "between the two exchanges.", "the chain", "it carries the funds over", "{expected}",
    ),
    Case.AT_MIDDLE: CaseWords(
        "At the middle", "moving", "The funds reached the second exchange",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    ),
    Case.SECOND_STARTS: CaseWords(
        "Second exchange starts", "moving", "The second exchange confirms the funds",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    ),
    Case.SECOND_EXCHANGE: CaseWords(
        "Second exchange", "moving", "The second exchange is in progress",
        "with {holder}.", "{holder}", "it exchanges and pays out", "{expected}",
    ),
    Case.PAYING_OUT: CaseWords(
        "Sending", "moving", "The payout is on its way",
        "{got} on its way to {recipient}.", "the chain", "it confirms the payout", "{expected}",
    ),
    Case.FALLBACK_PAYING: CaseWords(
        "Paid by fallback", "moving",
        "{Holder} did not finish; the service pays {got} by another way",
        "{got} on its way to {recipient}.", "the service", "it completes the order", "{expected}",
    ),
    Case.HELD: CaseWords(
        "On hold", "trouble",
        "{Holder} holds {moving} for a compliance check; the service does not say what it asks for",
        "{amount}held at {holder}.", "you", _SUPPORT, _NO_DEADLINE,
    ),
    Case.FLAGGED: CaseWords(
        "Needs support", "trouble", "The service marked this order for support and gives no reason",
        "{amount}with the service.", "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN,
    ),
    Case.LEG_FAILED: CaseWords(
        "Exchange failed", "trouble",
        "{Holder} could not finish; the service has not closed the order yet",
        "{amount}with the service.", "the service",
        "it sends the money on, or back", NO_TIME,
    ),
    Case.LEG_RETURNED: CaseWords(
        "Coming back", "back", "{Holder} returned the funds; the service has not closed the order",
        "{amount}on its way back.", "the service", "it reports the refund", NO_TIME,
    ),
    Case.LEG_EXPIRED: CaseWords(
        "Closing", "expired",
        "The exchange saw no deposit in time. Do not send to this order any more",
        "in your wallet, if you sent nothing.", "the service", "it closes the order", NO_TIME,
    ),
    Case.COMPLETED: CaseWords(
        "Completed", "done", "The payout arrived", "{got} arrived at {recipient}.", *_NOBODY,
    ),
    Case.REROUTED: CaseWords(
        "Rerouted", "done",
        "The payout arrived. {First} failed, {finisher} finished it{compared}",
        "{got} arrived at {recipient}.", *_NOBODY,
    ),
    Case.PAID_BY_FALLBACK: CaseWords(
        "Paid by fallback", "done",
        "The payout arrived. {Holder} did not finish; the service paid it by another way{compared}",
        "{got} arrived at {recipient}.", *_NOBODY,
    ),
    Case.PART_RETURNED: CaseWords(
        "Part returned", "done",
        "The payout arrived. More was deposited than asked for, and {back} came back{chain}",
        "{got} arrived at {recipient}; {back} came back{to}.", *_NOBODY, _LIKELY,
    ),
    Case.COMPLETED_FLAGGED: CaseWords(
        "Needs support", "trouble",
        "The payout arrived, and the service marked the order for support without a reason",
        "{got} arrived at {recipient}; the service may hold a rest.",
        "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN,
    ),
    Case.EXPIRED: CaseWords(
        "Expired", "expired",
        "No deposit came{before}. The order is closed. Do not send to its address any more",
        "in your wallet, if you sent nothing.",
        "nobody", "do not send to this address any more", _NOTHING,
    ),
    Case.CHAIN_EXPIRED: CaseWords(
        "Expired", "expired",
        "No transaction of this order came{before}. The order is closed",
        "in your wallet, if its transaction was not executed.", *_NOBODY,
    ),
    Case.CHAIN_FAILED: CaseWords(
        "Failed", "trouble",
        "The swap failed on the chain, or was never executed there",
        "in your wallet, but for the gas.", "you", "ask for new quotes", _NOTHING, _LIKELY,
    ),
    Case.LATE_RETURNING: CaseWords(
        "Came too late", "trouble", "The deposit came after the deadline and goes back{refund_to}",
        "{paid} is with the service, after the deadline.",
        "the service", "it sends the deposit back", NO_TIME, _LIKELY,
    ),
    Case.LATE_STUCK: CaseWords(
        "Came too late", "trouble",
        "The deposit came after the deadline, and no address for a refund is known",
        "{paid} is with the service, after the deadline.",
        "you", _SUPPORT, _NO_DEADLINE,
    ),
    Case.NEVER_SET_UP: CaseWords(
        "Not set up", "expired",
        "The service never gave a deposit address, so nothing could be paid",
        "in your wallet.", "you", "ask for new quotes", _NOTHING,
    ),
    Case.FAILED_BEFORE: CaseWords(
        "Failed", "trouble",
        "The order failed before a deposit arrived. Do not send to it any more",
        "in your wallet, if you sent nothing.", "you", "ask for new quotes", _NOTHING,
    ),
    Case.FAILED_UNCLEAR: CaseWords(
        "Failed", "trouble",
        "The order failed; the service does not say whether a deposit arrived",
        "in your wallet if you sent nothing, else with the service.",
        "you", f"if you paid, {_SUPPORT}", _NO_DEADLINE, _NOT_KNOWN,
    ),
    Case.FAILED_RETURNING: CaseWords(
        "Refund pending", "trouble",
        "{Holder} could not finish after {paid} arrived. The deposit goes back{refund_to}",
        "{paid} is with the service.",
        "the service", "it sends the deposit back", NO_TIME, _LIKELY,
    ),
    Case.FAILED_STUCK: CaseWords(
        "Failed", "trouble", "{Holder} could not finish after {paid} arrived",
        "{paid} is with the service.", "you", _SUPPORT, _NO_DEADLINE,
    ),
    Case.NOT_REFUNDABLE: CaseWords(
        "Not refundable", "trouble",
        "{paid} arrived and the order did not finish; the service says a refund is not possible"
        " any more",
        "{paid} is with the service or its provider.", "you", _SUPPORT, _NO_DEADLINE,
    ),
    Case.REFUNDED: CaseWords(
        "Refunded", "back", "{Back} came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.", *_NOBODY,
    ),
    Case.REFUNDED_FIRST_TOKEN: CaseWords(
        "Refunded", "back",
        "The private swap at a fixed rate stopped part-way. {Back}, the token you sent,"
        " came back{to}{chain}{kept}",
        "{back} came back{to}{chain_or_origin}.", *_NOBODY,
    ),
    Case.DELETED: CaseWords(
        "Deleted", "expired", "The service deleted the order. Do not send to it any more",
        "in your wallet, if you sent nothing.", *_NOBODY,
    ),
    Case.DELETED_WITH_MONEY: CaseWords(
        "Deleted", "trouble", "The service deleted the order after a deposit arrived",
        "{paid} is with the service.", "you", _SUPPORT, _NO_DEADLINE, _NOT_KNOWN,
    ),
}  # fmt: skip
"""Every case has its words; a test holds that against :class:`Case`."""

NO_REFUND_ADDRESS = "The order names no address for a refund."
NOT_REFUNDABLE = "A refund is not possible any more"
OTHER_PROVIDER = "Another provider took over from {first}"
PAYS_OTHERWISE = "It {pays} {differs} than you confirmed"
ASKED_FOR = "The order asked for {paid}; the service does not say how much arrived"
PAID_LESS = "Paid less"

STANDARD_STAGES: tuple[str, ...] = ("waiting", "seen", "exchange", "sending", "done")
PRIVATE_STAGES: tuple[str, ...] = (
    "waiting",
    "seen",
    "exchange 1",
    "to middle",
    "at middle",
    "second",
    "exchange 2",
    "sending",
    "done",
)

STANDARD_STAGE_OF: dict[str, int] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: 0,
    DisplayStatus.DEPOSIT_DETECTED: 1,
    DisplayStatus.EXCHANGE_IN_PROGRESS: 2,
    DisplayStatus.SENDING_TO_RECEIVER: 3,
    DisplayStatus.SWAP_COMPLETED: 4,
}
PRIVATE_STAGE_OF: dict[str, int] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: 0,
    DisplayStatus.DEPOSIT_DETECTED: 1,
    DisplayStatus.EXCHANGE_IN_PROGRESS: 2,
    DisplayStatus.SENDING_TO_INTERMEDIARY: 3,
    DisplayStatus.REACHED_INTERMEDIARY: 4,
    DisplayStatus.INITIATING_SECOND_EXCHANGE: 5,
    DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS: 6,
    DisplayStatus.SENDING_TO_RECEIVER: 7,
    DisplayStatus.SWAP_COMPLETED: 8,
}
