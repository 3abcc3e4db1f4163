"""Orders that are taken out of sight: status 8, of which nothing but the id is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from swapdesk.service.orders.states import allowed, display, rank
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredOrder
from swapdesk.wire.orders import OrderStatus

_TRIES = 5


async def delete_order(store: Store, order: StoredOrder, now: datetime) -> bool:
    """Delete an order before its deposit or after it ended unfulfilled; False when it is neither.

    The table of transitions decides (contract 8.5). Money that still comes is the
    venue's business, as after any other end.
    """
    found: StoredOrder | None = order
    for _ in range(_TRIES):
        if found is None or not allowed(found.status, OrderStatus.DELETED, found.route):
            return False
        shown = display(OrderStatus.DELETED, found.in_status, found.out_status, found.route)
        deleted = replace(
            found,
            status=int(OrderStatus.DELETED),
            display_status=shown.value,
            rank=rank(shown),
            modified=now,
            due_at=None,
        )
        if await store.advance_order(deleted, expected_version=found.version):
            return True
        # The worker was faster: what it wrote decides.
        found = await store.get_order(order.partner_id, order.service_id)
    return False
