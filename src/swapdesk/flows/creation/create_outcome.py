"""How a create ended: an order, certainly nothing, or not known."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.client.errors import ClientError
from swapdesk.flows.creation.order_check import OrderCheck
from swapdesk.flows.intents.standing import Verdict
from swapdesk.flows.wording import Failure
from swapdesk.wire.orders import Order


@dataclass(frozen=True)
class Created:
    """The order exists and is journaled. Its address may be shown only if ``withheld`` is None.
    ``missing``: the service named it, and says that it knows no such order."""

    order: Order
    check: OrderCheck
    verdict: Verdict
    found_again: bool = False
    missing: bool = False

    @property
    def withheld(self) -> str | None:
        return self.verdict.withheld


@dataclass(frozen=True)
class NotCreated:
    """Nothing was created. ``error`` is the client's error when the service was asked."""

    failure: Failure
    code: str
    error: ClientError | None = None


@dataclass(frozen=True)
class Unknown:
    """The outcome is not known and journaled as such; ``candidates`` match if there are several."""

    failure: Failure
    intent_id: str
    candidates: tuple[Order, ...] = ()


CreateOutcome = Created | NotCreated | Unknown
