"""How an order of a batch is paid: by the bundle of its group, as far as the journal has that.

The batch works this out (``flows.batch.order_payments``); what is said of the order follows it
until the service has seen the deposit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PaidTo(StrEnum):
    """How far the money of the order is."""

    WALLET = "wallet"
    """Nothing left the wallet for it."""
    ACCOUNT = "account"
    """It is in the owner's smart account, or goes there; the bundle has still to pay, or ended."""
    WAY = "way"
    """The bundle pays now."""
    ADDRESS = "address"
    """The deposit address has it."""
    LEFT_OUT = "left out"
    """Its group was paid without it."""


@dataclass(frozen=True)
class BatchPayment:
    """``money`` is a sentence that follows the word Funds, ``place`` its short form, both with
    their point; ``actor`` does ``due``."""

    at: PaidTo
    money: str
    place: str
    actor: str
    due: str

    @property
    def begun(self) -> bool:
        """Whether nobody may pay the order once more."""
        return self.at in (PaidTo.WAY, PaidTo.ADDRESS)
