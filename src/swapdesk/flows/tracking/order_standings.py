"""Whether the address of a followed order may be shown, once a sighting says something against it:
the journal decides, since another desk of this home may have decided meanwhile."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal

from swapdesk.flows.creation.agreed_output import output_now
from swapdesk.flows.intents.standing import contradiction
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import Order

log = logging.getLogger(__name__)


class OrderStandings:
    """``lower_tolerance``: percent of the agreed output that may be missing unasked. Where the
    journal takes nothing, an order is hidden all the same and none is released."""

    def __init__(self, journal: Journal, lower_tolerance: Decimal) -> None:
        self._journal = journal
        self._lower_tolerance = lower_tolerance

    def refused(self, before: TrackedOrder, reason: str) -> TrackedOrder:
        """``before`` as it stands once a sighting contradicted what is known of it."""
        log.warning("order %s contradicts what is known: %s", before.short_id, reason)
        verdict = contradiction(reason)
        try:
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take a warning: %s", error)
        return replace(before, withheld=verdict.withheld, standing=verdict.standing)

    def with_output(self, before: TrackedOrder, seen: Order) -> TrackedOrder:
        """``before`` as it stands once the estimate of its output is the one in ``seen``."""
        if output_now(before, seen, self._lower_tolerance) is None:
            return before
        try:
            # Another desk of this home may have asked, or been answered, meanwhile.
            entry = self._journal.orders.get(before.service_id)
            if entry is not None:
                standing, withheld = entry.verdict.standing, entry.withheld
                before = replace(
                    before, standing=standing, withheld=withheld, accepted=entry.accepted
                )
            verdict = output_now(before, seen, self._lower_tolerance)
            if verdict is None:
                return before
            log.info("order %s: its output is %s now", before.short_id, seen.out_amount)
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take the output of an order: %s", error)
            verdict = output_now(before, seen, self._lower_tolerance)
            if verdict is None or verdict.payable:
                return before
        return replace(before, withheld=verdict.withheld, standing=verdict.standing)
