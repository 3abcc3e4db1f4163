"""How far the payment of an order is at this desk, as long as the service saw none of it.

The service says only that it waits. ``flows.batch.order_payments`` and
``flows.tracking.self_paid_orders`` work it out. It decides where the money is and who acts.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from swapdesk.acts import State
from swapdesk.flows.intents.intent import Intent


class BatchPayment(Struct, frozen=True):
    """How the order's payment stands: prepared while its bundle has still to pay, or paid nobody;
    sent while that pays; done once the deposit address has the money; refused where the group was
    paid without it. ``money`` is a sentence that follows the word Funds, ``place`` its short form,
    both with their point; ``actor`` does ``due``."""

    state: State
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why its bundle paid nobody, in a sentence; empty unless it failed, was called off or was not
    taken."""
    in_account: bool = False
    """What is not paid yet is in the owner's smart account, or goes there."""

    @property
    def begun(self) -> bool:
        """Whether nobody may pay the order once more."""
        return self.state in (State.SENT, State.DONE)


QUOTE_AGAIN = "ask for new quotes"


SwapFailure = Literal["not-signed", "reverted", "not-executed"]
"""Refused by the trader, by the wallet or by the end of the quote, or never answered before the
order was closed; executed in vain; signed, and not to be executed any more. Of the last two the
journal keeps the word with an order that was put away."""


class SwapPayment(Struct, frozen=True):
    """How the order's transaction stands: still to be signed (prepared), done, or refused by
    ``failure``. ``money`` is where it is as long as nothing was swapped; it follows the word Funds
    and has its point."""

    state: State
    money: str
    failure: SwapFailure | None = None


def venue_of(intent: Intent) -> str:
    """What the venue of a swap is called."""
    return intent.provider_name or intent.provider or "the venue"
