"""What is said of a deposit from the wallet that ended or stopped: cause, money, who acts next."""

from __future__ import annotations

from dataclasses import replace

from swapdesk.flows.deposits.wallet_funding import LOOK, MAYBE, UNPAID
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions.outcome import Outcome

NOT_ENOUGH = "NOT_ENOUGH"
"""The wallet does not hold what is asked for, or cannot say so."""
ASK_AGAIN = "you: f on the card asks again"
FAUCET = "you: f on the card, by the faucet"
ELSEWHERE = "you: fill it, or pay from another"


def on_screen(outcome: Outcome, order_id: str, *, faucet: bool) -> Outcome:
    """The same in the words of the screens, whose keys act next. ``faucet``: the sandbox's pays
    what the wallet does not."""
    outcome = replace(outcome, order_id=order_id)
    if outcome.failure is None:
        return outcome
    reason = _sentence(outcome.cause)
    if outcome.open:
        cause = f"The payment is not confirmed yet. {reason}"
        return replace(outcome, failure=Failure(cause, MAYBE, "you: r goes on with it"))
    money = outcome.failure.money
    match outcome.code:
        case "PAID_BEFORE":
            next_ = outcome.failure.next
        case "NOT_CONFIRMED" | "LOCKED" | "CHAIN_UNREACHABLE" | "READ_ONLY":
            money, next_ = UNPAID, ASK_AGAIN
        case "GATE":
            # What the wallet refuses to pay nobody else is asked to pay.
            reason, next_ = f"Your wallet refuses to sign this: {reason}", LOOK
        case "NOT_ENOUGH" | "WALLET_MISSING":
            money, next_ = UNPAID, FAUCET if faucet else ELSEWHERE
        case "NO_JOURNAL":
            money, next_ = UNPAID, LOOK
        case _:
            next_ = LOOK
    return replace(outcome, failure=Failure(reason, money, next_))


def _sentence(text: str) -> str:
    said = text[:1].upper() + text[1:]
    return said if said.endswith((".", "?", "!")) else f"{said}."
