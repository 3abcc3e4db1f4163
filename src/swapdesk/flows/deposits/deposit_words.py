"""What is said of a deposit from the wallet that ended or stopped: cause, money, who acts next."""

from __future__ import annotations

from swapdesk.flows.deposits.funding import Funded
from swapdesk.flows.deposits.wallet_funding import FundingOutcome, PaymentOpen
from swapdesk.flows.signing.signing_session import Ending
from swapdesk.flows.wording import IN_WALLET, Failure

NOT_ENOUGH = "NOT_ENOUGH"
"""The wallet does not hold what is asked for, or cannot say so."""
UNPAID = f"{IN_WALLET}; nothing was paid"
PAID = "on its way to the venue, or there"
MAYBE = "on its way to the deposit address, or still in your wallet"
ASK_AGAIN = "you: f on the card asks again"
FAUCET = "you: f on the card, by the faucet"
ELSEWHERE = "you: fill it, or pay from another"
LOOK = "you: look at the order"


def ending_of(outcome: FundingOutcome, order_id: str, *, faucet: bool) -> Ending:
    """``faucet``: the sandbox's pays what the wallet does not."""
    if isinstance(outcome, Funded):
        return Ending(order_id=order_id, hash=outcome.hash)
    if isinstance(outcome, PaymentOpen):
        cause = f"The payment is not confirmed yet. {_sentence(outcome.reason)}"
        failure = Failure(cause, MAYBE, "you: r goes on with it")
        return Ending(failure, outcome.code, True, order_id, outcome.hash)
    reason, money = _sentence(outcome.reason), UNPAID
    instead = FAUCET if faucet else ELSEWHERE
    match outcome.code:
        case "PAID_BEFORE":
            money, next_ = PAID, "the venue"
        case "NOT_CONFIRMED" | "LOCKED" | "CHAIN_UNREACHABLE" | "READ_ONLY":
            next_ = ASK_AGAIN
        case "GATE":
            # What the wallet refuses to pay nobody else is asked to pay.
            reason, next_ = f"Your wallet refuses to sign this: {reason}", LOOK
        case "NOT_ENOUGH" | "WALLET_MISSING":
            next_ = instead
        case _:
            next_ = LOOK
            money = f"{IN_WALLET}, but for the gas it cost" if outcome.hash else UNPAID
    return Ending(Failure(reason, money, next_), outcome.code, False, order_id, outcome.hash)


def _sentence(text: str) -> str:
    said = text[:1].upper() + text[1:]
    return said if said.endswith((".", "?", "!")) else f"{said}."
