"""The faults that were set and have not happened as often as they should, in one process.

They end with the process. What a leg of an order has met stands in the books of the node.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from msgspec import Struct

from swapdesk.wire.faults import FAULTS

About = Collection[tuple[str, str | None]]
"""What something is about, as pairs of a selector and its value."""


NODE_DOWN, FORGED_RECEIPT, DROP_TRANSACTION = "node_down", "forged_receipt", "drop_transaction"


class ActiveFault(Struct):
    """``times`` None: until faults are cleared. Without a ``selector`` it meets everything."""

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
    """Oldest first."""

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
        """Those of these names that meet it."""
        return [
            fault
            for fault in self.active
            if fault.name in names
            and (not fault.selector or (fault.selector, fault.value) in about)
        ]

    def take(self, names: Collection[str], about: About) -> ActiveFault | None:
        """The oldest of these names that meets it, which has happened once more by that."""
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
        """Chains whose nodes are down now."""
        return frozenset(fault.value for fault in self.active if fault.name == NODE_DOWN)

    def meets(self, chain: str, name: str) -> bool:
        """Whether the next request, receipt or transaction of a chain meets a fault, which has
        happened once more by that."""
        return self.take((name,), {("chain", chain)}) is not None
