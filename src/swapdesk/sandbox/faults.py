"""The active faults of one process, which are lost when it ends. Faults of an order's leg are in
the node's books instead."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from msgspec import Struct

from swapdesk.wire.faults import FAULTS

About = Collection[tuple[str, str | None]]
"""A description of an event: pairs of a selector and the event's value for it."""


NODE_DOWN, FORGED_RECEIPT, DROP_TRANSACTION = "node_down", "forged_receipt", "drop_transaction"


class ActiveFault(Struct):
    """A fault that was set. ``times`` is how often it still happens; None means until faults are
    cleared. The fault applies to events whose ``selector`` has the value ``value``, or to all
    events if ``selector`` is empty."""

    name: str
    selector: str
    value: str
    times: int | None
    seconds: float
    leg: str | None

    def as_json(self) -> dict[str, object]:
        chosen = {self.selector: self.value} if self.selector else {}
        leg = {"leg": self.leg} if self.leg else {}
        return {"fault": self.name, **chosen, **leg, "times": self.times}


class ActiveFaults:
    """The active faults of a process, the oldest first."""

    def __init__(self) -> None:
        self.active: list[ActiveFault] = []

    def set(
        self,
        name: str,
        selector: str = "",
        value: str = "",
        *,
        times: int | None = None,
        seconds: float | Decimal | None = None,
        leg: str | None = None,
    ) -> None:
        fault = FAULTS[name]
        if times is None and not fault.stays:
            times = 1
        lasts = fault.seconds if seconds is None else float(seconds)
        self.active.append(ActiveFault(name, selector, value, times, lasts, leg))

    def waiting(self, names: Collection[str], about: About) -> list[ActiveFault]:
        """Returns the active faults with one of these names that apply to the event ``about``,
        oldest first."""
        return [
            fault
            for fault in self.active
            if fault.name in names
            and (not fault.selector or (fault.selector, fault.value) in about)
        ]

    def take(self, names: Collection[str], about: About) -> ActiveFault | None:
        """Returns the oldest fault with one of these names that applies to the event ``about``, and
        counts the fault as used. Returns None if no such fault is active."""
        fault = next(iter(self.waiting(names, about)), None)
        if fault is not None:
            self.spend(fault)
        return fault

    def spend(self, fault: ActiveFault) -> None:
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                self.active.remove(fault)

    def down(self) -> frozenset[str]:
        """Returns the chains whose nodes are down now."""
        return frozenset(fault.value for fault in self.active if fault.name == NODE_DOWN)

    def meets(self, chain: str, name: str) -> bool:
        """Returns True if a fault with this name is set for the chain, so that the request has to
        fail. The fault is then counted as used once."""
        return self.take((name,), {("chain", chain)}) is not None
