"""Ends a create at any of its boundary calls, as a crash of the process would."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

from service.orders_fixtures import Floor
from service.venue import PlainVenue
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.room import Shared
from swapdesk.service.store.database import Database
from swapdesk.service.store.orders import Orders
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import DepositInstruction, LegOrder


class Cut(BaseException):
    """The process ends here."""


class Blade:
    """Cuts at the n-th boundary call of a create: before it is done, or right after."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.at = at
        self.after = after
        self.calls: list[str] = []

    async def pass_through(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls.append(name)
        mine = len(self.calls) == self.at
        if mine and not self.after:
            raise Cut
        try:
            return await call()
        finally:
            if mine:
                raise Cut


class CutStore(Store):
    """The real store, with the blade around what a create writes."""

    def __init__(self, store: Store, blade: Blade) -> None:
        super().__init__(store.database)
        self.orders = CutOrders(store.database, blade)


class CutOrders(Orders):
    def __init__(self, database: Database, blade: Blade) -> None:
        super().__init__(database)
        self._blade = blade

    async def begin(self, *values: Any, **more: Any) -> None:
        begin = super().begin
        await self._blade.pass_through("begin_order", lambda: begin(*values, **more))

    async def advance(self, *values: Any, **more: Any) -> bool:
        advance = super().advance
        moved: bool = await self._blade.pass_through(
            "advance_order", lambda: advance(*values, **more)
        )
        return moved


class CutVenue(PlainVenue):
    """The real test venue, with the blade around its openings."""

    blade: Blade | None = None

    async def open(self, leg: LegOrder) -> DepositInstruction:
        if self.blade is None:
            return await super().open(leg)
        return await self.blade.pass_through("open", lambda: PlainVenue.open(self, leg))


def cut_desk(floor: Floor, blade: Blade, rng: random.Random) -> OrderDesk:
    """The desk of a process whose store the blade cuts."""
    store = CutStore(floor.store, blade)
    return OrderDesk(
        Shared(store, floor.catalog, floor.venues, floor.clock, rng), floor.engine, floor.dex
    )
