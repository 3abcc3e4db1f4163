"""Faults of what the service calls: exchanges that do not answer or answer late, and bundles of
groups that come to another end once they are submitted, before they are sent.
"""

from __future__ import annotations

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.service.multi.bundles import Intervention
from swapdesk.service.venues.adapter import Transient

DOWN, SLOW = "venue_down", "venue_slow"


async def meet(faults: ActiveFaults, venue: str, clock: Clock) -> None:
    """What happens to one call of an exchange: it is slow, or nobody is there. Raises Transient."""
    for fault in faults.waiting((DOWN, SLOW), {("venue", venue)}):
        faults.spend(fault)
        if fault.name == DOWN:
            raise Transient("the exchange cannot be reached")
        await clock.sleep(fault.seconds)


_ENDS: dict[str, Intervention] = {
    "bundle_fail": "fail",
    "bundle_withdraw": "withdraw",
    "bundle_stuck": "hold",
}


def bundle_end(faults: ActiveFaults, multi_id: str) -> Intervention | None:
    """What is done with the bundle of a group now; the fault has happened by that."""
    fault = faults.take(_ENDS, {("multiId", multi_id)})
    return None if fault is None else _ENDS[fault.name]
