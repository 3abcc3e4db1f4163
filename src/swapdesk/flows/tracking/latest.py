"""What happened last, and how the tokens of one's own orders stand: news of the first screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_state import describe, short_id
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.wording import Level


@dataclass(frozen=True)
class LatestEvent:
    """``word`` is the state an order was seen in at ``at``."""

    at: datetime
    order: str
    word: str
    level: Level


def latest_events(journal: Journal, limit: int) -> list[LatestEvent]:
    """The newest states that the journal took of any order, newest first."""
    found = []
    for at, order in journal.orders.latest(limit):
        state = describe(order, now=at)
        found.append(LatestEvent(at, short_id(order.service_id), state.short, state.level))
    return sorted(found, key=lambda one: one.at, reverse=True)


def markets_of(orders: Iterable[TrackedOrder], catalog: Catalog, limit: int) -> list[TokenRow]:
    """The tokens of the orders confirmed here, the newest first, that have a price."""
    intents = sorted(
        (one.intent for one in orders if one.intent is not None),
        key=lambda intent: intent.frozen_at,
        reverse=True,
    )
    rows: dict[str, TokenRow] = {}
    for intent in intents:
        for token in (intent.token_in, intent.token_out):
            row = catalog.row(token.id) if token.id not in rows else None
            if row is not None and row.price is not None:
                rows[token.id] = row
        if len(rows) >= limit:
            break
    return list(rows.values())[:limit]
