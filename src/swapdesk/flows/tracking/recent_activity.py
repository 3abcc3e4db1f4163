"""What happened last, and how the tokens of one's own orders stand: news of the first screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec import Struct

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.failure_messages import Level
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.order_history import happened
from swapdesk.flows.orders.order_status import reported_status
from swapdesk.flows.orders.situations import Situation
from swapdesk.flows.orders.tracked_order import TrackedOrder


class RecentEvent(Struct, frozen=True):
    """``word`` is the state to which an order came at ``at``."""

    at: datetime
    order: str
    word: str
    level: Level


def recent_events(
    journal: Journal, limit: int, known: Callable[[str], TrackedOrder | None] = lambda _: None
) -> list[RecentEvent]:
    """The newest states that the journal took of any order, newest first. Of an order that is
    ``known`` as not signed its end says that."""
    found = []
    for at, order in journal.orders.history.latest(limit):
        state = reported_status(order, now=at)
        word, level = state.word, state.level
        tracked = known(order.service_id)
        if tracked is not None and tracked.not_signed and state.ended:
            unsigned = Situation.NOT_SIGNED.meaning
            word, level = unsigned.word, unsigned.level
        found.append(RecentEvent(happened(order, at), short_id(order.service_id), word, level))
    return sorted(found, key=lambda one: one.at, reverse=True)


def markets_of(intents: Iterable[Intent], catalog: Catalog, limit: int) -> list[TokenRow]:
    """The tokens of ``intents``, in their sequence, that have a price."""
    rows: list[TokenRow] = []
    looked_up: set[str] = set()
    for intent in intents:
        for token in (intent.token_in, intent.token_out):
            if token.id in looked_up:
                continue
            looked_up.add(token.id)
            row = catalog.row(token.id)
            if row is not None and row.price is not None:
                rows.append(row)
        if len(rows) >= limit:
            break
    return rows[:limit]
