"""The list of a partner's orders (contract 8.21)."""

from __future__ import annotations

from datetime import datetime

from swapdesk.service.catalog import page_count
from swapdesk.service.errors import invalid
from swapdesk.service.orders.presentation import Presentation
from swapdesk.service.orders.window import window_start
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import OrderFilter
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.orders import OrderList, OrderQuery
from swapdesk.wire.quotes import SortOrder


async def list_orders(
    store: Store, presentation: Presentation, partner_id: str, query: OrderQuery, now: datetime
) -> OrderList:
    """One page. ``from`` is clamped to the 48-hour window; ``from`` after ``to`` is refused."""
    if query.from_ is not None and query.to is not None and query.from_ > query.to:
        raise invalid("from", "'from' must not be after 'to'", rfc3339(query.from_))
    since = window_start(now)
    orders, total = await store.list_orders(
        OrderFilter(
            partner_id=partner_id,
            since=since if query.from_ is None else max(since, query.from_),
            until=query.to,
            statuses=tuple(query.status or ()),
            private=query.anonymous,
            token_in_id=query.in_token_id and query.in_token_id.lower(),
            token_out_id=query.out_token_id and query.out_token_id.lower(),
            multi_id=query.multi_id,
            sort=query.sort_by.value,
            descending=query.sort_order is SortOrder.DESC,
            offset=(query.page - 1) * query.page_size,
            limit=query.page_size,
        )
    )
    return OrderList(
        orders=[presentation.order(order) for order in orders],
        total=total,
        total_pages=page_count(total, query.page_size),
    )
