"""An order as the journal holds it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from swapdesk.flows.intents.intent import ReleaseVerdict
from swapdesk.wire.orders import Order


class JournaledOrder(Struct, frozen=True):
    """An order as last known. ``verdict`` says whether its deposit address may be shown."""

    order: Order
    intent_id: str | None
    ended: bool
    verdict: ReleaseVerdict
    first_seen: datetime
    seen_at: datetime
    source: str
    accepted: Decimal | None = None
    """Output below the confirmed one that the user accepted since, in the token received."""

    @property
    def withheld(self) -> str | None:
        return self.verdict.withheld
