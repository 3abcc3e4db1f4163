"""Paying a deposit in the sandbox, where the faucet stands for the user's own wallet."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.client.errors import ClientError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import Clock
from swapdesk.flows.folding import display_of
from swapdesk.flows.tracking import TrackedOrder
from swapdesk.wire.orders import DisplayStatus


@dataclass(frozen=True)
class Funded:
    """The deposit is on its way."""

    hash: str


@dataclass(frozen=True)
class NotFunded:
    """Nothing was paid; ``reason`` says why."""

    reason: str


class SandboxFaucet:
    """Pays an order once: a second call for the same order in this desk is refused."""

    def __init__(self, control: SandboxControl, clock: Clock) -> None:
        self._control = control
        self._clock = clock
        self._paid: set[str] = set()

    def refusal(self, tracked: TrackedOrder) -> str | None:
        """Why this order must not be paid now; None when it may be."""
        if tracked.withheld is not None:
            return tracked.withheld
        order = tracked.order
        if order.deposit_address is None:
            return "The order has no deposit address yet."
        if display_of(order) != DisplayStatus.WAITING_FOR_DEPOSIT:
            return "The order is not waiting for a deposit."
        if order.expires is not None and order.expires <= self._clock.now():
            return "The deadline has passed. Do not send to this address any more."
        if tracked.service_id in self._paid:
            return "The deposit was sent before. It is never paid twice."
        return None

    async def pay(self, tracked: TrackedOrder) -> Funded | NotFunded:
        """Send exactly ``inAmount`` with the deposit memo to the deposit address."""
        reason = self.refusal(tracked)
        if reason is not None:
            return NotFunded(reason)
        self._paid.add(tracked.service_id)
        try:
            return Funded(await self._control.deposit(tracked.service_id))
        except ClientError as error:
            if not error.sent:
                self._paid.discard(tracked.service_id)
                return NotFunded(f"Nothing was sent: {error}")
            return NotFunded(f"The sandbox did not confirm the payment: {error}")
