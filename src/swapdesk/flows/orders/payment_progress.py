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
    """The payment of an order by its batch's bundle, which is one transaction that pays many
    orders.

    ``state`` is prepared if the bundle is not sent yet or paid nobody, sent while it is under way,
    done once the deposit address has the money, and refused if the bundle paid other orders but not
    this one. ``money`` says where the money is, to be shown after the word Funds; ``place`` is its
    short form. Both end with a full stop. ``actor`` acts next, and ``due`` is what the actor does.
    """

    state: State
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why the batch's bundle paid nobody, as a sentence; empty if nothing is wrong."""
    in_account: bool = False
    """True if the money for an order that is not paid yet is in the owner's smart account, or on
    its way there."""

    @property
    def begun(self) -> bool:
        """True if the bundle is sent or done, so that any other payment would pay the order
        twice."""
        return self.state in (State.SENT, State.DONE)


QUOTE_AGAIN = "ask for new quotes"


SwapFailure = Literal["not-signed", "reverted", "not-executed"]
"""Why a DEX swap was not executed.

``not-signed``: the trader or the wallet refused, or did not answer until the quote or the order
ended. ``reverted``: the transaction failed on its chain. ``not-executed``: the transaction was
signed too late to be executed. The journal stores the last two for an order that the user marked as
dealt with.
"""


class SwapPayment(Struct, frozen=True):
    """The transaction of a DEX swap. ``state`` is prepared until it is signed, done once it was
    executed, or refused; ``failure`` then says why. ``money`` says where the money is until the
    swap, to be shown after the word Funds. It ends with a full stop."""

    state: State
    money: str
    failure: SwapFailure | None = None


def venue_of(intent: Intent) -> str:
    return intent.provider_name or intent.provider or "the venue"
