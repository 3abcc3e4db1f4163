"""Bundles of groups that come to another end, as the sandbox is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swapdesk.service.multi.bundle_watch import Intervention


class BundleFault(StrEnum):
    """What happens to a bundle of a group once it is submitted, before it is sent."""

    BUNDLE_FAIL = "bundle_fail"
    """The bundle is given up. What the smart account holds stays there."""
    BUNDLE_WITHDRAW = "bundle_withdraw"
    """The bundle is called off; the money is its owner's as before."""
    BUNDLE_STUCK = "bundle_stuck"
    """The bundle stays submitted until faults are cleared."""


_DONE: dict[BundleFault, Intervention] = {
    BundleFault.BUNDLE_FAIL: "fail",
    BundleFault.BUNDLE_WITHDRAW: "withdraw",
    BundleFault.BUNDLE_STUCK: "hold",
}


@dataclass
class ActiveBundleFault:
    """``times`` is how many bundles it still meets; one that is stuck stays so."""

    fault: BundleFault
    multi_id: str
    times: int

    def as_json(self) -> dict[str, object]:
        return {"fault": self.fault.value, "multiId": self.multi_id, "times": self.times}


class BundleFaults:
    """The active faults of bundles."""

    def __init__(self) -> None:
        self._active: list[ActiveBundleFault] = []

    @property
    def active(self) -> list[ActiveBundleFault]:
        return list(self._active)

    def add(self, fault: ActiveBundleFault) -> None:
        self._active.append(fault)

    def clear(self) -> None:
        self._active.clear()

    def intervene(self, multi_id: str) -> Intervention | None:
        """What is done with the bundle of this group now; spends the fault."""
        for fault in self._active:
            if fault.multi_id != multi_id:
                continue
            if fault.fault is not BundleFault.BUNDLE_STUCK:
                fault.times -= 1
                if fault.times <= 0:
                    self._active.remove(fault)
            return _DONE[fault.fault]
        return None
