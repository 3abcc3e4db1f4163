"""Payments of this desk that the service has not seen yet: where the money is and who acts.

``flows.batch.order_payments`` and ``flows.tracking.self_paid_orders`` read them from the journal.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from swapdesk.acts import State
from swapdesk.flows.intents.intent import Intent


class BatchPayment(Struct, frozen=True):
    """``state`` is prepared until the bundle pays, or if it paid nobody; sent while it pays; done
    once the deposit address has the money; refused if the group was paid without this order.
    ``money`` is a sentence that follows the word Funds, ``place`` its short form, both with their
    point; ``actor`` does ``due``."""

    state: State
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why its bundle paid nobody, as a sentence; empty if nothing is wrong."""
    in_account: bool = False
    """The unpaid money is in the owner's smart account, or goes there."""

    @property
    def begun(self) -> bool:
        """True if paying the order again would pay it twice."""
        return self.state in (State.SENT, State.DONE)


QUOTE_AGAIN = "ask for new quotes"


SwapFailure = Literal["not-signed", "reverted", "not-executed"]
"""Not signed: refused by the trader or the wallet, or unanswered until the quote or the order
ended. Not executed: signed, and too late to be executed. The journal stores the last two with an
order that was put away."""


class SwapPayment(Struct, frozen=True):
    """The order's transaction: prepared until it is signed, done, or refused because of
    ``failure``. ``money`` says where the money is until it was swapped; it follows the word Funds
    and has its point."""

    state: State
    money: str
    failure: SwapFailure | None = None


def venue_of(intent: Intent) -> str:
    return intent.provider_name or intent.provider or "the venue"
