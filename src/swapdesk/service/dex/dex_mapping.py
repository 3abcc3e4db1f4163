"""Orders and quotes of DEX routes as their venues see them, and back.

What has no column of its own stands in the order's detail, as texts.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.venues.onchain.adapter import Deal, Plan, PreparedSwap, RouteExecution
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.timestamps import parse_rfc3339, rfc3339

OWNER = "addressFrom"
METADATA = "metadata"
CONFIRMED = "confirmed"
CONFIRMED_HASH = "confirmedHash"
SOURCE_CHAIN = "sourceChain"
BY_VENUE = "settledByVenue"
SOUGHT = "sought"
"""When the chain was last searched for a transaction that nobody told of."""

_QUOTE_ENDS = "quoteExpires"

Detail = dict[str, str | bool | None]


def deal_of_quote(quote: StoredQuote, catalog: ServiceCatalog) -> Deal:
    return Deal(
        quote.quote_id,
        catalog.token_of_order(quote.token_in_id),
        catalog.token_of_order(quote.token_out_id),
        Plan.from_json(quote.plan),
        quote.expires,
    )


def detail_of(deal: Deal, owner: str, prepared: PreparedSwap) -> Detail:
    """What an order keeps of its create."""
    detail: Detail = {
        OWNER: owner,
        METADATA: encode_json(prepared.metadata).decode(),
        SOURCE_CHAIN: deal.token_in.chain_data.short_name,
        _QUOTE_ENDS: rfc3339(deal.expires),
        **prepared.notes,
    }
    if prepared.settled_by_venue:
        detail[BY_VENUE] = True
    return detail


def metadata_of(order: StoredOrder) -> dict[str, Any]:
    """The transaction the order was created with, as plain JSON values."""
    found = json.loads(_text(order, METADATA))
    if not isinstance(found, dict):
        raise ValueError(f"order {order.service_id} has no metadata")
    return found


def execution_of(order: StoredOrder, catalog: ServiceCatalog, now: datetime) -> RouteExecution:
    metadata = metadata_of(order)
    found = order.detail.get(CONFIRMED_HASH)
    deal = Deal(
        order.quote_id,
        catalog.token_of_order(order.token_in_id),
        catalog.token_of_order(order.token_out_id),
        Plan.from_json(order.plan),
        parse_rfc3339(_text(order, _QUOTE_ENDS)),
    )
    return RouteExecution(
        deal=deal,
        owner=_text(order, OWNER),
        receiver=order.receiver_address,
        notes={name: text for name, text in order.detail.items() if isinstance(text, str)},
        confirmed=order.detail.get(CONFIRMED) is True,
        hash=found if isinstance(found, str) else None,
        deadline=datetime.fromtimestamp(int(str(metadata["deadline"])), UTC),
        now=now,
    )


def _text(order: StoredOrder, name: str) -> str:
    value = order.detail.get(name)
    if not isinstance(value, str):
        raise ValueError(f"order {order.service_id} lacks {name}")
    return value
