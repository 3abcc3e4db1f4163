"""Bundles of groups that come to another end once they are submitted, before they are sent."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from swapdesk.sandbox.faults import ActiveFaults, FaultKind
from swapdesk.service.multi.bundles import Intervention


@dataclass(frozen=True, eq=False)
class BundleFault(FaultKind):
    SHOWN: ClassVar[tuple[str, ...]] = ("multi_id",)

    end: Intervention
    _: KW_ONLY
    selectors: tuple[str, ...] = ("multi_id",)
    stays: bool = False
    """Whether a bundle that meets it meets it again."""


BUNDLE_FAULTS = {
    kind.name: kind
    for kind in (
        BundleFault(
            "bundle_fail",
            "The bundle is given up. What the smart account holds stays there.",
            "fail",
        ),
        BundleFault(
            "bundle_withdraw",
            "The bundle is called off; the money is its owner's as before.",
            "withdraw",
        ),
        BundleFault(
            "bundle_stuck",
            "The bundle stays submitted until faults are cleared.",
            "hold",
            stays=True,
        ),
    )
}


class BundleFaults(ActiveFaults[BundleFault]):
    """The active faults of bundles; ``times`` is how many bundles one still meets."""

    def intervene(self, multi_id: str) -> Intervention | None:
        """What is done with the bundle of this group now; spends the fault."""
        for fault in self.active:
            if fault.multi_id == multi_id:
                if not fault.kind.stays:
                    self.spend(fault)
                return fault.kind.end
        return None
