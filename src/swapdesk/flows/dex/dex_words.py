"""What is said of a swap on chains that stopped: cause, where the money is, who acts next."""

from __future__ import annotations

from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.wording import Failure

AGAIN = "you: ask for new quotes"
GOES_ON = "the desk: it goes on where it stopped when it is started again"


def in_wallet(intent: Intent, *, allowed: bool, signed: bool) -> str:
    """Where the money is as long as nothing was paid, and who may take it."""
    said = "in your wallet; nothing was swapped"
    amount = f"{exact_amount(intent.amount_in)} {intent.token_in.symbol}"
    venue = intent.provider_name or intent.provider or "the venue"
    if allowed:
        said += f"; {venue} may still take up to {amount} until you revoke that"
    if signed:
        said += f"; a signature for {amount} was made and ends by itself"
    return said


def ended(cause: str, money: str) -> Failure:
    return Failure(cause, money, AGAIN)


def goes_on(cause: str, money: str, who: str = GOES_ON) -> Failure:
    return Failure(cause, money, who)


def on_its_way(hash_: str) -> str:
    return f"on its way: transaction {hash_}"


def signed_away(hash_: str) -> str:
    """Signed, and perhaps sent: the chain decides when it is asked again."""
    return f"in your wallet until transaction {hash_}, which you signed, is executed"


def reverted(hash_: str) -> Failure:
    return Failure(
        f"The transaction {hash_} was executed and failed.",
        "in your wallet, but for the gas it cost",
        AGAIN,
    )
