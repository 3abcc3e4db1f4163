"""One page of the list of orders, read order by order.

One order that cannot be read must not hide the others; it is counted, because a list with a
gap does not prove that an order is absent.
"""

import asyncio
import logging
from typing import Any

from msgspec import Struct

from swapdesk.wire.encoding.codec import ShapeError, validate
from swapdesk.wire.encoding.numbers import WireInteger
from swapdesk.wire.model import WireModel
from swapdesk.wire.orders import Order

log = logging.getLogger(__name__)

STEP = 20
"""Orders read in one go, about two milliseconds."""


class OrderPage(Struct, frozen=True):
    """``skipped`` counts the orders of this page that could not be read; ``total`` and
    ``total_pages`` are the service's own (contract 8.21)."""

    orders: list[Order]
    total: int
    total_pages: int
    skipped: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing at all was listed, readable or not."""
        return not self.orders and not self.skipped


class OrderRows(WireModel):
    """The page with its orders as they came."""

    orders: list[Any]
    total: WireInteger
    total_pages: WireInteger


async def read_order_page(rows: OrderRows) -> OrderPage:
    """The orders of a page, with a breath for the event loop after every :data:`STEP`."""
    orders: list[Order] = []
    skipped = 0
    for at, row in enumerate(rows.orders, start=1):
        try:
            orders.append(validate(Order, row, side="client"))
        except ShapeError as error:
            skipped += 1
            if skipped == 1:
                log.warning("an order of the list cannot be read: %s", error)
        if at % STEP == 0:
            await asyncio.sleep(0)
    if skipped > 1:
        log.warning("%d orders of one page cannot be read", skipped)
    return OrderPage(orders, rows.total, rows.total_pages, skipped)
