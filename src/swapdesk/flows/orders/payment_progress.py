"""Payments by this desk that the service has not seen yet: where the money is and who acts.

``flows.batch.order_payments`` and ``flows.tracking.self_paid_orders`` read these payments from the
journal.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from swapdesk.acts import State
from swapdesk.flows.intents.intent import Intent


class BatchPayment(Struct, frozen=True):
    """How far a bundle (one transaction for many orders) has paid an order. ``state`` is prepared
    before sending, done once the deposit address has the money, or refused. ``money`` and the
    shorter ``place`` say where the money is."""

    state: State
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why the batch's bundle paid nobody, as a sentence; empty if nothing is wrong."""
    in_account: bool = False
    """True if the money for an unpaid order is in, or under way to, the owner's smart account."""

    @property
    def begun(self) -> bool:
        """True if the bundle is sent or done, so that any other payment would pay the order
        twice."""
        return self.state in (State.SENT, State.DONE)


QUOTE_AGAIN = "ask for new quotes"


SwapFailure = Literal["not-signed", "reverted", "not-executed"]
"""Why a DEX swap was not executed: ``not-signed`` in time or at all, ``reverted`` on its chain, or
signed too late (``not-executed``)."""


class SwapPayment(Struct, frozen=True):
    """The transaction of a DEX swap. ``state`` is prepared until it is signed, then done or
    refused. ``failure`` is the reason for a refusal. ``money`` says, with a full stop, where the
    money is before the swap."""

    state: State
    money: str
    failure: SwapFailure | None = None


def venue_of(intent: Intent) -> str:
    return intent.provider_name or intent.provider or "the venue"
