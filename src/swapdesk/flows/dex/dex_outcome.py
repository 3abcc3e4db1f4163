"""How a swap on chains stands when the desk stops working on it."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.client.errors import ClientError
from swapdesk.flows.wording import Failure
from swapdesk.wallet.review import Finding
from swapdesk.wire.orders import Order


@dataclass(frozen=True)
class Swapped:
    """The swap was paid or signed, and the service knows: the venue is who acts next. ``hash`` is
    None where the venue settles."""

    order: Order
    hash: str | None


@dataclass(frozen=True)
class SwapEnded:
    """Nothing more is done for it, and nothing was swapped. ``hash`` is of what was sent."""

    failure: Failure
    code: str
    order_id: str | None = None
    hash: str | None = None
    error: ClientError | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class SwapOpen:
    """It is not over: it is taken on from the step that stands in the journal."""

    failure: Failure
    code: str
    intent_id: str
    order_id: str | None = None
    hash: str | None = None
    error: ClientError | None = None


DexOutcome = Swapped | SwapEnded | SwapOpen


class Stopped(Exception):
    """Ends the work on a swap from wherever it stands."""

    def __init__(self, outcome: SwapEnded | SwapOpen) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome
