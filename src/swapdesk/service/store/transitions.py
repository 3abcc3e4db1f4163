"""Every change of an order's state, told in the process that made it, once it is committed."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.service.store.records import StoredOrder

Listener = Callable[[StoredOrder, int | None], None]
"""Takes the order as it stands, and the state it left; None for a new order."""


class Transitions:
    """Where rooms of the store report, and whoever watches a service listens."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def report(self, order: StoredOrder, before: int | None) -> None:
        if order.status != before:
            for listener in self._listeners:
                listener(order, before)
