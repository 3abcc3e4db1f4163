"""What is said of a swap on chains that stopped: cause, where the money is, who acts next."""

from __future__ import annotations

from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.orders.payment_progress import QUOTE_AGAIN

AGAIN = f"you: {QUOTE_AGAIN}"
GOES_ON = "the desk: it goes on where it stopped when it is started again"


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
