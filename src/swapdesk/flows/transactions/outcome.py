"""How a signed action ended, or where it stopped: one type for all of them."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from swapdesk.client.errors import ClientError
from swapdesk.flows.failure_messages import Failure
from swapdesk.wallet.answers import RuleFinding
from swapdesk.wire.orders import Order

SAME_AGAIN = "you: give the same command again; the same transaction is sent, never a new one"


class End(Enum):
    DONE = "done"
    """What was asked for holds."""
    REFUSED = "refused"
    """It did not happen, and nothing more is done for it."""
    OPEN = "open"
    """It can be gone on with. What was signed is sent again as it is, never signed anew."""


class Outcome(Struct, frozen=True):
    """``code`` is stable, for scripts: ``NOT_FINAL``. ``failure`` has the cause, where the money
    is and who acts next; None for what is done, and for what stands where it was asked to stand.
    ``hash`` is of what was executed or sent. ``order_id`` and ``order`` are of a swap or deposit,
    ``error`` is what the service was asked in vain, ``findings`` are the gate's refusals."""

    end: End = End.DONE
    code: str = ""
    failure: Failure | None = None
    hash: str | None = None
    order_id: str | None = None
    order: Order | None = None
    error: ClientError | None = None
    findings: tuple[RuleFinding, ...] = ()

    @property
    def done(self) -> bool:
        return self.end is End.DONE

    @property
    def refused(self) -> bool:
        return self.end is End.REFUSED

    @property
    def open(self) -> bool:
        return self.end is End.OPEN

    @property
    def cause(self) -> str:
        """In a sentence; empty without a failure."""
        return "" if self.failure is None else self.failure.cause


def refused(code: str, failure: Failure, hash_: str | None = None) -> Outcome:
    return Outcome(End.REFUSED, code, failure, hash_)


def still_open(code: str, failure: Failure | None, hash_: str | None = None) -> Outcome:
    return Outcome(End.OPEN, code, failure, hash_)
